"""Read what an endpoint is given: path, query and body become checked structs, or an error that says what is wrong."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec import inspect

from goqueue.errors import InvalidRequest
from goqueue.gateways.http.endpoint import Endpoint, Nothing
from goqueue.gateways.http.responses import HttpRefusal
from goqueue.gateways.http.rules import RuleBroken
from goqueue.gateways.http.whole_numbers import WholeNumbers

__all__ = ["RequestReader"]

MOST_PARAMETERS = 100

_UNKNOWN = re.compile(r"Object contains unknown field `(?P<field>.*?)`(?: - at `(?P<where>\$[^`]*)`)?", re.DOTALL)
_FLOAT_FOR_INTEGER = re.compile(r"Expected `.*\bint\b.*`, got `float`")
_STEP = re.compile(r"\.(?P<field>[^.\[]+)|\[[^\]]*\]")
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class RequestReader:
    """For one endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._params = endpoint.params
        self._query = endpoint.query
        fields = msgspec.structs.fields(endpoint.query)
        self._ignores_unknown = endpoint.dialect.ignores_unknown
        self._allowed = {field.encode_name for field in fields}
        self._switches = {field.encode_name for field in fields if _is_switch(field.type)}
        self._no_query = endpoint.query() if not any(field.required for field in fields) else None
        self._decode: Callable[[bytes], Any] | None = (
            None if endpoint.body is None else msgspec.json.Decoder(endpoint.body).decode
        )
        self._whole_numbers = WholeNumbers(endpoint.body)

    def params(self, raw: Mapping[str, str]) -> Any:
        if self._params is Nothing:
            return _NOTHING
        try:
            given = {name: unquote(text, errors="strict") if "%" in text else text for name, text in raw.items()}
            return msgspec.convert(given, self._params, strict=False)
        except _UNREADABLE as error:
            if self._endpoint.dialect.is_strict and isinstance(error, msgspec.ValidationError):
                raise HttpRefusal(404, "unknown_route", f"HTTP 404 Not Found: {_plain(error)}") from None
            raise InvalidRequest(f"the path cannot be read: {_plain(error)}") from None

    def query(self, query_string: bytes) -> Any:
        if not query_string and self._no_query is not None:
            return self._no_query
        try:
            pairs = parse_qsl(
                query_string.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_PARAMETERS
            )
        except ValueError as error:
            raise InvalidRequest(f"the query cannot be read: {error}") from None
        given: dict[str, str] = {}
        for name, text in pairs:
            if name not in self._allowed:
                if self._ignores_unknown:
                    continue
                raise InvalidRequest(f"unknown query parameter {_short(name)}", hint=_allowed(self._allowed))
            if name in given:
                raise InvalidRequest(f"the query parameter {name} is given more than once")
            # `?verbose` alone switches it on.
            given[name] = "true" if not text and name in self._switches else text
        try:
            return msgspec.convert(given, self._query, strict=False)
        except msgspec.ValidationError as error:
            raise _broken_rule(error) or InvalidRequest(f"the query cannot be read: {_plain(error)}") from None

    def body(self, body: bytes) -> Any:
        if self._decode is None:
            if body:
                raise InvalidRequest(f"{self._endpoint.method} {self._endpoint.path} takes no body")
            return None
        try:
            try:
                return self._decode(body)
            except msgspec.ValidationError as error:
                if not _FLOAT_FOR_INTEGER.search(str(error)):
                    raise
                return self._decode(self._whole_numbers.as_integers(body))
        except _UNREADABLE as error:
            if not body:
                raise InvalidRequest("the body is empty", hint="send JSON") from None
            raise self._body_error(error) from None

    def _body_error(self, error: Exception) -> InvalidRequest:
        if (broken := _broken_rule(error)) is not None:
            return broken
        unknown = _UNKNOWN.fullmatch(str(error))
        if unknown is None:
            return InvalidRequest(f"the body cannot be read: {_plain(error)}")
        where = unknown["where"] or "$"
        place = "" if where == "$" else f" at {where}"
        allowed = _fields_at(inspect.type_info(self._endpoint.body), where)
        return InvalidRequest(f"unknown field {_short(unknown['field'])} in the body{place}", hint=_allowed(allowed))


_NOTHING = Nothing()


def _is_switch(kind: Any) -> bool:
    return kind is bool or (get_origin(kind) is Annotated and get_args(kind)[0] is bool)


def _plain(error: Exception) -> str:
    return "too deeply nested" if isinstance(error, RecursionError) else str(error)


def _broken_rule(error: Exception) -> InvalidRequest | None:
    broken = error.__cause__
    return InvalidRequest(broken.message, hint=broken.hint) if isinstance(broken, RuleBroken) else None


def _short(name: str) -> str:
    return repr(name if len(name) <= 60 else name[:60] + "…")


def _allowed(names: set[str]) -> str:
    return "allowed here: " + (", ".join(sorted(names)) or "none")


def _fields_at(kind: inspect.Type, where: str) -> set[str]:
    """The fields of the object at a place such as `$.messages[0]`, found by walking the types."""
    for step in _STEP.finditer(where):
        kind = _inner(_struct_or_other(kind), step["field"])
    found = _struct_or_other(kind)
    return {field.encode_name for field in found.fields} if isinstance(found, inspect.StructType) else set()


def _inner(kind: inspect.Type, field: str | None) -> inspect.Type:
    match kind:
        case inspect.StructType():
            return next((one.type for one in kind.fields if one.encode_name == field), inspect.AnyType())
        case inspect.ListType() | inspect.VarTupleType():
            return kind.item_type
        case inspect.DictType():
            return kind.value_type
        case _:
            return inspect.AnyType()


def _struct_or_other(kind: inspect.Type) -> inspect.Type:
    """Out of its wrapping; of a union the part that can have fields inside."""
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    if isinstance(kind, inspect.UnionType):
        inner = [_struct_or_other(one) for one in kind.types]
        containers = (inspect.StructType, inspect.DictType, inspect.ListType, inspect.VarTupleType)
        return next((one for one in inner if isinstance(one, containers)), inner[0])
    return kind
