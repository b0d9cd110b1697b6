"""Keys, values and headers in JSON: text, any JSON value, or bytes as {"base64": …}; bit by bit the same on return.

A value that is neither a string nor bytes is stored as its JSON text, exactly as it came, and marked by the header
`content-type: application/json`; a key likewise by `key-content-type`. null is a tombstone as a value, and no key.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

import msgspec

from goqueue.errors import InvalidRecord
from goqueue.model.record import Record

__all__ = [
    "Base64",
    "Base64Text",
    "Form",
    "FormName",
    "Headers",
    "PriorityName",
    "header_map",
    "header_pairs",
    "key_and_value",
    "priority_number",
    "shown",
]

Form = Literal["text", "json", "base64"]
FormName = Literal["text", "json", "base64", "tombstone"]
PriorityName = Literal["critical", "high", "normal", "low", "background"]
PRIORITIES: Final[tuple[PriorityName, ...]] = ("critical", "high", "normal", "low", "background")

JSON_VALUE: Final = ("content-type", b"application/json")
JSON_KEY: Final = ("key-content-type", b"application/json")


BASE64_PATTERN = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
Base64Text = Annotated[bytes, msgspec.Meta(extra_json_schema={"pattern": BASE64_PATTERN})]


class Base64(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes, as text in base64."""

    base64: Base64Text


HeaderValue = str | Base64
Headers = dict[str, HeaderValue | Annotated[list[HeaderValue], msgspec.Meta(min_length=1)]]
"""Header values by name; several of one name stand in a list."""

_decode_text = msgspec.json.Decoder(str).decode
_decode_base64 = msgspec.json.Decoder(Base64).decode
_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_check_json = msgspec.json.Decoder(msgspec.Raw).decode


def priority_number(given: PriorityName | int) -> int:
    return given if isinstance(given, int) else PRIORITIES.index(given)


# In.


def key_and_value(key: msgspec.Raw | None, value: msgspec.Raw, headers: Headers) -> Record:
    """The record that a caller describes, still with the default priority."""
    pairs = header_pairs(headers)
    value_bytes, value_is_json = _read("value", value)
    if value_is_json and not _has(pairs, JSON_VALUE[0]):
        pairs = (*pairs, JSON_VALUE)
    key_bytes: bytes | None = None
    if key is not None:
        key_bytes, key_is_json = _read("key", key)
        if key_is_json and not _has(pairs, JSON_KEY[0]):
            pairs = (*pairs, JSON_KEY)
    return Record(value_bytes, key_bytes, pairs)


def _read(what: str, raw: msgspec.Raw) -> tuple[bytes | None, bool]:
    """The bytes to store, and whether they are JSON text."""
    text = bytes(raw)
    try:
        if text[:1] == b'"':
            return _decode_text(text).encode(), False
        if text == b"null":
            return None, False
        if text[:1] == b"{" and b'"base64"' in text and _decode_members(text).keys() == {"base64"}:
            return _decode_base64(text).base64, False
        # JSON is UTF-8; what is handed on unread has not been looked at yet.
        text.decode()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidRecord(f"the {what} cannot be read: {error}") from None
    return text, True


def _has(pairs: Iterable[tuple[str, bytes]], name: str) -> bool:
    return any(given.lower() == name for given, _ in pairs)


def header_pairs(headers: Headers) -> tuple[tuple[str, bytes], ...]:
    if not headers:
        return ()
    pairs: list[tuple[str, bytes]] = []
    for name, given in headers.items():
        values = given if isinstance(given, list) else [given]
        pairs += [(name, one.base64 if isinstance(one, Base64) else one.encode()) for one in values]
    return tuple(pairs)


# Out.


def shown(data: bytes | None, form: Form | None) -> tuple[Any, FormName]:
    """Bytes in the form that is wanted, or in one that can hold them; and which it is."""
    if data is None:
        return None, "tombstone"
    if form == "json" and _is_json(data):
        return msgspec.Raw(data), "json"
    if form != "base64":
        try:
            return data.decode(), "text"
        except UnicodeDecodeError:
            pass
    return Base64(data), "base64"


def _is_json(data: bytes) -> bool:
    try:
        data.decode()
        _check_json(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def header_map(pairs: tuple[tuple[str, bytes], ...]) -> Headers:
    found: Headers = {}
    for name, value in pairs:
        one = _header_value(value)
        before = found.get(name)
        if before is None:
            found[name] = one
        elif isinstance(before, list):
            before.append(one)
        else:
            found[name] = [before, one]
    return found


def _header_value(value: bytes) -> HeaderValue:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return Base64(value)
