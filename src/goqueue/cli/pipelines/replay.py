"""`goqueue pipeline replay`: a stretch of a topic once more, filtered and at a rate, elsewhere."""

from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.failures import Refused
from goqueue.cli.output import Output, OutputOption, print_answer, print_table
from goqueue.cli.pipelines.bounds import FromPlaceOption, PartitionOption, ToPlaceOption, parse_bound
from goqueue.cli.pipelines.session import DEFAULT_MASTER, ConfOption, MasterOption, running
from goqueue.cli.remote import DEFAULT_SERVER, ServerOption, TopicArgument, with_commands_as_hints

if TYPE_CHECKING:
    from goqueue.spark.pipelines.replay import Replayed

__all__ = ["replay"]


def replay(
    topic: TopicArgument,
    into: Annotated[str | None, typer.Option(metavar="TOPIC", help="Where the copies go.", show_default=False)] = None,
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="Make a topic TOPIC.sandbox-NAME for them, which is empty after a day.")
    ] = False,
    start: FromPlaceOption = "earliest",
    end: ToPlaceOption = "latest",
    partition: PartitionOption = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="EXPRESSION", help="Those for which this SQL is true.", show_default=False),
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="N/s", help="At most so many records a second.", show_default=False)
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Run again under the same name, it does what is missing.", show_default="a new one"),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help="Where a replay at a rate notes how far it is.", show_default="replay-NAME"
        ),
    ] = None,
    within: Annotated[str, typer.Option(metavar="DURATION", help="How long it may take without a rate.")] = "15m",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what would be replayed, and write nothing.")
    ] = False,
    master: MasterOption = DEFAULT_MASTER,
    conf: ConfOption = None,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write the records of a stretch of TOPIC once more, into another topic or a sandbox, each of them once.

    An expression may use key, value, text (the value as text), headers, partition, offset, timestamp, priority, topic
    and trace_id. Copies have a header goqueue-replayed-from with topic/partition/offset. Without a rate all of them
    become visible at once; with one they come a batch at a time, and the folder of --checkpoint has to be kept.

    Example: goqueue pipeline replay orders --sandbox --from 2h --where "get_json_object(text, '$.total') > 100"
    """
    from goqueue.cli.dlq_select import per_second
    from goqueue.model.durations import parse_duration_ms

    if (into is not None) == sandbox:
        raise Refused("where do the copies go?", hint="give one of --into TOPIC and --sandbox")
    first, last, pace, within_ms = parse_bound(start), parse_bound(end), per_second(rate), parse_duration_ms(within)
    with running("replay", master, conf) as spark, with_commands_as_hints(server):
        from goqueue.spark.pipelines.replay import run

        done = run(
            *(spark, server, topic, into),
            start=first,
            end=last,
            partitions=None if partition is None else tuple(partition),
            where=where,
            rate=pace,
            name=name,
            checkpoint=checkpoint,
            within_ms=within_ms,
            dry_run=dry_run,
        )
    print_answer(done, output, lambda: _print(done, start, end))


def _print(done: "Replayed", start: str, end: str) -> None:
    if done.has_no_offsets and not done.already_done:
        nearest = ", ".join(f"{partition}={offset}" for partition, offset in sorted(done.ends.items()))
        print(f"nothing to replay: from {start} up to {end} there is nothing in {done.topic}; nothing was written")
        print(f"the nearest offsets by partition are {nearest}")
        return
    if done.dry_run:
        columns = ("partition", "records", "bytes", "first offset", "last offset", "first", "last")
        rows = [
            (
                one.partition,
                f"{one.records:,}",
                f"{one.bytes:,}",
                one.first_offset,
                one.last_offset,
                one.first,
                one.last,
            )
            for one in done.partitions
        ]
        print_table(f"What would go from {done.topic} into {done.into}", columns, rows, numbers=",".join(columns[:5]))
        print(f"{done.records:,} records with {done.bytes:,} bytes would be replayed; nothing was written")
        return
    if done.already_done:
        print(f"nothing to do: replay {done.name} of {done.topic} into {done.into} was done before")
        print("for another stretch of the topic, give it another name")
        return
    print(f"{done.records:,} records with {done.bytes:,} bytes were replayed from {done.topic} into {done.into}")
    print(f"run again with --name {done.name}, the same replay changes nothing")
