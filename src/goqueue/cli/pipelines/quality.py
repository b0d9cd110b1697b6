"""`goqueue pipeline quality`: what is missing, broken or unevenly spread in the records of a topic."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.failures import PROBLEM, Refused
from goqueue.cli.output import Output, OutputOption, print_answer, print_table
from goqueue.cli.pipelines.bounds import FromPlaceOption, ToPlaceOption, parse_bound
from goqueue.cli.pipelines.reports import DEFAULT_FOLDER, FolderOption
from goqueue.cli.pipelines.session import DEFAULT_MASTER, ConfOption, MasterOption, running
from goqueue.cli.remote import DEFAULT_SERVER, ServerOption, TopicArgument, with_commands_as_hints
from goqueue.cli.schema_input import DEFAULT_REGISTRY, RegistryOption, opened

if TYPE_CHECKING:
    from goqueue.spark.pipelines.quality import Summary
    from goqueue.spark.pipelines.violations import Rules

__all__ = ["quality"]

MOST_LINES = 20


def quality(
    topic: TopicArgument,
    start: FromPlaceOption = "earliest",
    end: ToPlaceOption = "latest",
    subject: Annotated[
        str | None,
        typer.Option(metavar="SUBJECT", help="Check values against this JSON schema.", show_default=False),
    ] = None,
    version: Annotated[
        int | None, typer.Option(min=1, help="Of the subject; the latest if left out.", show_default=False)
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Check values against the JSON schema in this file.",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if a value is no JSON or breaks the schema.")
    ] = False,
    registry: RegistryOption = DEFAULT_REGISTRY,
    folder: FolderOption = DEFAULT_FOLDER,
    master: MasterOption = DEFAULT_MASTER,
    conf: ConfOption = None,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Tell how good the records of TOPIC are: broken values, nulls, mixed types, sizes, and keys that have too many.

    Example: goqueue pipeline quality orders --subject orders-value --from 24h
    """
    first, last = parse_bound(start), parse_bound(end)
    with running("quality", master, conf) as spark, with_commands_as_hints(server):
        from goqueue.spark.pipelines.quality import run
        from goqueue.spark.pipelines.stretches import stretch_of

        rules = _rules(subject, version, schema, registry)
        summary = run(spark, stretch_of(server, topic, first, last), folder, rules=rules)
    print_answer(summary, output, lambda: _print(summary))
    if strict and (summary.unparsable or summary.violating):
        raise typer.Exit(PROBLEM)


def _rules(subject: str | None, version: int | None, schema: Path | None, registry: str) -> "Rules | None":
    from goqueue.spark.pipelines.violations import rules_from_registry, rules_from_text

    if subject is not None and schema is not None:
        raise Refused("both a subject and a file", hint="choose one schema: --subject or --schema")
    if subject is not None:
        return rules_from_registry(opened(registry), subject, version)
    if version is not None:
        raise Refused("a version of what?", hint="add --subject")
    return None if schema is None else rules_from_text(schema.read_text(encoding="utf-8"), schema.name)


def _print(summary: "Summary") -> None:
    facts = {
        "records": f"{summary.records:,}",
        "null values": f"{summary.null_values:,}",
        "no JSON": f"{summary.unparsable:,}",
        "break schema": "not checked" if summary.violating is None else f"{summary.violating:,}",
        "keys": f"{summary.keys:,}",
        "no key": f"{summary.null_keys:,}",
        "Gini": f"{summary.gini:.3f}",
        "first key": f"{summary.top_key_share:.1%} of records",
    }
    for name, value in facts.items():
        print(f"{name:12}  {value}")
    if summary.violations:
        rows = [
            (one["path"], one["rule"], one["values"], one["reason"], ", ".join(one["examples"]))
            for one in summary.violations[:MOST_LINES]
        ]
        print_table("Violations", ("path", "rule", "values", "reason", "examples"), rows, numbers="values")
    nulls = [one for one in summary.columns if one["nulls"]][:MOST_LINES]
    if nulls:
        cells = [(one["column"], f"{one['null_rate']:.1%}", ", ".join(one["types"])) for one in nulls]
        print_table("Columns with nulls", ("column", "null or missing", "types"), cells, numbers="null or missing")
    print(f"report: {summary.page}")
