"""JSON Schema format for the registry: from text to a checked schema, and validation of values."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import jsonschema_rs
import msgspec

from goqueue.core.schemas.formats import Incompatibility
from goqueue.core.schemas.json_schema.alternatives import MOST_EXPLAINED, has_alternatives, is_explained_soon
from goqueue.core.schemas.json_schema.compatibility import compare_shapes
from goqueue.core.schemas.json_schema.documents import Documents
from goqueue.core.schemas.json_schema.drafts import Draft
from goqueue.core.schemas.json_schema.patterns import PATTERN_OPTIONS
from goqueue.core.schemas.json_schema.shape import Shape, shape_of
from goqueue.errors import InvalidSchema, SchemaTooLarge

__all__ = ["UNEXPLAINED", "JsonSchema", "JsonSchemaFormat", "Violation"]

LARGEST_SCHEMA = 1 << 20
LARGEST_ALL = 8 << 20
DEEPEST_SCHEMA = 128
MOST_MISTAKES = 10
UNEXPLAINED = "the value does not fit, and has too many parts or alternatives in the schema to say where"

_DRAFTS: dict[str, tuple[Draft, type[Any]]] = {
    "json-schema.org/draft-04/schema": (Draft(4), jsonschema_rs.Draft4Validator),
    "json-schema.org/draft-06/schema": (Draft(6), jsonschema_rs.Draft6Validator),
    "json-schema.org/draft-07/schema": (Draft(7), jsonschema_rs.Draft7Validator),
    "json-schema.org/draft/2019-09/schema": (Draft(2019), jsonschema_rs.Draft201909Validator),
    "json-schema.org/draft/2020-12/schema": (Draft(2020), jsonschema_rs.Draft202012Validator),
}
_DEFAULT_DRAFT = "json-schema.org/draft-07/schema"
"""The draft that registries assume for a schema that names none."""


class Violation(msgspec.Struct, frozen=True):
    """One reason why a value does not match; `path` is a JSON pointer into the value."""

    path: str
    message: str


class JsonSchema(msgspec.Struct, frozen=True, eq=False):
    """A checked and compiled schema; it can validate any number of values."""

    document: Any
    references: Mapping[str, Any]
    draft: Draft
    shape: Shape
    validator: Any
    has_alternatives: bool

    def violation(self, value: bytes) -> Violation | None:
        """Why the bytes are not JSON that matches; None when they are. Formats are annotations.

        Only the first reason: the validator would make an error for each mismatch before it returns any.
        """
        try:
            decoded = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as reason:
            return Violation("", f"the bytes are not JSON: {reason}")
        try:
            if self.has_alternatives and not is_explained_soon(self.shape, decoded):
                return None if self.validator.is_valid(decoded) else Violation("", UNEXPLAINED)
            self.validator.validate(decoded)
        except jsonschema_rs.ValidationError as error:
            return Violation(_pointer(error.instance_path), error.message)
        except ValueError as reason:
            return Violation("", f"the value cannot be checked: {reason}")
        return None


class JsonSchemaFormat:
    """Parsing takes under a millisecond for most schemas, but seconds for the largest: the engine uses a thread."""

    name = "JSON"

    def parse(self, text: str, references: Mapping[str, str]) -> JsonSchema:
        if len(text) + sum(map(len, references.values())) > LARGEST_ALL:
            raise SchemaTooLarge(f"a schema and all it refers to may have {LARGEST_ALL} characters together")
        document = _decoded(text, "the schema")
        others = {name: _decoded(each, name) for name, each in references.items()}
        draft, kind = _draft_of(document, _DRAFTS[_DEFAULT_DRAFT])
        known = {name: (each, _draft_of(each, (draft, kind))[0]) for name, each in others.items()}
        _check_against_metaschema(document, draft, "the schema")
        for name, (each, its_draft) in known.items():
            _check_against_metaschema(each, its_draft, name)
        documents = Documents(document, draft, known)
        validator = _compiled(kind, document, documents)
        shape = shape_of(document, documents)
        return JsonSchema(document, others, draft, shape, validator, has_alternatives(shape))

    def canonical(self, parsed: JsonSchema) -> str:
        """Without white space, names sorted; the order of lists is unchanged."""
        return msgspec.json.encode(parsed.document, order="sorted").decode()

    def incompatibilities(self, reader: JsonSchema, writer: JsonSchema) -> list[Incompatibility]:
        if _whole_text(reader) == _whole_text(writer):
            return []
        return compare_shapes(reader.shape, writer.shape)

    def reuses(self, newer: JsonSchema, older: JsonSchema) -> list[Incompatibility]:
        return []


def _whole_text(schema: JsonSchema) -> bytes:
    return msgspec.json.encode((schema.draft, schema.document, schema.references), order="sorted")


def _decoded(text: str, what: str) -> Any:
    if len(text) > LARGEST_SCHEMA:
        raise SchemaTooLarge(f"{what} has {len(text)} characters; a schema may have {LARGEST_SCHEMA}")
    try:
        document = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as reason:
        raise InvalidSchema(f"{what} is not JSON: {reason}") from None
    if not isinstance(document, dict | bool):
        raise InvalidSchema(f"{what} is neither an object nor true or false")
    _check_depth(document, what)
    return document


def _check_depth(document: Any, what: str) -> None:
    level = [document]
    for _ in range(DEEPEST_SCHEMA):
        level = [part for each in level for part in _parts(each)]
        if not level:
            return
    raise SchemaTooLarge(f"{what} is nested more than {DEEPEST_SCHEMA} deep")


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _draft_of(document: Any, default: tuple[Draft, type[Any]]) -> tuple[Draft, type[Any]]:
    name = document.get("$schema") if isinstance(document, dict) else None
    if name is None:
        return default
    key = name.rstrip("#").split("://", 1)[-1] if isinstance(name, str) else ""
    if key not in _DRAFTS:
        raise InvalidSchema(f"$schema is {name!r}", hint="drafts 4, 6, 7, 2019-09 and 2020-12 are known")
    return _DRAFTS[key]


def _check_against_metaschema(document: Any, draft: Draft, what: str) -> None:
    metaschema = _metaschema(draft)
    if metaschema.is_valid(document):
        return
    found = [f"at #{_pointer(error.instance_path)}: {error.message}" for error in _mistakes(metaschema, document)]
    more = f"; and {len(found) - MOST_MISTAKES} more" if len(found) > MOST_MISTAKES else ""
    raise InvalidSchema(f"{what} is not valid {'; '.join(found[:MOST_MISTAKES])}{more}")


def _mistakes(metaschema: Any, document: Any) -> Iterable[Any]:
    """Only the first of a large schema: the validator makes all errors before it returns one."""
    parts, waiting = 0, [document]
    while waiting and parts <= MOST_EXPLAINED:
        parts += 1
        waiting += _parts(waiting.pop())
    if not waiting:
        return metaschema.iter_errors(document)  # type: ignore[no-any-return]
    try:
        metaschema.validate(document)
    except jsonschema_rs.ValidationError as error:
        return (error,)
    return ()


@cache
def _metaschema(draft: Draft) -> Any:
    """The metaschema included in the library. Its own schema check would request missing ones from the network."""
    name, kind = next((name, kind) for name, (each, kind) in _DRAFTS.items() if each == draft)
    scheme = "http" if draft.number <= 7 else "https"
    return kind({"$ref": f"{scheme}://{name}"}, retriever=_refused, validate_formats=False)


def _refused(uri: str) -> Any:
    raise KeyError(f"{uri} is not registered")


def _compiled(kind: type[Any], document: Any, documents: Documents) -> Any:
    def registered(uri: str) -> Any:
        found = documents.lookup(uri.removeprefix("json-schema:///"))
        return _refused(uri) if found is None else found

    try:
        return kind(document, retriever=registered, validate_formats=False, pattern_options=PATTERN_OPTIONS)
    except jsonschema_rs.ValidationError as error:
        raise InvalidSchema(f"at #{_pointer(error.instance_path)}: {error.message}") from None
    except (jsonschema_rs.ReferencingError, ValueError) as reason:
        raise InvalidSchema(f"the schema cannot be used: {reason}") from None


def _pointer(path: list[str | int]) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)
