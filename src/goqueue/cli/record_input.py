"""Records as they are typed, piped or kept in files: lines of text, or a JSON object on each line."""

import os
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Annotated, Any, NamedTuple

import msgspec

from goqueue.adapters.clock import SystemClock
from goqueue.cli.failures import Refused
from goqueue.cli.waiting import in_thread
from goqueue.codec.faults import MAX_PRIORITY
from goqueue.errors import InvalidRecord
from goqueue.gateways.http.forms.delays import DelayFields, due_of
from goqueue.gateways.http.forms.values import Headers, PriorityName, key_and_value, priority_number
from goqueue.model.record import Record

__all__ = ["Outgoing", "RecordParser", "parse_header", "read_lines", "record_parser"]

READ_BYTES = 256 * 1024
LONGEST_LINE = 32 * 1024 * 1024
"""More than the largest value in base64 takes."""


class Outgoing(NamedTuple):
    """A record, its partition if that was named, the id by which the topic remembers it, and when it is delivered."""

    record: Record
    partition: int | None = None
    id: str | None = None
    delay_ms: int | None = None
    deliver_at_ns: int | None = None


RecordParser = Callable[[bytes], Outgoing]


def record_parser(is_json: bool, template: Outgoing, key_separator: str | None) -> RecordParser:
    """What makes a record of a line; the template has what a line does not say."""
    if is_json:
        if key_separator is not None:
            raise Refused("a key separator is for lines of text", hint='with jsonl write {"key": …, "value": …}')
        return partial(_from_json, template)
    if key_separator is None:
        return lambda line: template._replace(record=msgspec.structs.replace(template.record, value=line))
    if not key_separator or template.record.key is not None:
        raise Refused("a key separator that cannot be used", hint="give it at least one character, and no --key")
    return partial(_from_pair, template, key_separator.encode())


def parse_header(text: str) -> tuple[str, bytes]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Refused(f"--header {text} is not a header", hint="write it as NAME=VALUE")
    return name, value.encode(errors="surrogateescape")


async def read_lines(fd: int) -> AsyncIterator[list[bytes]]:
    """Lines as they arrive, without what ends them."""
    begun: list[bytes] = []
    while data := await in_thread(partial(os.read, fd, READ_BYTES)):
        *whole, rest = data.split(b"\n")
        if whole:
            whole[0] = b"".join((*begun, whole[0]))
            begun = []
            yield whole
        if rest:
            begun.append(rest)
        if sum(map(len, begun)) > LONGEST_LINE:
            raise Refused("a line is longer than any record", hint=f"a line has at most {LONGEST_LINE} bytes")
    if begun:
        yield [b"".join(begun)]


# Lines of text.


def _from_pair(template: Outgoing, separator: bytes, line: bytes) -> Outgoing:
    key, found, value = line.partition(separator)
    if not found:
        raise InvalidRecord(f"there is no {separator.decode()!r} between key and value")
    return template._replace(record=msgspec.structs.replace(template.record, key=key, value=value))


# JSON lines.


_MISSING = msgspec.Raw()


class _JsonRecord(DelayFields, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As the HTTP API takes it. What `goqueue consume` adds when it prints one, is passed over."""

    value: msgspec.Raw
    key: msgspec.Raw = _MISSING
    headers: Headers = {}  # noqa: RUF012  # msgspec makes a new one each time
    partition: Annotated[int, msgspec.Meta(ge=0)] | None = None
    id: str | None = None
    priority: PriorityName | Annotated[int, msgspec.Meta(ge=0, le=MAX_PRIORITY)] | None = None
    topic: Any = None
    offset: Any = None
    timestamp: Any = None


_decode = msgspec.json.Decoder(_JsonRecord).decode


def _from_json(template: Outgoing, line: bytes) -> Outgoing:
    try:
        found = _decode(line)
    except msgspec.MsgspecError as error:
        raise InvalidRecord(f"not a record in JSON: {error}") from None
    has_key = found.key is not _MISSING
    own = key_and_value(found.key if has_key else None, found.value, found.headers)
    given = template.record
    record = Record(
        own.value,
        own.key if has_key else given.key,
        (*given.headers, *own.headers),
        given.priority if found.priority is None else priority_number(found.priority),
    )
    partition = template.partition if found.partition is None else found.partition
    if not found.has_delay:
        return template._replace(record=record, partition=partition, id=found.id)
    due = due_of(found, now_ns=SystemClock().now_ns())
    return Outgoing(record, partition, found.id, deliver_at_ns=due)
