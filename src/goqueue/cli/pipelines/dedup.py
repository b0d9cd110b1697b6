"""`goqueue pipeline dedup`: a topic without its duplicates, as another topic or as Parquet."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.failures import Refused
from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.pipelines.bounds import FromPlaceOption, ToPlaceOption, parse_bound
from goqueue.cli.pipelines.session import DEFAULT_MASTER, ConfOption, MasterOption, running
from goqueue.cli.remote import DEFAULT_SERVER, ServerOption, TopicArgument, with_commands_as_hints

if TYPE_CHECKING:
    from goqueue.spark.pipelines.dedup import Deduplicated

__all__ = ["dedup"]


class Kept(StrEnum):
    FIRST = "first"
    LAST = "last"


def dedup(
    topic: TopicArgument,
    into: Annotated[
        str,
        typer.Option(metavar="TOPIC|FOLDER", help="A topic; with a slash, a folder of Parquet.", show_default=False),
    ],
    by: Annotated[
        str, typer.Option(metavar="WHAT", help="What tells them: key, value, header:NAME, field:NAME (of JSON).")
    ] = "header:goqueue-id",
    keep: Annotated[Kept, typer.Option(help="Which one of the same stays.")] = Kept.FIRST,
    start: FromPlaceOption = "earliest",
    end: ToPlaceOption = "latest",
    name: Annotated[
        str | None,
        typer.Option(help="Run again under the same name, nothing is written twice.", show_default="a new one"),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Only what is new since the last run with this.", show_default=False),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until interrupted; with --checkpoint.")] = False,
    watermark: Annotated[
        str, typer.Option(metavar="DURATION", help="With --checkpoint: how far apart the same are looked for.")
    ] = "1h",
    master: MasterOption = DEFAULT_MASTER,
    conf: ConfOption = None,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write the records of TOPIC without duplicates, and tell how many were dropped. Records without an id all stay.

    Over a stretch every record is compared with every other. With --checkpoint only what is new is read, and the same
    are found when they come within the watermark of each other; what is older than it is left out, and counted.

    Example: goqueue pipeline dedup orders --into orders-clean --by field:order_id
    """
    from goqueue.model.durations import parse_duration_ms

    _check(keep, start, end, name, checkpoint, follow)
    first, last, apart = parse_bound(start), parse_bound(end), f"{parse_duration_ms(watermark)} milliseconds"
    with running("dedup", master, conf) as spark, with_commands_as_hints(server):
        from goqueue.spark.pipelines import dedup as pipeline

        if checkpoint is None:
            done = pipeline.run(*(spark, server, topic, into), by=by, keep=keep.value, start=first, end=last, name=name)
        else:
            done = pipeline.follow(*(spark, server, topic, into, checkpoint), by=by, watermark=apart, for_ever=follow)
    print_answer(done, output, lambda: _print(done))


def _check(keep: Kept, start: str, end: str, name: str | None, checkpoint: str | None, follow: bool) -> None:
    if checkpoint is None and follow:
        raise Refused("--follow without --checkpoint", hint="give it a folder to note how far it is")
    if checkpoint is None:
        return
    if keep is Kept.LAST:
        raise Refused("--keep last with --checkpoint", hint="which one is the last is not known while more may come")
    if (start, end, name) != ("earliest", "latest", None):
        raise Refused("--from, --to and --name with --checkpoint", hint="the checkpoint says where to go on")


def _print(done: "Deduplicated") -> None:
    if done.already_done:
        print(f"nothing to do: {done.into} was written before under this name")
        return
    print(f"{done.read:,} records read from {done.topic}, {done.kept:,} written to {done.into}")
    print(f"{done.dropped:,} duplicates by {done.by} were dropped")
    if done.late:
        print(f"{done.late:,} records came later than the watermark allows and were left out; give a longer one")
    if done.without_id:
        print(f"{done.without_id:,} records have nothing to tell them by, and were kept")
