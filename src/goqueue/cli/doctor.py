"""`goqueue doctor`: is all well with this machine, the data folder and the broker, and what is to be done?"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.connection import DEFAULT_HTTP, DEFAULT_SERVER, HttpOption, ServerOption
from goqueue.cli.failures import PROBLEM
from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.working import working

if TYPE_CHECKING:
    from goqueue.cli.checks.finding import Check

__all__ = ["doctor"]


def doctor(
    data: Annotated[str | None, typer.Option(help="The data folder.", show_default="as for `goqueue server`")] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with settings of the broker.", show_default=False)
    ] = None,
    measure: Annotated[bool, typer.Option("--measure/--no-measure", help="Measure the disk, for two seconds.")] = True,
    server: ServerOption = DEFAULT_SERVER,
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Check the data folder, the disk, ports, limits, Python, Java and the broker, and say what to do.

    Changes nothing. Of the data folder it checks the checkpoint, the journal and the last segment of each log, and
    only when no broker has it open; `goqueue storage verify` checks all of it. Exits with 1 when there is a problem;
    a warning is none.

    Example: goqueue doctor --data /var/lib/goqueue
    """
    from goqueue.app.settings import load_settings

    settings, _ = load_settings(config, flags={"data": data})
    with working("looking"):
        found = list(_checks(settings.data, _listen(settings.listen), server, http, measure=measure))
    counts = {state: sum(one.state == state for one in found) for state in ("ok", "warning", "problem")}
    print_answer({"checks": found, "counts": counts}, output, lambda: _print(found, counts))
    if counts["problem"]:
        raise typer.Exit(PROBLEM)


def _listen(listen: object) -> dict[str, tuple[str, int]]:
    """Whatever listeners there are in the settings, and switched on."""
    import msgspec

    from goqueue.app.settings import host_and_port

    fields: dict[str, object] = msgspec.to_builtins(listen)
    return {
        name: host_and_port(f"listen.{name}", address)
        for name, address in fields.items()
        if isinstance(address, str) and address
    }


def _checks(
    data: str, listen: dict[str, tuple[str, int]], server: str, http: str, *, measure: bool
) -> "Iterator[Check]":
    from goqueue.cli.checks.disk import check_disk
    from goqueue.cli.checks.folder import check_folder
    from goqueue.cli.checks.machine import check_machine
    from goqueue.cli.checks.network import check_ports, check_reach

    yield from check_folder(data)
    if measure:
        yield from check_disk(data)
    yield from check_machine()
    yield from check_ports(listen)
    yield from check_reach(server, http, expected=(server, http) != (DEFAULT_SERVER, DEFAULT_HTTP))


def _print(found: "list[Check]", counts: dict[str, int]) -> None:
    from goqueue.cli.environment import wants_colour

    colours = {"ok": "green", "warning": "yellow", "problem": "red"}
    coloured = sys.stdout.isatty() and wants_colour()
    for one in found:
        word = f"{one.state.value:8}"
        print(f"{typer.style(word, fg=colours[one.state.value]) if coloured else word} {one.name}: {one.found}")
        if one.to_do:
            print(f"{'':8} → {one.to_do}")
    total = ", ".join(
        f"{count} {state}{'s' if count != 1 and state != 'ok' else ''}" for state, count in counts.items()
    )
    print(f"\n{total}")
