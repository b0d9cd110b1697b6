"""Records as `goqueue consume` prints them: lines of text, JSON, or just the bytes."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from goqueue.cli.failures import Refused
from goqueue.cli.record_template import Piece, parse_template
from goqueue.cli.times import instant_text
from goqueue.client import Message
from goqueue.gateways.http.forms.values import header_map, shown

__all__ = ["Field", "RecordPrinter", "parse_fields", "record_printer", "template_printer"]

# A terminal must not be steered by what is printed on it; lines and tabs are what text is made of.
_UNPRINTABLE = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


class RecordPrinter(Protocol):
    def begin(self) -> bytes: ...
    def records(self, messages: Sequence[Message]) -> bytes: ...
    def end(self) -> bytes: ...


class Field(StrEnum):
    """What there is to see of a record beside its value, in the order in which it is printed."""

    TOPIC = "topic"
    PARTITION = "partition"
    OFFSET = "offset"
    TIMESTAMP = "timestamp"
    PRIORITY = "priority"
    HEADERS = "headers"
    KEY = "key"


def parse_fields(text: str | None, form: str) -> Sequence[Field]:
    """Names with commas between; `all`, `none`, or nothing at all for what the format has by itself."""
    if text is None:
        text = "all" if form.startswith("json") else "none"
    if text in ("all", "none"):
        return tuple(Field) if text == "all" else ()
    try:
        return [Field(name.strip()) for name in text.split(",") if name.strip() != "value"]
    except ValueError:
        raise Refused(f"there is no such field in {text!r}", hint=f"there are {', '.join(Field)}, all, none") from None


def template_printer(template: str, *, on_terminal: bool) -> RecordPrinter:
    return _Template(parse_template(template), on_terminal=on_terminal)


def record_printer(form: str, fields: Sequence[Field], separator: str, *, on_terminal: bool) -> RecordPrinter:
    if form == "raw":
        return _Raw()
    if form == "text":
        return _Text(fields, separator.encode(), on_terminal=on_terminal)
    return _Json(fields, as_list=form == "json")


class _Raw:
    """The bytes of the values, one after the other."""

    def begin(self) -> bytes:
        return b""

    def records(self, messages: Sequence[Message]) -> bytes:
        return b"".join(message.value or b"" for message in messages)

    def end(self) -> bytes:
        return b""


class _Text(_Raw):
    """A line for each: the fields that are wanted, then the value."""

    def __init__(self, fields: Sequence[Field], separator: bytes, *, on_terminal: bool) -> None:
        self._cells = [_CELLS[field] for field in Field if field in fields]
        self._separator = separator
        self._on_terminal = on_terminal

    def records(self, messages: Sequence[Message]) -> bytes:
        text = b"".join(self._line(message) for message in messages)
        return _printable(text) if self._on_terminal else text

    def _line(self, message: Message) -> bytes:
        cells = [cell(message) for cell in self._cells]
        return self._separator.join((*cells, _or_null(message.value))) + b"\n"


class _Template(_Raw):
    """The pieces of a template for each, and nothing in between."""

    def __init__(self, pieces: Sequence[Piece], *, on_terminal: bool) -> None:
        self._pieces = pieces
        self._on_terminal = on_terminal

    def records(self, messages: Sequence[Message]) -> bytes:
        text = b"".join(piece(message) for message in messages for piece in self._pieces)
        return _printable(text) if self._on_terminal else text


class _Json(_Raw):
    """An object for each: on a line of its own, or all in one list."""

    def __init__(self, fields: Sequence[Field], *, as_list: bool) -> None:
        self._members = [(field.value, _MEMBERS[field]) for field in Field if field in fields]
        self._as_list = as_list
        self._between = b"\n"

    def begin(self) -> bytes:
        return b"[" if self._as_list else b""

    def records(self, messages: Sequence[Message]) -> bytes:
        objects = map(self._object, messages)
        if not self._as_list:
            return b"".join(text + b"\n" for text in objects)
        return b"".join(map(self._listed, objects))

    def end(self) -> bytes:
        return b"\n]\n" if self._as_list else b""

    def _listed(self, text: bytes) -> bytes:
        between, self._between = self._between, b",\n"
        return between + text

    def _object(self, message: Message) -> bytes:
        found = {name: member(message) for name, member in self._members}
        found["value"] = _shown(message.value)
        return msgspec.json.encode(found)


def _printable(text: bytes) -> bytes:
    return text.decode(errors="backslashreplace").translate(_UNPRINTABLE).encode()


def _or_null(data: bytes | None) -> bytes:
    return b"null" if data is None else data


def _shown(data: bytes | None) -> Any:
    return None if data is None else shown(data, None)[0]


_CELLS: dict[Field, Callable[[Message], bytes]] = {
    Field.TOPIC: lambda message: message.topic.encode(),
    Field.PARTITION: lambda message: b"%d" % message.partition,
    Field.OFFSET: lambda message: b"%d" % message.offset,
    Field.TIMESTAMP: lambda message: instant_text(message.timestamp_ns).encode(),
    Field.PRIORITY: lambda message: b"%d" % message.priority,
    Field.HEADERS: lambda message: b",".join(name.encode() + b"=" + value for name, value in message.headers),
    Field.KEY: lambda message: _or_null(message.key),
}

_MEMBERS: dict[Field, Callable[[Message], Any]] = {
    Field.TOPIC: lambda message: message.topic,
    Field.PARTITION: lambda message: message.partition,
    Field.OFFSET: lambda message: message.offset,
    Field.TIMESTAMP: lambda message: instant_text(message.timestamp_ns),
    Field.PRIORITY: lambda message: message.priority,
    Field.HEADERS: lambda message: header_map(message.headers),
    Field.KEY: lambda message: _shown(message.key),
}
