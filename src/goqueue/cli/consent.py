"""Ask before something is destroyed."""

import sys
from typing import Annotated

import typer

from goqueue.cli.failures import Refused

__all__ = ["YesOption", "require_consent"]

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def require_consent(question: str, *, yes: bool) -> None:
    """Go on only when somebody says so, on the terminal or with --yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Refused("this cannot be undone, and there is nobody to ask", hint="add --yes if it is meant")
    typer.confirm(question, abort=True, err=True)
