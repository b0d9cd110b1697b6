"""What hangs together in a registry and how much there is, as `goqueue schema references` and `stats` show it."""

from typing import Annotated

import typer

from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.schema_input import DEFAULT_REGISTRY, RegistryOption, SubjectArgument, number_of, opened

__all__ = ["references", "stats"]


def references(
    subject: SubjectArgument,
    version: Annotated[str, typer.Argument(metavar="VERSION", help="A number, or latest.")] = "latest",
    registry: RegistryOption = DEFAULT_REGISTRY,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show which schemas refer to a version of a subject: it cannot be deleted for good while there are any.

    Example: goqueue schema references money-value 1
    """
    source = opened(registry)
    number = source.version(subject, number_of(version)).version
    found = [
        {"id": schema_id, "subject": name, "version": used}
        for schema_id in source.referenced_by(subject, number)
        for name, used in source.places(schema_id)
    ]

    def as_text() -> None:
        if not found:
            print(f"nothing refers to {subject} version {number}")
        for one in found:
            print(f"{one['subject']} version {one['version']} (id {one['id']})")

    print_answer({"subject": subject, "version": number, "references": found}, output, as_text)


def stats(registry: RegistryOption = DEFAULT_REGISTRY, output: OutputOption = Output.TABLE) -> None:
    """Show how many subjects, versions and schemas there are in the registry of a broker.

    Example: goqueue schema stats
    """
    found = opened(registry).stats()

    def as_text() -> None:
        for name, value in found.items():
            shown = (
                ", ".join(f"{kind} {count:,}" for kind, count in value.items()) if isinstance(value, dict) else value
            )
            print(f"{name.replace('_', ' '):20} {shown}")

    print_answer(found, output, as_text)
