"""`goqueue pipeline dlq`: why records became dead letters, and sending a selection of them back."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.consent import YesOption, require_consent
from goqueue.cli.failures import PROBLEM, Refused
from goqueue.cli.output import Output, OutputOption, print_answer, print_table
from goqueue.cli.pipelines.bounds import FromPlaceOption, ToPlaceOption, parse_bound
from goqueue.cli.pipelines.reports import DEFAULT_FOLDER, FolderOption
from goqueue.cli.pipelines.session import DEFAULT_MASTER, ConfOption, MasterOption, running
from goqueue.cli.remote import DEFAULT_SERVER, ServerOption, TopicArgument, with_commands_as_hints

if TYPE_CHECKING:
    from goqueue.spark.pipelines.dlq import Triage

__all__ = ["dlq"]

MOST_LINES = 20


def dlq(
    topic: TopicArgument,
    start: FromPlaceOption = "earliest",
    end: ToPlaceOption = "latest",
    redrive: Annotated[bool, typer.Option("--redrive", help="Send letters back; say which ones.")] = False,
    where: Annotated[
        str | None,
        typer.Option(metavar="EXPRESSION", help="Those for which this SQL is true.", show_default=False),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="NAME", help="Those of this cluster.", show_default=False)
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="N/s", help="At most so many records a second.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be sent back.")] = False,
    yes: YesOption = False,
    folder: FolderOption = DEFAULT_FOLDER,
    master: MasterOption = DEFAULT_MASTER,
    conf: ConfOption = None,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Tell why records of TOPIC became dead letters: reasons that are alike, keys, groups, a trend; send some back.

    An expression may use partition, offset, died, key, value, topic, origin_partition, origin_offset, published,
    group, cause, reason, template, cluster, deliveries, failures and trace_id.

    Example: goqueue pipeline dlq orders --redrive --where "reason like '%timeout%' and failures < 5" --dry-run
    """
    from goqueue.cli.dlq_select import per_second

    _check(redrive, where, cluster, dry_run=dry_run)
    pace = per_second(rate)
    first, last = parse_bound(start), parse_bound(end)
    with running("dlq", master, conf) as spark, with_commands_as_hints(server):
        from goqueue.spark.pipelines.dlq import Redrive, letters_of, run

        stretch = letters_of(server, topic, first, last)
        # Whoever is asked wants to know how many they are.
        wish = Redrive(where, cluster, dry_run or not yes, pace) if redrive else None
        triage = run(spark, stretch, topic, folder, wish=wish)
    if triage.redriven is not None and not dry_run and not yes:
        require_consent(f"Send {triage.redriven.done:,} dead letters of {topic} back?", yes=yes)
        with running("dlq", master, conf) as spark:
            triage = run(spark, stretch, topic, folder, wish=Redrive(where, cluster, False, pace))
    print_answer(triage, output, lambda: _print(triage))
    if triage.redriven is not None and triage.redriven.failed:
        raise typer.Exit(PROBLEM)


def _check(redrive: bool, where: str | None, cluster: str | None, *, dry_run: bool) -> None:
    if redrive and where is None and cluster is None:
        raise Refused("which dead letters?", hint="choose with --where or --cluster; --where true are all of them")
    if not redrive and (where is not None or cluster is not None or dry_run):
        raise Refused("--where, --cluster and --dry-run are about sending back", hint="add --redrive")


def _print(triage: "Triage") -> None:
    if not triage.letters:
        print(f"{triage.topic} has no dead letters")
        return
    rows = [(one.cluster, f"{one.letters:,}", one.title) for one in triage.clusters[:MOST_LINES]]
    print_table("Clusters of reasons", ("cluster", "letters", "reason"), rows, numbers="letters")
    rest = len(triage.clusters) - len(rows)
    print(f"{triage.letters:,} dead letters" + (f"; {rest:,} more clusters are in the report" if rest else ""))
    done = triage.redriven
    if done is not None:
        for code, message in done.problems.items():
            print(f"not sent back, {code}: {message}")
        words = "would be sent back, nothing was changed" if done.dry_run else "sent back"
        rest_text = f"; {done.failed:,} could not be" if done.failed else ""
        rest_text += f"; {done.missing:,} were no longer there" if done.missing else ""
        print(f"{done.done:,} {words}{rest_text}")
    print(f"report: {Path(triage.page)}")
