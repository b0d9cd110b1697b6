"""`goqueue pipeline windows`: counts and sums of a topic in windows of time."""

from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.pipelines.session import DEFAULT_MASTER, ConfOption, MasterOption, running
from goqueue.cli.remote import DEFAULT_SERVER, ServerOption, TopicArgument, with_commands_as_hints
from goqueue.model.durations import parse_duration_ms

if TYPE_CHECKING:
    from goqueue.spark.pipelines.windows import WindowsSummary

__all__ = ["windows"]

Duration = "DURATION"


def windows(
    topic: TopicArgument,
    length: Annotated[str, typer.Option(metavar=Duration, help="How long a window is.")] = "1m",
    slide: Annotated[
        str | None,
        typer.Option(metavar=Duration, help="How far apart windows begin.", show_default="their length"),
    ] = None,
    late: Annotated[str, typer.Option(metavar=Duration, help="How much later than others a record may come.")] = "1m",
    by: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT", help="header:NAME or field:NAME, as field:user.id of JSON.", show_default="the key"
        ),
    ] = None,
    total: Annotated[
        str | None,
        typer.Option("--sum", metavar="WHAT", help="Add up this number too, as field:amount.", show_default=False),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="When it happened, as field:at.", show_default="when it was published"),
    ] = None,
    into: Annotated[str | None, typer.Option(metavar="TOPIC", help="Write to a topic.", show_default=False)] = None,
    to: Annotated[str | None, typer.Option(metavar="FOLDER", help="Write Parquet.", show_default=False)] = None,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where the state is kept; with --into.", show_default=False)
    ] = None,
    updates: Annotated[bool, typer.Option("--updates", help="Tell windows whenever they change.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until interrupted.")] = False,
    every: Annotated[str, typer.Option(metavar=Duration, help="With --follow: how often to look.")] = "10s",
    master: MasterOption = DEFAULT_MASTER,
    conf: ConfOption = None,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Count the records of TOPIC by key, or by a field of their JSON, in each window of time.

    A window is told once, when the watermark has passed it. Into a topic that is exactly once; without --into and --to
    windows are printed. Records without a time are in no window, and counted; it is an error if no record has one.

    Example: goqueue pipeline windows orders --by field:country --sum field:amount --into sales --checkpoint ./state
    """
    lengths = {"length": length, "slide": slide, "late": late}
    shown = {name: None if text is None else _spark_length(text) for name, text in lengths.items()}
    with running("windows", master, conf) as spark, with_commands_as_hints(server):
        from goqueue.spark.pipelines.windows import WindowOptions, WindowsJob, run

        job = WindowsJob(
            server=server,
            topic=topic,
            into_topic=into,
            into_folder=to,
            checkpoint=checkpoint,
            updates=updates,
            follow=follow,
            every=_spark_length(every),
        )
        options = WindowOptions(
            length=shown["length"] or "", slide=shown["slide"], late=shown["late"] or "", by=by, total=total, at=at
        )
        done = run(spark, job, options)
    print_answer(done, output, lambda: _print(done))


def _spark_length(text: str) -> str:
    return f"{parse_duration_ms(text)} milliseconds"


def _print(done: "WindowsSummary") -> None:
    told = "" if done.windows is None else f", {done.windows:,} windows told"
    print(f"{done.records:,} records of {done.topic} in {done.batches} batches{told}, to {done.into}")
    if done.without_time:
        print(f"{done.without_time:,} records say no time, and are in no window")
    if done.watermark is not None:
        print(f"windows that end by {done.watermark} are complete")
