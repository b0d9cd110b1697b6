"""What subjects allow, as `goqueue schema config` and `goqueue schema mode` show and set it."""

from typing import Annotated

import typer

from goqueue.cli.failures import Refused
from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.schema_input import DEFAULT_REGISTRY, OptionalSubject, RegistryOption, opened

__all__ = ["config", "mode"]

ResetOption = Annotated[bool, typer.Option("--reset", help="Back to what holds for all, or to the default.")]


def config(
    subject: OptionalSubject = None,
    compatibility: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL", help="NONE, or BACKWARD, FORWARD, FULL, each also …_TRANSITIVE.", show_default=False
        ),
    ] = None,
    normalize: Annotated[
        bool | None, typer.Option("--normalize/--no-normalize", help="For all that is registered.", show_default=False)
    ] = None,
    reset: ResetOption = False,
    registry: RegistryOption = DEFAULT_REGISTRY,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show or set the compatibility level of a subject, or of all subjects without one of their own.

    Example: goqueue schema config orders-value --compatibility FULL_TRANSITIVE
    """
    source = opened(registry)
    changes = compatibility is not None or normalize is not None
    if changes and reset:
        raise Refused("--reset beside what to set", hint="one or the other")
    if changes:
        source.set_config(subject, compatibility=compatibility, normalize=normalize)
    if reset:
        source.reset_config(subject)
    found = source.config(subject)
    words = f"{_whose(subject)}: {found['compatibility']}{', normalized' if found['normalize'] else ''}"
    print_answer({"subject": subject, **found}, output, lambda: print(words))


def mode(
    subject: OptionalSubject = None,
    wanted: Annotated[
        str | None, typer.Option("--set", metavar="MODE", help="READWRITE, READONLY or IMPORT.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="IMPORT although there are schemas.")] = False,
    reset: ResetOption = False,
    registry: RegistryOption = DEFAULT_REGISTRY,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show or set the mode of a subject, or of all subjects without one of their own.

    Example: goqueue schema mode orders-value --set READONLY
    """
    source = opened(registry)
    if wanted is not None and reset:
        raise Refused("--reset beside --set", hint="one or the other")
    if wanted is not None:
        source.set_mode(wanted, subject, force=force)
    if reset:
        source.reset_mode(subject)
    found = source.mode(subject)
    print_answer({"subject": subject, "mode": found}, output, lambda: print(f"{_whose(subject)}: {found}"))


def _whose(subject: str | None) -> str:
    return "all subjects without one of their own" if subject is None else subject
