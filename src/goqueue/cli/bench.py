"""`goqueue bench`: put load on a broker, and say what it does: records and bytes a second, and how long each takes."""

import asyncio
from enum import StrEnum
from typing import Annotated

import typer

from goqueue.cli.amounts import parse_size
from goqueue.cli.connection import DEFAULT_SERVER, ServerOption
from goqueue.cli.failures import INTERRUPTED, PROBLEM, Refused
from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.remote import complete_topics, with_commands_as_hints
from goqueue.model.topic import Durability

__all__ = ["bench"]

LEAST_SIZE = 16


class Loads(StrEnum):
    ALL = "all"
    PUBLISH = "publish"
    CONSUME = "consume"
    QUEUE = "queue"
    LATENCY = "latency"


def bench(
    load: Annotated[
        Loads, typer.Argument(metavar="LOAD", help="publish, consume, queue, latency, or all, one after the other.")
    ] = Loads.ALL,
    topic: Annotated[
        str | None,
        typer.Option(
            "--topic",
            "-t",
            help="Use this topic, which stays, instead of one that is made and deleted.",
            show_default=False,
            autocompletion=complete_topics,
        ),
    ] = None,
    partitions: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Of the topic that is made.")] = 3,
    size: Annotated[str, typer.Option(metavar="SIZE", help="Of each value.")] = "100",
    batch: Annotated[int, typer.Option(min=1, max=100_000, metavar="N", help="Records sent together.")] = 1000,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, max=64, metavar="N", help="Processes.")] = 1,
    connections: Annotated[int, typer.Option("--connections", "-c", min=1, max=256, help="Of each process.")] = 1,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="N/s",
            help="Records a second in all, by the clock. Without it as fast as it goes; latency: 1000/s.",
            show_default=False,
        ),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1, max=86_400, metavar="N", help="How long each load runs.")] = 5.0,
    records: Annotated[
        int | None, typer.Option("--records", "-n", min=1, help="End after so many.", show_default=False)
    ] = None,
    durability: Annotated[Durability | None, typer.Option(help="Instead of the topic's.", show_default=False)] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the topic that is made.")] = False,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Put load on a broker and measure: records and MB a second, latencies, errors.

    publish: batches that are encoded already; the latency is from handing one over, or with --rate from when it was
    due, until it is confirmed. consume: each connection reads the topic from its beginning; the latency is that of one
    fetch. queue: publish, take and acknowledge at the same time; the latency is from handing a record over until it is
    acknowledged. latency: single records at a steady rate, from when each was due until a waiting reader has it.

    Clients run on this machine and take their share of it. Exits with 1 when there were errors.

    Example: goqueue bench publish --workers 2 --size 1KiB --seconds 10
    """
    from goqueue.cli.bench_run import Wish, run_loads
    from goqueue.cli.bench_views import print_results
    from goqueue.cli.load.plan import Kind

    wish = Wish(
        server=server,
        topic=topic,
        partitions=partitions,
        size=_size(size),
        batch=batch,
        workers=workers,
        connections=connections,
        per_second=_per_second(rate),
        seconds=seconds,
        records=records,
        durability=durability.value if durability else None,
        keep=keep,
    )
    kinds = list(Kind) if load is Loads.ALL else [Kind(load.value)]
    with with_commands_as_hints(server):
        results, interrupted = asyncio.run(run_loads(wish, kinds))
    answer = {"settings": wish, "interrupted": interrupted, "results": results}
    print_answer(answer, output, lambda: print_results(wish, results))
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if any(one.errors for one in results):
        raise typer.Exit(PROBLEM)


def _size(text: str) -> int:
    size = parse_size(text)
    if size < LEAST_SIZE:
        raise Refused(f"{size} bytes", hint=f"a value has at least {LEAST_SIZE} bytes, for the mark and the time in it")
    return size


def _per_second(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        rate = float(text.removesuffix("/s"))
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1e9:
        raise Refused(f"{text!r} is not a rate", hint="write it as records a second, such as 1000 or 0.5/s")
    return rate
