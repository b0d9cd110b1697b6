"""Protobuf format for the registry: descriptors, canonical text, and incompatibilities."""

import re
from collections.abc import Callable, Mapping

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from goqueue.core.schemas.formats import Incompatibility
from goqueue.core.schemas.protobuf.compatibility import incompatibilities
from goqueue.core.schemas.protobuf.reservations import reused_reservations
from goqueue.core.schemas.protobuf.schema import ProtobufSchema, decoded_descriptor
from goqueue.core.schemas.protobuf.source import source_of
from goqueue.errors import InvalidSchema, SchemaTooLarge

__all__ = ["Compile", "ProtobufFormat", "as_source"]

Compile = Callable[[str, Mapping[str, str]], bytes]
"""The name of a file and the texts of all files, to the FileDescriptorSet of that file and its imports."""

LARGEST_SCHEMA = 1 << 20
LARGEST_ALL = 8 << 20
MOST_REFERENCES = 1000
LONGEST_NAME = 400

_PART = re.compile(r"[A-Za-z0-9_+@=,][A-Za-z0-9_.+@=,-]*", re.ASCII)


class ProtobufFormat:
    """`parse` waits for another process, 40 ms for most schemas and a second for the largest: call it in a thread.

    The other methods take a fraction of a millisecond, and half a second for the largest schemas.
    """

    name = "PROTOBUF"

    def __init__(self, compile_files: Compile) -> None:
        self._compile = compile_files

    def parse(self, text: str, references: Mapping[str, str]) -> ProtobufSchema:
        _check_size(text, references)
        texts = {_checked_name(name): as_source(each, name) for name, each in references.items()}
        root = _free_name(texts)
        texts[root] = as_source(text, "the schema")
        compiled = FileDescriptorSet.FromString(self._compile(root, texts))
        *imports, file = compiled.file
        for each in compiled.file:
            if each.syntax == "editions":
                where = "the schema" if each.name == root else each.name
                raise InvalidSchema(f"{where} is written for an edition", hint="use the syntax proto2 or proto3")
        return ProtobufSchema(file, tuple(imports))

    def canonical(self, parsed: ProtobufSchema) -> str:
        return source_of(parsed.file, parsed.imports)

    def incompatibilities(self, reader: ProtobufSchema, writer: ProtobufSchema) -> list[Incompatibility]:
        return incompatibilities(reader, writer)

    def reuses(self, newer: ProtobufSchema, older: ProtobufSchema) -> list[Incompatibility]:
        return reused_reservations(newer, older)


def _check_size(text: str, references: Mapping[str, str]) -> None:
    if len(references) > MOST_REFERENCES:
        raise SchemaTooLarge(f"the schema refers to {len(references)} others; {MOST_REFERENCES} are possible")
    if any(len(each) > LARGEST_SCHEMA for each in (text, *references.values())):
        raise SchemaTooLarge(f"a schema may have {LARGEST_SCHEMA} characters")
    if len(text) + sum(map(len, references.values())) > LARGEST_ALL:
        raise SchemaTooLarge(f"a schema and all it refers to may have {LARGEST_ALL} characters together")


def _checked_name(name: str) -> str:
    """The name becomes the path of a file, so it must not lead out of the folder."""
    parts = name.split("/")
    if len(name) > LONGEST_NAME or not all(_PART.fullmatch(part) for part in parts):
        raise InvalidSchema(
            f"{name[:80]!r} is not a name under which a schema can be imported",
            hint="use the path of the import statement, e.g. shop/order.proto: letters, digits and _ . + @ = , -",
        )
    return name


def as_source(text: str, what: str) -> str:
    """The .proto text; a base64 descriptor is converted to text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidSchema(f"{what} has a lone surrogate, which UTF-8 cannot carry") from None
    if not text.strip():
        raise InvalidSchema(f"{what} is empty")
    descriptor = decoded_descriptor(text)
    if descriptor is None:
        return text
    if descriptor.syntax not in ("", "proto2", "proto3"):
        raise InvalidSchema(f"{what} is written for an edition", hint="use the syntax proto2 or proto3")
    # Its indexes may be out of range, and its names may be invalid UTF-8.
    try:
        return source_of(descriptor, ())
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as reason:
        raise InvalidSchema(f"{what} is a descriptor that contradicts itself: {reason}") from None


def _free_name(taken: Mapping[str, str]) -> str:
    number = 0
    while (name := f"schema{number or ''}.proto") in taken:
        number += 1
    return name
