"""`goqueue produce`: write records to a topic, from arguments, a file, or standard input."""

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from goqueue.cli.failures import INTERRUPTED, PROBLEM, Refused
from goqueue.cli.output import Output
from goqueue.cli.remote import DEFAULT_SERVER, ServerOption, TopicArgument, with_commands_as_hints
from goqueue.model.topic import Durability

__all__ = ["produce"]


class InputFormat(StrEnum):
    LINES = "lines"
    JSONL = "jsonl"


class Acks(StrEnum):
    NONE = "none"
    LEADER = "leader"
    ALL = "all"


class Compression(StrEnum):
    ZSTD = "zstd"
    LZ4 = "lz4"


def produce(
    topic: TopicArgument,
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="VALUE", help="One record each. Without any, lines are read.", show_default=False),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", help="Read lines from this file instead of standard input.", show_default=False),
    ] = None,
    form: Annotated[
        InputFormat,
        typer.Option(
            "--format",
            help="A line is a value, or an object with value, key, headers, partition, priority, id and delay.",
        ),
    ] = InputFormat.LINES,
    key: Annotated[str | None, typer.Option("--key", "-k", help="Key of every record.", show_default=False)] = None,
    key_separator: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Lines are KEY TEXT VALUE.", show_default=False)
    ] = None,
    headers: Annotated[
        list[str] | None,
        typer.Option(
            "--header", "-H", metavar="NAME=VALUE", help="Header of every record; repeat for more.", show_default=False
        ),
    ] = None,
    partition: Annotated[
        int | None,
        typer.Option("--partition", "-p", min=0, metavar="N", help="Instead of going by the key.", show_default=False),
    ] = None,
    priority: Annotated[int, typer.Option(min=0, max=4, help="From 0, critical, to 4, background.")] = 2,
    delay: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Deliver this long after it was sent: a duration with its unit, such as 30s.",
            show_default=False,
        ),
    ] = None,
    deliver_at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Deliver then: 2026-12-31T23:59:59Z, or a duration such as 30s.", show_default=False
        ),
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="N/s", help="Write at most so many records a second.", show_default=False)
    ] = None,
    acks: Annotated[Acks, typer.Option(help="Whose confirmation to wait for.")] = Acks.ALL,
    durability: Annotated[Durability | None, typer.Option(help="Instead of the topic's.", show_default=False)] = None,
    compression: Annotated[Compression | None, typer.Option(help="Of values.", show_default=False)] = None,
    timeout: Annotated[
        str, typer.Option(metavar="TIME", help="Give up on a record that is not confirmed in this time.")
    ] = "30s",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary.")] = False,
    server: ServerOption = DEFAULT_SERVER,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A line on standard error, or a report on standard output.")
    ] = Output.TABLE,
) -> None:
    """Write records to a topic: the arguments, or each line of a file or of standard input.

    Values that are not text, deletions and keys of their own are written as JSON lines, one object on each:
    {"key": "k1", "value": "text"}, {"key": "k1", "value": null}, {"value": {"base64": "AAEC"}}. Any other JSON as
    the value is kept as it is. What `goqueue consume --format jsonl` prints can be read again.

    With --delay or --deliver-at records are written at once, and seen by nobody until then.

    Exits with 1 when a record could not be written; which and why is on standard error.

    Example: goqueue produce orders '{"id": 17}' --key customer-1
    """
    from goqueue.cli.delay_times import parse_delay
    from goqueue.cli.produce_run import Job, Source, run_job
    from goqueue.cli.record_input import Outgoing, parse_header, record_parser
    from goqueue.model.durations import parse_duration_ms
    from goqueue.model.record import Record

    if values and file is not None:
        raise Refused("both values and a file", hint="give one of them")
    delay_ms, deliver_at_ns = parse_delay(delay, deliver_at)
    template = Outgoing(
        Record(None, _bytes(key), tuple(map(parse_header, headers or ())), priority),
        partition,
        delay_ms=delay_ms,
        deliver_at_ns=deliver_at_ns,
    )
    job = Job(
        topic,
        record_parser(form is InputFormat.JSONL, template, key_separator),
        _per_second(rate),
        {
            "acks": acks.value,
            "durability": durability.value if durability else None,
            "compression": compression.value if compression else None,
            "delivery_timeout_ms": max(1, parse_duration_ms(timeout)),
        },
    )
    source = Source([_bytes(value) or b"" for value in values] if values else None, file)
    with with_commands_as_hints(server):
        report = asyncio.run(run_job(server, job, source))
    report.print(output, quiet=quiet)
    if report.interrupted:
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(PROBLEM if report.failed else 0)


def _bytes(text: str | None) -> bytes | None:
    """What was typed, also when it is not UTF-8."""
    return None if text is None else text.encode(errors="surrogateescape")


def _per_second(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        rate = float(text.removesuffix("/s"))
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1e9:
        raise Refused(f"{text!r} is not a rate", hint="write it as records a second, such as 100 or 0.5/s")
    return rate
