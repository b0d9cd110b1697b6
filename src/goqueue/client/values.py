"""Values, keys and headers as users give them, and as a record holds them: text and JSON become bytes here."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from goqueue.errors import InvalidRecord

__all__ = ["HeaderItems", "Text", "as_headers", "as_key", "as_keys", "as_value", "as_values"]

Text = bytes | str
HeaderItems = Mapping[str, Text] | Sequence[tuple[str, Text]]

PLAIN = frozenset({bytes, type(None)})
_as_json = msgspec.json.Encoder().encode


def as_value(value: Text | UnsetType | None, json: object = UNSET) -> bytes | None:
    """The bytes of a value: text as UTF-8, or the JSON of what is given as `json`; None is a tombstone."""
    if json is not UNSET:
        if value is not UNSET:
            raise InvalidRecord("value and json are both given", hint="give one of them")
        return _json_bytes(json)
    if value is UNSET:
        raise InvalidRecord("a record must have a value", hint="give value (None for a tombstone) or json")
    return _as_bytes("value", value)


def as_values(
    values: Sequence[Text | None] | UnsetType, json: Sequence[object] | UnsetType = UNSET
) -> Sequence[bytes | None]:
    """The same for a list, which is returned as it is when all its values are bytes."""
    if json is not UNSET:
        if values is not UNSET:
            raise InvalidRecord("values and json are both given", hint="give one of them")
        return [_json_bytes(one) for one in json]
    if values is UNSET:
        raise InvalidRecord("there are no values", hint="give values, or json")
    return _as_list("value", values)


def as_key(key: Text | None) -> bytes | None:
    return _as_bytes("key", key)


def as_keys(keys: Sequence[Text | None] | None) -> Sequence[bytes | None] | None:
    return None if keys is None else _as_list("key", keys)


def as_headers(headers: HeaderItems) -> tuple[tuple[str, bytes], ...]:
    """Pairs of a name and bytes, from a dictionary or from pairs."""
    given: Any = headers.items() if isinstance(headers, Mapping) else headers
    return tuple((name, value.encode() if isinstance(value, str) else value) for name, value in given)


def _as_list(what: str, given: Sequence[Text | None]) -> Sequence[bytes | None]:
    if set(map(type, given)) <= PLAIN:
        plain: Any = given
        return plain  # type: ignore[no-any-return]  # what the check has shown
    return [_as_bytes(what, one) for one in given]


def _as_bytes(what: str, given: Any) -> bytes | None:
    if isinstance(given, str):
        return given.encode()
    if given is None or isinstance(given, bytes):
        return given
    raise InvalidRecord(
        f"a {what} must be bytes or str, got {type(given).__name__}", hint="give bytes, text, or json=… for a value"
    )


def _json_bytes(given: object) -> bytes:
    try:
        return _as_json(given)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRecord(f"json must be something that JSON can express: {error}") from None
