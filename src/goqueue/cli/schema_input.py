"""Schemas as people give them to `goqueue schema`: where the registry is, which file, format and references."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.connection import DEFAULT_HTTP, RegistryOption, http_of
from goqueue.cli.failures import Refused
from goqueue.errors import GoQueueError

if TYPE_CHECKING:
    from goqueue.client.schemas.sync import Reference, Registry, Schema

__all__ = [
    "DEFAULT_REGISTRY",
    "FileOption",
    "NormalizeOption",
    "OptionalSubject",
    "ReferenceOption",
    "RegistryOption",
    "SchemaType",
    "SubjectArgument",
    "TypeOption",
    "VersionOption",
    "given_schema",
    "number_of",
    "opened",
]

DEFAULT_REGISTRY = DEFAULT_HTTP
STANDARD_INPUT = "-"
LATEST = "latest"
COMPLETE_WITHIN_S = 1.0


class SchemaType(StrEnum):
    AVRO = "avro"
    JSON = "json"
    PROTOBUF = "protobuf"


TYPE_BY_SUFFIX = {".avsc": SchemaType.AVRO, ".json": SchemaType.JSON, ".proto": SchemaType.PROTOBUF}


def opened(registry: str, *, within_s: float = 10.0) -> "Registry":
    """HOST:PORT is the HTTP address of a broker; a registry of its own, or somebody else's, has a URL."""
    from goqueue.client.schemas.sync import Registry

    url = registry if "://" in registry else f"http://{registry}/schemas"
    return Registry(url, retries=0, timeout_s=within_s)


def given_schema(file: str, kind: SchemaType | None, references: list[str]) -> "Schema":
    from goqueue.client.schemas.sync import Schema

    kind = kind or TYPE_BY_SUFFIX.get(Path(file).suffix.lower())
    if kind is None:
        if file != STANDARD_INPUT:
            raise Refused(
                f"the name {file!r} does not say which format it is", hint="add --type avro, json or protobuf"
            )
        kind = SchemaType.AVRO
    try:
        text = sys.stdin.buffer.read().decode() if file == STANDARD_INPUT else Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"{file} is not text in UTF-8: {error}") from None
    return Schema(text, kind.value.upper(), tuple(_reference(one) for one in references))


def _reference(text: str) -> "Reference":
    from goqueue.client.schemas.sync import Reference

    name, _, place = text.partition("=")
    subject, _, version = place.rpartition(":")
    if not name or not subject or not version.isdecimal():
        raise Refused(
            f"{text!r} is not a reference", hint="write NAME=SUBJECT:VERSION, such as shop.Money=money-value:1"
        )
    return Reference(name, subject, int(version))


def number_of(version: str | None) -> int | None:
    """None for the latest."""
    if version is None or version == LATEST:
        return None
    if not (version.isascii() and version.isdecimal()):
        raise Refused(f"{version!r} is not a version", hint="a number from 1, or latest")
    return int(version)


def complete_subjects(context: typer.Context, incomplete: str) -> list[str]:
    try:
        registry = opened(http_of(context), within_s=COMPLETE_WITHIN_S)
        return registry.subjects(prefix=incomplete)
    except GoQueueError:
        # A shell that completes has no place for errors.
        return []


SubjectArgument = Annotated[
    str,
    typer.Argument(
        metavar="SUBJECT",
        help="Name of the subject, such as orders-value.",
        show_default=False,
        autocompletion=complete_subjects,
    ),
]
OptionalSubject = Annotated[
    str | None,
    typer.Argument(
        metavar="SUBJECT", help="Name of the subject.", show_default=False, autocompletion=complete_subjects
    ),
]
FileOption = Annotated[
    str, typer.Option("--file", "-f", metavar="PATH", help="The schema; - is standard input.", show_default=False)
]
TypeOption = Annotated[
    SchemaType | None,
    typer.Option(
        "--type",
        "-t",
        case_sensitive=False,
        help="Its format; by default as the file ends: .avsc, .json, .proto; avro on standard input.",
        show_default=False,
    ),
]
ReferenceOption = Annotated[
    list[str],
    typer.Option(
        "--reference",
        metavar="NAME=SUBJECT:VERSION",
        help="A schema that it refers to; can be repeated.",
        show_default=False,
    ),
]
NormalizeOption = Annotated[
    bool, typer.Option("--normalize", help="Schemas that mean the same are the same, however they are written.")
]
VersionOption = Annotated[
    str | None, typer.Option("--version", metavar="NUMBER", help="A version, or latest.", show_default=False)
]
