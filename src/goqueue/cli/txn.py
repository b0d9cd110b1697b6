"""`goqueue txn`: list, describe and abort transactions, see what they hold back, and make one step by step."""

from typing import Annotated

import typer

from goqueue.cli.consent import YesOption, require_consent
from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.remote import DEFAULT_SERVER, ServerOption, ask
from goqueue.cli.txn_session import begin, commit, decide, offsets, prepare, publish, rollback, settle

__all__ = ["app"]

app = typer.Typer(
    help="List, describe and abort transactions.\n\nExample: goqueue txn list --hanging",
    rich_markup_mode=None,
    add_completion=False,
)

NumberArgument = Annotated[
    int, typer.Argument(metavar="NUMBER", min=1, help="Number of the transaction.", show_default=False)
]


@app.command("list", short_help="List the transactions that have not ended.")
def list_live(
    hanging: Annotated[bool, typer.Option("--hanging", help="Only those whose time is half over.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many to list.")] = 100,
    after: Annotated[int, typer.Option(min=0, help="Begin behind the transaction with this number.")] = 0,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the transactions that have not ended, the oldest first, and the records that they hold back.

    Those that have used up more than half of their time are marked: their producer may be gone.

    Example: goqueue txn list --hanging
    """
    from goqueue.cli.txn_views import page_facts, print_page

    page = ask(server, lambda admin: admin.list_transactions(after=after, limit=limit, hanging=hanging))
    print_answer(page_facts(page), output, lambda: print_page(page, hanging=hanging))


@app.command(short_help="Show what belongs to a transaction, or how it ended.")
def describe(
    number: NumberArgument,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show a transaction: its partitions, acknowledgements and offsets; or how, when and why it ended.

    Example: goqueue txn describe 17
    """
    from goqueue.cli.txn_views import print_view, view_facts

    view = ask(server, lambda admin: admin.describe_transaction(number))
    print_answer(view_facts(view), output, lambda: print_view(view))


@app.command(short_help="Abort a transaction, whoever began it.")
def abort(
    number: NumberArgument,
    yes: YesOption = False,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Abort a transaction: nothing of it takes effect, and readers no longer wait for it. This cannot be undone.

    Its producer is told so when it goes on. A part of a larger transaction is missing when that one is decided.

    Example: goqueue txn abort 17 --yes
    """
    from goqueue.cli.txn_views import summary, view_facts

    view = ask(server, lambda admin: admin.describe_transaction(number))
    if view.is_live:
        require_consent(f"Abort {summary(view)}?", yes=yes)
    view = ask(server, lambda admin: admin.abort_transaction(number))
    print_answer(view_facts(view), output, lambda: print(f"transaction {number} is aborted: {view.why}"))


@app.command(short_help="Count transactions, and see what they hold back.")
def stats(server: ServerOption = DEFAULT_SERVER, output: OutputOption = Output.TABLE) -> None:
    """Count the transactions that are live and that have ended, and show which topics they hold back.

    Example: goqueue txn stats
    """
    from goqueue.cli.txn_views import print_stats, stats_facts

    found = ask(server, lambda admin: admin.transaction_stats())
    print_answer(stats_facts(found), output, lambda: print_stats(found))


app.command(short_help="Begin a transaction, and print its handle.")(begin)
app.command(short_help="Publish records in a transaction.")(publish)
app.command(short_help="Settle records of a queue in a transaction.")(settle)
app.command(short_help="Commit offsets of a group with a transaction.")(offsets)
app.command(short_help="All of a transaction counts, from now on.")(commit)
app.command(short_help="Nothing of a transaction ever happened.")(rollback)
app.command(short_help="Say that a part of a larger one is complete.")(prepare)
app.command(short_help="Say which parts are the larger one.")(decide)
