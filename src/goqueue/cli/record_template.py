"""Templates of `goqueue consume -f`: text with the fields of a record in it, as kcat writes them."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from goqueue.cli.failures import Refused

if TYPE_CHECKING:
    from goqueue.client import Message

__all__ = ["TEMPLATE_HELP", "Piece", "parse_template"]

Piece = Callable[["Message"], bytes]

NS_PER_MS = 1_000_000
TEMPLATE_HELP = (
    r"Print each record in this form: %s value, %S its length, %k key, %K its length, %t topic, %p partition, "
    r"%o offset, %T timestamp in Unix ms, %h headers, %y priority, %% a percent sign; \n \t \r \0 \\ \xHH are escapes."
)

_TOKEN = re.compile(r"%(.?)|\\(x[0-9A-Fa-f]{2}|.?)", re.DOTALL)
_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}


def _length(data: bytes | None) -> bytes:
    """As kcat has it: -1 for none, so that a deleted value is told from an empty one."""
    return b"-1" if data is None else b"%d" % len(data)


_FIELDS: dict[str, Piece] = {
    "s": lambda message: message.value or b"",
    "S": lambda message: _length(message.value),
    "k": lambda message: message.key or b"",
    "K": lambda message: _length(message.key),
    "t": lambda message: message.topic.encode(),
    "p": lambda message: b"%d" % message.partition,
    "o": lambda message: b"%d" % message.offset,
    "T": lambda message: b"%d" % (message.timestamp_ns // NS_PER_MS),
    "h": lambda message: b",".join(name.encode() + b"=" + value for name, value in message.headers),
    "y": lambda message: b"%d" % message.priority,
    "%": lambda _: b"%",
}


def parse_template(text: str) -> list[Piece]:
    """What each record adds to the output, piece by piece."""
    pieces: list[Piece] = []
    end = 0
    for token in _TOKEN.finditer(text):
        pieces.append(_literal(text[end : token.start()].encode()))
        pieces.append(_piece(token))
        end = token.end()
    return [*pieces, _literal(text[end:].encode())]


def _piece(token: re.Match[str]) -> Piece:
    if token[2] is None:
        field = _FIELDS.get(token[1])
        if field is None:
            known = " ".join(f"%{letter}" for letter in _FIELDS)
            raise Refused(f"there is no field {token[0]!r} in a template", hint=f"there are {known}")
        return field
    if len(token[2]) == 3:
        return _literal(bytes.fromhex(token[2][1:]))
    escaped = _ESCAPES.get(token[2])
    if escaped is None:
        raise Refused(f"there is no escape {token[0]!r} in a template", hint=r"there are \n \t \r \0 \\ and \xHH")
    return _literal(escaped)


def _literal(data: bytes) -> Piece:
    return lambda _: data
