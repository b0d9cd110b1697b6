"""How a command fails: `error: what happened`, `hint: what to do`, and an exit code that scripts can rely on."""

import os
import shlex
import sys
from pathlib import Path

import typer

from goqueue.cli.environment import wants_colour
from goqueue.errors import BrokerUnreachable, DataFolderInUse, GoQueueError, InvalidRequest, InvalidSettings

__all__ = [
    "CODES",
    "EXIT_CODES",
    "INTERRUPTED",
    "PROBLEM",
    "Refused",
    "exit_code_of",
    "is_failure",
    "let_go_of_output",
    "print_failure",
]

PROBLEM, USAGE, IN_USE, UNREACHABLE, INTERRUPTED = 1, 2, 3, 4, 130

CODES = {
    0: "fine; also when the reader of a pipe has had enough",
    PROBLEM: "the operation failed, or a problem was found: a record that could not be written, a schema that is not "
    "compatible, a broker that is not ready",
    USAGE: "wrong usage, or settings that are not allowed",
    IN_USE: "the data folder is in use",
    UNREACHABLE: "no broker answers, or no schema registry",
    INTERRUPTED: "interrupted, or a question answered with no",
}
"""What scripts can rely on."""

EXIT_CODES: dict[type[Exception], int] = {
    BrokerUnreachable: UNREACHABLE,
    DataFolderInUse: IN_USE,
    InvalidRequest: USAGE,
    InvalidSettings: USAGE,
    GoQueueError: PROBLEM,
    typer.Abort: INTERRUPTED,
    typer.TyperException: USAGE,
    OSError: PROBLEM,
}
"""The first class that fits decides."""


class Refused(InvalidRequest):
    """The command line itself makes no sense."""


def is_failure(error: Exception) -> bool:
    """Whether it is told in words; all else is a bug, whose traceback is needed."""
    return isinstance(error, tuple(EXIT_CODES))


def exit_code_of(error: Exception) -> int:
    return next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))


def print_failure(error: Exception) -> None:
    """One line for the error, one for the hint if there is one. An interruption needs no words."""
    if isinstance(error, typer.Abort):
        return
    message, hint = _words(error)
    coloured = sys.stderr.isatty() and wants_colour()
    for label, colour, text in (("error", "red", message), ("hint", "cyan", hint)):
        if text:
            shown = typer.style(f"{label}:", fg=colour, bold=True) if coloured else f"{label}:"
            typer.echo(f"{shown} {' '.join(text.split())}", err=True)


def _words(error: Exception) -> tuple[str, str | None]:
    if isinstance(error, GoQueueError):
        return error.message, error.hint
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}", _hint_for(error)
    message = error.format_message() if isinstance(error, typer.TyperException) else str(error)
    context = getattr(error, "ctx", None)
    return message, f"`{context.command_path} --help` shows how it is used" if context else None


def _hint_for(error: OSError) -> str | None:
    if isinstance(error, PermissionError) and error.filename:
        path = shlex.quote(str(_nearest(Path(str(error.filename)))))
        return f"`ls -ld {path}` shows who may: run as that user, or name another path"
    return None


def _nearest(path: Path) -> Path:
    """The path itself, or the folder on the way to it that keeps others out of it, or from making it."""
    return next((one for one in (path, *path.parents[:-1]) if os.path.lexists(one)), path)


def let_go_of_output() -> None:
    """Point standard output at nothing, so that Python does not complain about a closed pipe when it ends."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
