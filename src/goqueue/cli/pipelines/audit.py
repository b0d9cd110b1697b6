"""`goqueue pipeline audit`: whether anything of a topic was lost, duplicated or reordered."""

from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.failures import PROBLEM, Refused
from goqueue.cli.output import Output, OutputOption, print_answer, print_table
from goqueue.cli.pipelines.bounds import FromPlaceOption, ToPlaceOption, parse_bound
from goqueue.cli.pipelines.reports import DEFAULT_FOLDER, FolderOption
from goqueue.cli.pipelines.session import DEFAULT_MASTER, ConfOption, MasterOption, running
from goqueue.cli.remote import DEFAULT_SERVER, ServerOption, TopicArgument, with_commands_as_hints

if TYPE_CHECKING:
    from goqueue.spark.pipelines.audit import Audit

__all__ = ["audit"]

MAPPINGS = ("id", "content", "replayed-from", "place")


def audit(
    topic: TopicArgument,
    start: FromPlaceOption = "earliest",
    end: ToPlaceOption = "latest",
    id_by: Annotated[
        str,
        typer.Option("--id", metavar="WHAT", help="What no two records share: key, value, header:NAME, field:NAME."),
    ] = "header:goqueue-id",
    sequence: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="What numbers the records of each key: header:NAME or field:NAME."),
    ] = None,
    dense: Annotated[bool, typer.Option("--dense", help="These numbers rise by one; a missing one is a loss.")] = False,
    copy: Annotated[
        str | None,
        typer.Option(metavar="TOPIC|FOLDER", help="Compare with a topic; with a slash, a folder of Parquet."),
    ] = None,
    mapping: Annotated[
        str,
        typer.Option(
            "--map", metavar="|".join(MAPPINGS), help="How records of the copy are told to be those of TOPIC."
        ),
    ] = "id",
    where: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help="Only these have to be in the copy: SQL.")
    ] = None,
    group: Annotated[str | None, typer.Option("--group", "-g", help="Check how far this group has come.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 also for what cannot be known.")] = False,
    folder: FolderOption = DEFAULT_FOLDER,
    master: MasterOption = DEFAULT_MASTER,
    conf: ConfOption = None,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Check whether anything of TOPIC was lost, duplicated or reordered, by the log, the copy and the group's offsets.

    Each check is proven, violated, or open: not to be known from what is stored. Exits with 1 when one is violated,
    else with 0. The report says of each check what it does not say; all violations are beside it as Parquet.

    Example: goqueue pipeline audit orders --sequence field:n --copy orders-clean --map id --group billing
    """
    if mapping not in MAPPINGS:
        raise Refused(f"--map {mapping}", hint=f"it is one of {', '.join(MAPPINGS)}")
    first, last = parse_bound(start), parse_bound(end)
    with running("audit", master, conf) as spark, with_commands_as_hints(server):
        from goqueue.spark.pipelines.audit import Wish, run
        from goqueue.spark.pipelines.audit_copy import Mapping

        wish = Wish(id_by, sequence, dense, copy, Mapping(mapping), where, group)
        done = run(spark, server, topic, folder, wish, start=first, end=last)
    print_answer(done, output, lambda: _print(done))
    if done.verdict == "violated" or (strict and done.verdict != "proven"):
        raise typer.Exit(PROBLEM)


def _print(done: "Audit") -> None:
    rows = [(one.check, one.verdict, one.says) for one in done.findings]
    print_table(f"Audit of {done.topic}", ("check", "verdict", "what is found"), rows)
    for one in done.findings:
        for limit in one.limits:
            print(f"{one.check}: {limit}")
    count = sum(one.violations for one in done.findings)
    print(f"{done.verdict}" + (f": {count:,} violations, in {done.violations}" if count else ""))
    print(f"report: {done.page}")
