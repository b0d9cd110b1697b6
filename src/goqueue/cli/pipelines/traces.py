"""`goqueue pipeline traces`: how long records take from step to step, from the spans of a broker."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.failures import Refused
from goqueue.cli.output import Output, OutputOption, print_answer, print_table
from goqueue.cli.pipelines.reports import DEFAULT_FOLDER, FolderOption
from goqueue.cli.pipelines.session import DEFAULT_MASTER, ConfOption, MasterOption, running
from goqueue.cli.remote import DEFAULT_SERVER, ServerOption, complete_topics

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from goqueue.spark.pipelines.traces import Summary

__all__ = ["traces"]

MOST_LINES = 20
_EVERY = re.compile(r"(\d{1,6})(s|m)?", re.ASCII)


def traces(
    source: Annotated[
        str | None,
        typer.Argument(metavar="FILES", help="A folder of span files, or a pattern of names.", show_default=False),
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC",
            help="Spans are in the values of this topic.",
            show_default=False,
            autocompletion=complete_topics,
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Read only what is new since the last time, and report on all of it.")
    ] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until interrupted.")] = False,
    every: Annotated[str, typer.Option(metavar="TIME", help="With --follow: how often to look.")] = "10s",
    trace: Annotated[
        str | None, typer.Option(metavar="ID", help="Show the critical path of this trace.", show_default=False)
    ] = None,
    slowest: Annotated[int, typer.Option(min=1, max=1000, help="How many of the slowest journeys to list.")] = 20,
    folder: FolderOption = DEFAULT_FOLDER,
    master: MasterOption = DEFAULT_MASTER,
    conf: ConfOption = None,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Tell how long records take from step to step, which journeys were the slowest and why, and what failed.

    Example: goqueue pipeline traces ./data/traces --slowest 50
    """
    if (source is None) == (topic is None):
        raise Refused("spans of where?", hint="give a folder of span files, or --topic")
    if trace is not None and (live or follow):
        raise Refused("--trace is about one trace, and there may be more of it to come", hint="leave out --live")
    every_s = _seconds(every) if follow else None
    with running("traces", master, conf) as spark:
        from goqueue.spark.pipelines.traces import run

        lines = _lines(spark, server, source, topic, as_stream=live or follow)
        if live or follow:
            summary = _follow(spark, lines, folder, every_s, slowest)
        else:
            summary = run(lines, folder, slowest=slowest, trace=trace)
    if summary is None:
        raise Refused("there are no spans yet", hint="run it again when some were written")
    print_answer(summary, output, lambda: _print(summary))


def _lines(
    spark: "SparkSession", server: str, source: str | None, topic: str | None, *, as_stream: bool
) -> "DataFrame":
    from goqueue.spark.pipelines.spans import read_lines, stream_lines, topic_lines

    if source is not None:
        return stream_lines(spark, source) if as_stream else read_lines(spark, source)
    reader = spark.readStream if as_stream else spark.read
    found = reader.format("goqueue").option("bootstrap", server).option("subscribe", topic)
    return topic_lines(found.option("startingOffsets", "earliest").load())


def _follow(
    spark: "SparkSession", lines: "DataFrame", folder: "Path", every_s: float | None, slowest: int
) -> "Summary | None":
    """Until it has read what is there, or somebody has seen enough."""
    from goqueue.spark.pipelines.traces import follow, kept_spans, report

    told: list[Summary] = []

    def after(kept: "DataFrame") -> None:
        told[:] = [report(kept, folder, slowest=slowest)]

    query = follow(spark, lines, folder, every_s=every_s, after=after)
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()
    if not told and (kept := kept_spans(spark, folder)) is not None:
        # Nothing was new.
        return report(kept, folder, slowest=slowest)
    return told[0] if told else None


def _seconds(text: str) -> float:
    found = _EVERY.fullmatch(text)
    if found is None or int(found[1]) == 0:
        raise Refused(f"--every {text}", hint="write seconds or minutes, such as 10s or 5m")
    return float(found[1]) * (60 if found[2] == "m" else 1)


def _print(summary: "Summary") -> None:
    names = ("hop", "topic", "count", "p50_ms", "p90_ms", "p99_ms", "max_ms")
    rows = [[_shown(row[name]) for name in names] for row in summary.hops[:MOST_LINES]]
    print_table("Hops, the slowest first", names, rows, numbers="count,p50_ms,p90_ms,p99_ms,max_ms")
    columns = ("trace_id", "total_ms", "spans", "errors", "topic", "last")
    slow = [[_shown(row[name]) for name in columns] for row in summary.slowest[:MOST_LINES]]
    print_table("Slowest journeys", columns, slow, numbers="total_ms,spans,errors")
    path = [
        (one.hop, one.topic, one.group, _shown(one.latency_ms), f"{one.share:.0%}") for one in summary.critical_path
    ]
    print_table("Critical path", ("hop", "topic", "group", "ms", "share"), path, numbers="ms,share")
    cut = f"; {summary.unreadable:,} lines are no spans" if summary.unreadable else ""
    print(f"{summary.spans:,} spans of about {summary.traces:,} traces; {summary.errors:,} errors{cut}")
    print(f"report: {summary.page}")


def _shown(value: object) -> object:
    return f"{value:,.3f}" if isinstance(value, float) else value
