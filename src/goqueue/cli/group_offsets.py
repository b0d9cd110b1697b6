"""Where groups go on reading, and how often they were rebalanced, as `goqueue group` shows and sets it."""

import re
from typing import Annotated, Any

import typer

from goqueue.cli.failures import Refused
from goqueue.cli.http_broker import DEFAULT_HTTP, HttpOption, ask_http, in_path
from goqueue.cli.output import Output, OutputOption, print_answer, print_table
from goqueue.cli.remote import GroupArgument, complete_groups

__all__ = ["commit_offsets", "offsets", "parse_offsets", "rebalances"]

_OFFSET = re.compile(r"(.+)/(\d{1,5})=(\d{1,18})", re.ASCII)


def offsets(group: GroupArgument, http: HttpOption = DEFAULT_HTTP, output: OutputOption = Output.TABLE) -> None:
    """Show where a group goes on reading, in each partition where it has committed something.

    Example: goqueue group offsets billing
    """
    found = ask_http(http, f"/groups/{in_path(group)}/offsets")
    print_answer(found, output, lambda: _print_offsets(group, found["offsets"]))


def commit_offsets(
    group: GroupArgument,
    wanted: Annotated[
        list[str],
        typer.Argument(metavar="TOPIC/PARTITION=OFFSET...", help="The next offset to read.", show_default=False),
    ],
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Commit offsets for a group: it goes on reading there. It must have no members.

    Example: goqueue group commit-offsets billing orders/0=42 orders/1=17
    """
    path = f"/groups/{in_path(group)}/offsets"
    ask_http(http, path, method="POST", body={"offsets": parse_offsets(wanted)})
    found = ask_http(http, path)
    print_answer(found, output, lambda: _print_offsets(group, found["offsets"]))


def rebalances(
    group: Annotated[
        str | None,
        typer.Argument(metavar="GROUP", help="Only of this.", show_default=False, autocompletion=complete_groups),
    ] = None,
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show how often and why groups were rebalanced, and how long it took.

    Example: goqueue group rebalances billing
    """
    if group is None:
        found: list[dict[str, Any]] = ask_http(http, "/rebalance/stats")["groups"]
    else:
        found = [ask_http(http, f"/groups/{in_path(group)}/rebalance/stats")]

    def as_table() -> None:
        if not found:
            print("there are no groups with members so far")
            return
        columns = tuple(found[0])
        rows = [[_cell(one.get(name)) for name in columns] for one in found]
        print_table("Rebalances", tuple(name.replace("_", " ") for name in columns), rows)

    print_answer(found, output, as_table)


def parse_offsets(texts: list[str]) -> dict[str, dict[str, int]]:
    """By topic and partition, as the API takes them."""
    found: dict[str, dict[str, int]] = {}
    for text in texts:
        parts = _OFFSET.fullmatch(text)
        if parts is None:
            raise Refused(
                f"{text!r} is no offset of a partition", hint="write TOPIC/PARTITION=OFFSET, such as orders/0=42"
            )
        found.setdefault(parts[1], {})[parts[2]] = int(parts[3])
    return found


def _print_offsets(group: str, offsets: dict[str, dict[str, int]]) -> None:
    rows = [(topic, int(number), at) for topic, parts in offsets.items() for number, at in parts.items()]
    if not rows:
        print(f"{group} has committed nothing")
        return
    print_table(
        f"Offsets of {group}", ("topic", "partition", "next offset"), sorted(rows), numbers="partition,next offset"
    )


def _cell(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
