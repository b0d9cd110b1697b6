"""`goqueue top`: rates, lag, lanes and dead letters of a broker, live in a terminal."""

import asyncio
import sys
from typing import Annotated

import typer

from goqueue.cli.connection import DEFAULT_HTTP, HttpOption
from goqueue.cli.failures import Refused
from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.top_view import Sorting

__all__ = ["top"]


def top(
    once: Annotated[bool, typer.Option("--once", help="Print one frame and end; for scripts.")] = False,
    interval: Annotated[
        float, typer.Option("--interval", "-i", min=0.1, max=3600, help="Seconds between looks.")
    ] = 1.0,
    sort: Annotated[Sorting, typer.Option(help="By what topics and groups are sorted.")] = Sorting.NAME,
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Watch a broker: records and bytes in and out, by topic and group; lag, lanes, what is in flight, dead letters.

    Rates are means between two looks. It goes on while the broker is away. Keys: q ends, s sorts by something else,
    arrows scroll. -o json and -o yaml print one frame, as --once does.

    Example: goqueue top --sort lag
    """
    from goqueue.cli.top_run import one_frame, watch

    if once or output is not Output.TABLE:
        frame = asyncio.run(one_frame(http, interval))

        def as_text() -> None:
            from rich.console import Console

            from goqueue.cli.top_view import render

            width = None if sys.stdout.isatty() else 200
            Console(width=width, highlight=False).print(render(frame, http, None, sorting=sort))

        print_answer(frame, output, as_text)
        return
    if not sys.stdout.isatty():
        raise Refused("there is no terminal to draw on", hint="--once prints one frame")
    asyncio.run(watch(http, interval, sort))
