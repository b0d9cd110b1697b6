"""`goqueue pipeline lake`: topics as Parquet tables by date, every record once."""

from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.amounts import parse_size
from goqueue.cli.failures import PROBLEM, Refused
from goqueue.cli.output import Output, OutputOption, print_answer, print_table
from goqueue.cli.pipelines.session import DEFAULT_MASTER, ConfOption, MasterOption, running
from goqueue.cli.remote import DEFAULT_SERVER, ServerOption, complete_topics, with_commands_as_hints
from goqueue.cli.times import bytes_text
from goqueue.model.durations import parse_duration_ms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from goqueue.spark.pipelines.lake import LakeOptions, LakeSummary
    from goqueue.spark.pipelines.lake_audit import Audited
    from goqueue.spark.pipelines.lake_compaction import Compacted

__all__ = ["RegistryUrlOption", "lake"]

RegistryUrlOption = Annotated[
    str | None,
    typer.Option(
        "--registry",
        envvar="GOQUEUE_REGISTRY",
        metavar="URL",
        help="Values of topics that have a schema there become typed columns.",
        show_default=False,
    ),
]


def lake(
    topics: Annotated[
        list[str],
        typer.Argument(metavar="TOPIC", help="Names of topics.", show_default=False, autocompletion=complete_topics),
    ],
    to: Annotated[str, typer.Option(metavar="FOLDER", help="The lake: a folder, or a URL of one.", show_default=False)],
    load: Annotated[bool, typer.Option("--load/--no-load", help="Whether topics are read at all.")] = True,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until interrupted.")] = False,
    every: Annotated[str, typer.Option(metavar="DURATION", help="With --follow: how often to write files.")] = "10s",
    compact: Annotated[bool, typer.Option("--compact", help="Then make few files of many small ones.")] = False,
    small: Annotated[str, typer.Option(metavar="SIZE", help="Which files are small.")] = "32MiB",
    target: Annotated[str, typer.Option(metavar="SIZE", help="How large files are to become.")] = "128MiB",
    verify: Annotated[bool, typer.Option("--verify", help="Then check files and rows against the manifest.")] = False,
    schema: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[TOPIC=]COLUMNS", help="Values are JSON with these: 'id long, name string'.", show_default=False
        ),
    ] = None,
    registry: RegistryUrlOption = None,
    batch: Annotated[int, typer.Option(min=1, metavar="RECORDS", help="Records in one batch, at most.")] = 1_000_000,
    master: MasterOption = DEFAULT_MASTER,
    conf: ConfOption = None,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Load topics into Parquet tables, a folder for each topic and in it one for each date, every record once.

    Run again, it goes on where it stood, also after it was killed. Records go by their own date, however late.

    Example: goqueue pipeline lake orders payments --to ./lake --compact --verify
    """
    if follow and (compact or verify or not load):
        raise Refused("--follow has no end", hint="run --no-load --compact --verify beside it, whenever you like")
    below, wanted = parse_size(small), parse_size(target)
    pause = f"{parse_duration_ms(every)} milliseconds"
    with running("lake", master, conf) as spark, with_commands_as_hints(server):
        from goqueue.spark.pipelines.lake import LakeOptions, LakeSummary, run

        options = LakeOptions(
            server=server,
            topics=tuple(topics),
            to=to,
            schemas=_schemas(topics, schema or []),
            registry=registry,
            batch_records=batch,
            follow=follow,
            every=pause,
        )
        loaded = run(spark, options) if load else LakeSummary(to, ())
        compacted = _compact(spark, options, below, wanted) if compact else []
        audited = _verify(spark, options) if verify else []
    answer = {"to": to, "loaded": loaded.topics, "compacted": compacted, "verified": audited}
    print_answer(answer, output, lambda: _print(loaded, compacted, audited))
    if not all(one.is_right for one in audited):
        raise typer.Exit(PROBLEM)


def _schemas(topics: list[str], given: list[str]) -> dict[str, str]:
    found = {}
    for text in given:
        topic, equals, columns = text.partition("=")
        if equals and topic in topics:
            found[topic] = columns
        elif len(topics) == 1:
            found[topics[0]] = text
        else:
            raise Refused(f"--schema {text[:60]}", hint=f"say of which topic: {topics[0]}='id long, name string'")
    return found


def _compact(spark: "SparkSession", options: "LakeOptions", below: int, target: int) -> "list[Compacted]":
    from goqueue.spark.pipelines.lake_compaction import compact
    from goqueue.spark.pipelines.lake_table import Table

    tables = [Table(spark, options.to, topic) for topic in options.topics]
    return [compact(table, below_bytes=below, target_bytes=target) for table in tables]


def _verify(spark: "SparkSession", options: "LakeOptions") -> "list[Audited]":
    from goqueue.spark.pipelines.lake_audit import verify
    from goqueue.spark.pipelines.lake_table import Table

    return [verify(Table(spark, options.to, topic)) for topic in options.topics]


def _print(loaded: "LakeSummary", compacted: "list[Compacted]", audited: "list[Audited]") -> None:
    if loaded.topics:
        rows = [(one.topic, one.batches, one.rows, one.files, bytes_text(one.bytes)) for one in loaded.topics]
        columns = ("topic", "batches", "rows", "files", "size")
        print_table(f"loaded into {loaded.to}", columns, rows, numbers="batches,rows,files,size")
    for done in compacted:
        print(
            f"{done.topic}: {done.files_before} small files of {done.dates} dates became {done.files_after}, "
            f"with the same {done.rows:,} rows"
        )
    for table in audited:
        right = f"{len(table.problems)} problems" if table.problems else "manifest, files and rows agree"
        print(f"{table.topic}: {table.rows:,} rows in {table.files} files of {table.batches} batches; {right}")
        for problem in table.problems:
            print(f"  {problem.kind}: {problem.what}")
