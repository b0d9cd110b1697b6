"""Schema as stored by the registry: a text with references, and the limits of names and sizes."""

from functools import lru_cache

import msgspec

from goqueue.core.schemas.json_text import without_layout
from goqueue.errors import InvalidSchema, InvalidSubject, InvalidVersion, SchemaTooLarge

__all__ = [
    "LATEST",
    "MOST_ID",
    "MOST_REFERENCES",
    "MOST_TEXT_BYTES",
    "VERSION_PATTERN",
    "Reference",
    "Schema",
    "check_schema",
    "check_subject",
    "lightly_canonical",
    "parse_version",
]

MOST_TEXT_BYTES = 1024 * 1024
MOST_REFERENCES = 100
MOST_CHARACTERS_OF_NAME = 249
MOST_CHARACTERS_OF_REFERENCE_NAME = 1000
MOST_ID = 2**31 - 1
"""Maximum of ids and of versions: clients store both in 32 bits."""

LATEST = -1


class Reference(msgspec.Struct, frozen=True, array_like=True):
    """The text refers to the schema as `name`; it is registered as `version` of `subject`."""

    name: str
    subject: str
    version: int


class Schema(msgspec.Struct, frozen=True):
    """Two schemas are the same if these fields are equal; then they have the same id."""

    type: str
    text: str
    references: tuple[Reference, ...] = ()


def check_subject(name: str) -> str:
    if not 1 <= len(name) <= MOST_CHARACTERS_OF_NAME or not name.isprintable():
        raise InvalidSubject(f"{name[:60]!r} is not the name of a subject")
    return name


def check_schema(schema: Schema) -> None:
    """Checks that do not read the text."""
    try:
        size = len(schema.text.encode())
    except UnicodeEncodeError as error:
        raise InvalidSchema(f"the text of the schema has half a character at {error.start}") from None
    if size > MOST_TEXT_BYTES:
        raise SchemaTooLarge(f"the schema has {size} bytes, and may have {MOST_TEXT_BYTES}")
    if not schema.text.strip():
        raise InvalidSchema("the schema is empty", hint="send its text as `schema`")
    if len(schema.references) > MOST_REFERENCES:
        raise SchemaTooLarge(f"the schema has {len(schema.references)} references, and may have {MOST_REFERENCES}")
    names = [reference.name for reference in schema.references]
    if len(set(names)) < len(names):
        raise InvalidSchema("two references have the same name", hint="give each reference a name of its own")
    for name in names:
        if not 1 <= len(name) <= MOST_CHARACTERS_OF_REFERENCE_NAME or not name.isprintable():
            raise InvalidSchema(f"{name[:60]!r} is not the name of a reference")


@lru_cache(maxsize=16)
def lightly_canonical(kind: str, text: str) -> str:
    """The text without differences of layout. A Protobuf schema is not JSON, and its white space is significant.

    Cached, because it is requested several times per operation, and a large text is slow.
    """
    return text.strip() if kind == "PROTOBUF" else without_layout(text)


VERSION_PATTERN = (
    "^(?:latest|-1|[1-9][0-9]{0,8}|1[0-9]{9}|20[0-9]{8}|21[0-3][0-9]{7}|214[0-6][0-9]{6}|2147[0-3][0-9]{5}"
    "|21474[0-7][0-9]{4}|214748[0-2][0-9]{3}|2147483[0-5][0-9]{2}|21474836[0-3][0-9]|214748364[0-7])$"
)
"""The texts that `parse_version` accepts, up to 2^31 − 1."""


def parse_version(text: str) -> int:
    """A version in an address: a number, or `latest`."""
    if text in ("latest", "-1"):
        return LATEST
    is_number = text.isascii() and text.isdigit() and len(text) <= 10
    return check_version(int(text) if is_number else 0, text)


def check_version(version: int, text: str | None = None) -> int:
    if version != LATEST and not 1 <= version <= MOST_ID:
        raise InvalidVersion(
            f"The specified version {str(version if text is None else text)[:40]!r} is not a valid version id. "
            'Allowed values are between [1, 2^31-1] and the string "latest"'
        )
    return version
