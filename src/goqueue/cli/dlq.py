"""`goqueue dlq`: search dead letters, look at them, send them back, purge them."""

from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.consent import YesOption, require_consent
from goqueue.cli.failures import PROBLEM
from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.remote import DEFAULT_SERVER, ServerOption, TopicArgument, ask, complete_groups, complete_topics

if TYPE_CHECKING:
    from goqueue.client import Admin
    from goqueue.wire.native.letters import FoundLetter, FoundLetters

__all__ = ["app"]

app = typer.Typer(
    help="Search dead letters, send them back, purge them. TOPIC is where they come from, or where they are.\n\n"
    "Example: goqueue dlq list orders",
    rich_markup_mode=None,
    add_completion=False,
)

ReasonOption = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Only with this in their reason.", show_default=False)
]
CauseOption = Annotated[
    str | None, typer.Option(metavar="CAUSE", help="Only rejected, expired or 'failed too often'.", show_default=False)
]
KeyOption = Annotated[str | None, typer.Option(metavar="KEY", help="Only with this key.", show_default=False)]
GroupOption = Annotated[
    str | None,
    typer.Option(
        "--group",
        "-g",
        metavar="GROUP",
        help="Only of this group.",
        show_default=False,
        autocompletion=complete_groups,
    ),
]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="TIME", help="Not older than this: 2025-12-31T23:59:59Z, or 15m.", show_default=False
    ),
]
ToOption = Annotated[
    str | None, typer.Option("--to", metavar="TIME", help="Older than this time or age.", show_default=False)
]
PlacesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--offset",
        metavar="P/O",
        help="Partition and offset, such as 0/17 or 0/17-25; repeat for more.",
        show_default=False,
    ),
]
AllOption = Annotated[bool, typer.Option("--all", help="All there are.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only show what would happen.")]
MostOption = Annotated[
    int | None, typer.Option("--limit", "-n", min=1, metavar="N", help="At most so many.", show_default=False)
]


@app.command("list", short_help="List the dead letters of a topic.")
def list_letters(
    topic: TopicArgument,
    reason: ReasonOption = None,
    cause: CauseOption = None,
    key: KeyOption = None,
    group: GroupOption = None,
    since: FromOption = None,
    until: ToOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="How many to list.")] = 100,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the dead letters of a topic in the order in which they died: all, or those that fit every option.

    Example: goqueue dlq list orders --reason timeout --from 2h
    """
    from goqueue.cli.dlq_run import find_letters
    from goqueue.cli.dlq_select import selection
    from goqueue.cli.dlq_views import letter_facts, print_letters

    select = selection(reason, cause, key, group, since, until, None)
    found, has_more = ask(server, lambda admin: find_letters(admin, topic, select, limit))
    print_answer(
        [letter_facts(letter) for letter in found], output, lambda: print_letters(topic, found, has_more=has_more)
    )


@app.command(short_help="Show a dead letter with everything there is to know.")
def show(
    topic: TopicArgument,
    partition: Annotated[int, typer.Argument(metavar="PARTITION", min=0, help="Of the dead letter.")],
    offset: Annotated[int, typer.Argument(metavar="OFFSET", min=0, help="Of the dead letter.")],
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show a dead letter: the record as it was, where it comes from, why it failed and how often.

    Example: goqueue dlq show orders 0 17
    """
    from goqueue.cli.dlq_views import letter_facts, print_letter
    from goqueue.errors import OffsetOutOfRange
    from goqueue.wire.native.letters import LetterSelect

    async def question(admin: "Admin") -> "FoundLetters":
        return await admin.dead_letters(topic, LetterSelect(places=((partition, offset),)), limit=1)

    letters: tuple[FoundLetter, ...] = ask(server, question).letters
    if not letters:
        raise OffsetOutOfRange(
            f"{topic} has no dead letter at {partition}/{offset}", hint=f"`goqueue dlq list {topic}` shows what is left"
        )
    print_answer(letter_facts(letters[0]), output, lambda: print_letter(letters[0]))


@app.command(short_help="Count the dead letters of a topic by cause, reason and group.")
def stats(topic: TopicArgument, server: ServerOption = DEFAULT_SERVER, output: OutputOption = Output.TABLE) -> None:
    """Count the dead letters of a topic by cause, reason and group, and tell the oldest and the newest.

    Example: goqueue dlq stats orders
    """
    from goqueue.cli.dlq_views import print_stats, stats_facts

    found = ask(server, lambda admin: admin.dead_letter_stats(topic))
    print_answer(stats_facts(found), output, lambda: print_stats(found))


@app.command(short_help="Send dead letters back to where they came from.")
def redrive(
    topic: TopicArgument,
    every: AllOption = False,
    reason: ReasonOption = None,
    cause: CauseOption = None,
    key: KeyOption = None,
    group: GroupOption = None,
    since: FromOption = None,
    until: ToOption = None,
    places: PlacesOption = None,
    limit: MostOption = None,
    rate: Annotated[
        str | None, typer.Option(metavar="N/s", help="At most so many records a second.", show_default=False)
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(
            "--into",
            metavar="TOPIC",
            help="To this topic instead of their own.",
            show_default=False,
            autocompletion=complete_topics,
        ),
    ] = None,
    new_value: Annotated[
        str | None, typer.Option(metavar="VALUE", help="With this value instead of their own.", show_default=False)
    ] = None,
    new_key: Annotated[
        str | None, typer.Option(metavar="KEY", help="With this key instead of their own.", show_default=False)
    ] = None,
    new_headers: Annotated[
        list[str] | None,
        typer.Option(
            "--new-header",
            metavar="NAME=VALUE",
            help="With this header, and without those they had; repeat for more.",
            show_default=False,
        ),
    ] = None,
    dry_run: DryRunOption = False,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Send dead letters back to the topics they came from, where all groups see them: all, or those that fit.

    A letter is sent back once: after that it is not a dead letter any more. The record gets the header
    goqueue-redriven-from.

    Example: goqueue dlq redrive orders --reason timeout --rate 50/s --dry-run
    """
    from goqueue.cli.dlq_run import Work, run_redrive
    from goqueue.cli.dlq_select import edit_of, per_second, require_some, selection
    from goqueue.cli.dlq_views import done_facts, print_done

    select = selection(reason, cause, key, group, since, until, places)
    require_some(select, every=every)
    edit = edit_of(into, new_value, new_key, new_headers)
    work = Work(topic, select, limit, dry_run, edit, per_second(rate))
    done = run_redrive(server, work)
    print_answer(done_facts(done, "redriven"), output, lambda: print_done(done, "redriven"))
    if done.failed or done.stopped or done.interrupted:
        raise typer.Exit(130 if done.interrupted else PROBLEM)


@app.command(short_help="Purge dead letters, for good.")
def purge(
    topic: TopicArgument,
    every: AllOption = False,
    reason: ReasonOption = None,
    cause: CauseOption = None,
    key: KeyOption = None,
    group: GroupOption = None,
    since: FromOption = None,
    until: ToOption = None,
    places: PlacesOption = None,
    limit: MostOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Be done with dead letters: all, or those that fit. This cannot be undone.

    Example: goqueue dlq purge orders --to 30d --yes
    """
    from goqueue.cli.dlq_run import Work, run_purge
    from goqueue.cli.dlq_select import require_some, selection
    from goqueue.cli.dlq_views import done_facts, print_done

    select = selection(reason, cause, key, group, since, until, places)
    require_some(select, every=every)
    if not dry_run and not yes:
        would = run_purge(server, Work(topic, select, limit, dry_run=True))
        require_consent(f"Purge {would.done:,} dead letters of {topic}?", yes=yes)
    done = run_purge(server, Work(topic, select, limit, dry_run))
    print_answer(done_facts(done, "purged"), output, lambda: print_done(done, "purged"))
    if done.failed or done.stopped or done.interrupted:
        raise typer.Exit(130 if done.interrupted else PROBLEM)
