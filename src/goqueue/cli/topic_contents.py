"""What is in a topic, as `goqueue topic records` searches it and `goqueue topic compact` makes it smaller."""

from typing import Annotated, Any

import typer

from goqueue.cli.http_broker import DEFAULT_HTTP, HttpOption, ask_http, in_path
from goqueue.cli.output import Output, OutputOption, print_answer, print_table
from goqueue.cli.remote import TopicArgument
from goqueue.cli.working import working

__all__ = ["compact", "records"]

PAGE = 1000
COMPACT_WITHIN_S = 3600.0


def records(
    topic: TopicArgument,
    partition: Annotated[int | None, typer.Option("--partition", "-p", min=0, help="Only of this.")] = None,
    offset: Annotated[int, typer.Option(min=0, metavar="N", help="From this offset of each partition on.")] = 0,
    since: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="Not older than this: 2025-12-31T23:59:59Z, or 15m.", show_default=False
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Older than this time or age.", show_default=False)
    ] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="Only with this key.", show_default=False)] = None,
    priority: Annotated[int | None, typer.Option(min=0, max=4, help="Only of this priority.")] = None,
    uncommitted: Annotated[
        bool, typer.Option("--uncommitted", help="Also of transactions that have not ended.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, metavar="N", help="How many.")] = 20,
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Search the records of a topic in order of time, without consuming them.

    Example: goqueue topic records orders --key customer-1 --from 2h
    """
    from goqueue.cli.queue_views import value_text

    query: dict[str, Any] = {
        "partition": partition,
        "offset": offset,
        "from": _instant(since),
        "to": _instant(until),
        "key": key,
        "priority": priority,
        "isolation": "read_uncommitted" if uncommitted else None,
    }
    with working(f"searching {topic}"):
        found = _pages(http, f"/topics/{in_path(topic)}/messages", query, limit)

    def as_table() -> None:
        if not found:
            print(f"{topic} has no records that fit")
            return
        rows = [
            (
                one["partition"],
                one["offset"],
                one["timestamp"][:23],
                one["priority"],
                value_text(one.get("key")),
                value_text(one["value"]),
            )
            for one in found
        ]
        columns = ("partition", "offset", "time", "priority", "key", "value")
        print_table(f"Records of {topic}", columns, rows, numbers="partition,offset")

    print_answer(found, output, as_table)


def _pages(http: str, path: str, query: dict[str, Any], limit: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while len(found) < limit:
        page = ask_http(http, path, query | {"limit": min(PAGE, limit - len(found)), "cursor": cursor})
        found += page["messages"]
        cursor = page.get("next_cursor")
        if cursor is None:
            break
    return found


def compact(topic: TopicArgument, http: HttpOption = DEFAULT_HTTP, output: OutputOption = Output.TABLE) -> None:
    """Compact a topic now instead of in its time: of each key only the newest record stays.

    The topic's cleanup must be compact. The newest segment of a partition is never compacted.

    Example: goqueue topic compact prices
    """
    from goqueue.cli.times import bytes_text

    with working(f"compacting {topic}"):
        path = f"/admin/topics/{in_path(topic)}/compact"
        found = ask_http(http, path, method="POST", within_s=COMPACT_WITHIN_S)
    rows = [(one["partition"], bytes_text(one["size_before"]), bytes_text(one["size"])) for one in found["partitions"]]
    columns = ("partition", "before", "after")
    print_answer(found, output, lambda: print_table(f"Compacted {topic}", columns, rows, numbers=",".join(columns)))


def _instant(text: str | None) -> str | None:
    from goqueue.adapters.clock import SystemClock
    from goqueue.cli.times import instant_text, parse_instant

    return None if text is None else instant_text(parse_instant(text, now_ns=SystemClock().now_ns()))
