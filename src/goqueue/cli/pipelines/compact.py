"""`goqueue pipeline compact`: the last value of each key of a topic, as a Parquet table."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.pipelines.bounds import parse_bound
from goqueue.cli.pipelines.lake import RegistryUrlOption
from goqueue.cli.pipelines.session import DEFAULT_MASTER, ConfOption, MasterOption, running
from goqueue.cli.remote import DEFAULT_SERVER, ServerOption, TopicArgument, with_commands_as_hints

if TYPE_CHECKING:
    from goqueue.spark.pipelines.compact import CompactSummary

__all__ = ["compact"]


def compact(
    topic: TopicArgument,
    to: Annotated[str, typer.Option(metavar="FOLDER", help="Where the table is written.", show_default=False)],
    at: Annotated[
        str,
        typer.Option(metavar="PLACE", help="As of latest, an offset, 0=23,1=40, 2025-12-31T23:59:59Z, or an age: 15m."),
    ] = "latest",
    path: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Read a data folder, or a copy of one, not a broker.", show_default=False),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="Values are JSON with these: 'id long, name string'.", show_default=False),
    ] = None,
    registry: RegistryUrlOption = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the folder if it is there.")] = False,
    master: MasterOption = DEFAULT_MASTER,
    conf: ConfOption = None,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write the last value of each key of TOPIC to a Parquet table. Tombstones remove their key.

    Example: goqueue pipeline compact customers --to ./customers --at 2025-12-31T23:59:59Z
    """
    place = parse_bound(at)
    with running("compact", master, conf) as spark, with_commands_as_hints(server):
        from goqueue.spark.pipelines.compact import CompactOptions, run

        options = CompactOptions(
            topic=topic,
            to=to,
            server=server,
            # Readers may have another working folder than whoever typed it.
            path=None if path is None else os.path.abspath(path),
            at=place,
            columns=schema,
            registry=registry,
            overwrite=overwrite,
        )
        done = run(spark, options)
    print_answer(done, output, lambda: _print(done))


def _print(done: "CompactSummary") -> None:
    print(f"{done.records:,} records of {done.topic} became {done.rows:,} rows in {done.to}")
    if done.removed:
        print(f"{done.removed:,} keys were removed by tombstones")
    if done.without_key:
        print(f"{done.without_key:,} records have no key, and were left out")
