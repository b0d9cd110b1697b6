"""The frame around every command: finds its noun, runs it, and turns errors into a line, a hint and an exit code."""

import importlib
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from goqueue.cli.connection import ContextOption, GlobalHttpOption, GlobalServerOption, add_connection_options
from goqueue.cli.failures import Refused, exit_code_of, let_go_of_output, print_failure
from goqueue.errors import GoQueueError

__all__ = ["NOUNS", "load", "run"]


class Noun(NamedTuple):
    """A word after `goqueue`: a module, what it calls its command (a function, or a Typer app), and a line of help."""

    module: str
    attribute: str
    help: str


NOUNS = {
    "server": Noun("goqueue.cli.server", "server", "Run a broker until it is told to stop."),
    "topic": Noun("goqueue.cli.topic", "app", "List, create, describe, alter and delete topics."),
    "queue": Noun("goqueue.cli.queue", "app", "Take records from a queue and settle them; lanes and figures."),
    "produce": Noun("goqueue.cli.produce", "produce", "Write records to a topic."),
    "consume": Noun("goqueue.cli.consume", "consume", "Print the records of topics."),
    "group": Noun("goqueue.cli.group", "app", "List, describe, rewind, pause and delete consumer groups."),
    "schedule": Noun("goqueue.cli.schedule", "app", "Publish records again and again: list, create, change, delete."),
    "delay": Noun("goqueue.cli.delay", "app", "List, show, cancel and reschedule delayed records."),
    "txn": Noun("goqueue.cli.txn", "app", "List, describe, abort and make transactions."),
    "schema": Noun("goqueue.cli.schema", "app", "List, register, check, compare and delete schemas."),
    "dlq": Noun("goqueue.cli.dlq", "app", "Search dead letters, send them back, purge them."),
    "trace": Noun("goqueue.cli.trace", "app", "See what happened to records, and where a message is."),
    "pipeline": Noun("goqueue.cli.pipeline", "app", "Run a job over many records on Spark: lake, replay, audit …"),
    "broker": Noun("goqueue.cli.broker", "app", "Ask a broker how it is, what it is, and anything else."),
    "config": Noun("goqueue.cli.config", "app", "Show the settings of a broker; give brokers names (contexts)."),
    "storage": Noun("goqueue.cli.storage", "app", "Look into a data folder, check it, mend it, print its records."),
    "top": Noun("goqueue.cli.top", "top", "Watch rates, lag, lanes and dead letters of a broker."),
    "bench": Noun("goqueue.cli.bench", "bench", "Put load on a broker, and measure what it does."),
    "doctor": Noun("goqueue.cli.doctor", "doctor", "Check machine, data folder and broker, and say what to do."),
    "completion": Noun("goqueue.cli.completion", "completion", "Print the script for completion in a shell."),
    "version": Noun("goqueue.cli.version", "version", "Print the version of GoQueue, of Python and of the codec."),
}


class LazyGroup(TyperGroup):
    """Knows the nouns by name and imports one only to run it."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(NOUNS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        noun = NOUNS.get(cmd_name)
        return TyperCommand(cmd_name, help=noun.help) if noun else None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name = args[0]
        if name not in NOUNS and ctx.resilient_parsing:
            # A shell asks what could come next: after a word that means nothing, nothing.
            return None, None, args[1:]
        if name not in NOUNS:
            close = get_close_matches(name, NOUNS)
            raise Refused(
                f"there is no command {name!r}",
                hint=f"did you mean `goqueue {close[0]}`?" if close else "`goqueue --help` lists what there is",
            )
        return name, load(name), args[1:]

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader, `head` for one, has had enough: that is no failure.
            let_go_of_output()
            raise typer.Exit(0) from None


def load(name: str) -> Any:
    """The command of a noun, with all that is below it."""
    found = getattr(importlib.import_module(NOUNS[name].module), NOUNS[name].attribute)
    if not isinstance(found, typer.Typer):
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(name)(found)
        found = single
    command = get_command(found)
    add_connection_options(command)
    return command


app = typer.Typer(
    cls=LazyGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def goqueue(
    invoked: typer.Context,
    server: GlobalServerOption = None,
    http: GlobalHttpOption = None,
    context: ContextOption = None,  # noqa: ARG001  # noted by its callback
) -> None:
    """GoQueue: one durable log, used as a stream, as a queue and as a table.

    `goqueue help COMMAND` explains a command. Where the broker is can be said before or after the command.

    Exit codes: 0 fine; 1 a problem was found or the operation failed; 2 wrong usage; 3 the data folder is in use;
    4 no broker answers; 130 interrupted.

    Example: goqueue server --data /var/lib/goqueue
    """
    if invoked.invoked_subcommand == "server" and (server or http):
        raise Refused(
            "--server and --http before a command say where a broker is, and `server` starts one",
            hint="write `goqueue server --native HOST:PORT --http HOST:PORT` to choose where it listens",
        )


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit code."""
    try:
        outcome = get_command(app).main(list(arguments) or ["--help"], prog_name="goqueue", standalone_mode=False)
    except (GoQueueError, OSError, typer.Abort, typer.TyperException) as error:
        print_failure(error)
        return exit_code_of(error)
    return outcome if isinstance(outcome, int) else 0
