"""Bytes for people: as text, as JSON with indents, as hex, or decoded by the schema that a value names."""

import asyncio
import contextlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import fastavro
import msgspec
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError

from goqueue.codec.values.avro import AvroValues
from goqueue.codec.values.json import check_json
from goqueue.core.schemas.avro.format import for_fastavro
from goqueue.core.schemas.avro.types import AvroSchema
from goqueue.core.schemas.payloads import FRAME_BYTES, framed_id
from goqueue.core.schemas.protobuf.framing import message_name
from goqueue.core.schemas.protobuf.payload import MessageReader
from goqueue.core.schemas.protobuf.schema import ProtobufSchema
from goqueue.engine.broker import Broker
from goqueue.engine.schemas.parsing import parsed_schema
from goqueue.errors import DecodingLimit, GoQueueError
from goqueue.wire.framed_values import read_message_path

__all__ = ["Form", "Shown", "as_text", "decoded", "decoded_all", "preview", "shown"]

Form = Literal["auto", "json", "text", "hex"]

PREVIEW = 180
MOST_SHOWN = 256 * 1024
"""Bytes of a value that are put on a page, and characters of what a schema makes of it."""
MOST_DECODED = 8 * 1024 * 1024
"""Memory that one value may take while it is decoded: a page has up to a hundred of them."""
BY_SCHEMA, UNDECODED = "schema", "undecoded"
HEX_ROW = 16

_UNREADABLE = (EOFError, IndexError, KeyError, TypeError, ValueError, OverflowError, RecursionError, DecodeError)


class Shown(msgspec.Struct, frozen=True):
    """`form` is the one it could be shown in; `note` says what else there is to know of it.

    Of a value that names a schema but cannot be decoded by it there is only the note, with the reason.
    """

    text: str
    form: str
    note: str = ""


def as_text(data: bytes) -> str:
    """In one line at most; what is not UTF-8 in hex."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "0x" + data.hex()


def preview(value: bytes | None, whole: Shown | None = None) -> str:
    """The beginning, in one line."""
    if whole is not None and whole.form == BY_SCHEMA:
        return " ".join(whole.text.split())[:PREVIEW]
    if value is None:
        return ""
    text = as_text(_cut(value[: PREVIEW * 4]))
    return " ".join(text.split())[:PREVIEW]


def shown(value: bytes, form: Form, schema: Shown | None = None) -> Shown:
    """In the form that is wanted, or in one that can hold it."""
    part, note = value, ""
    if schema is not None and schema.form == UNDECODED:
        note, schema = schema.note, None
    if len(value) > MOST_SHOWN:
        part, note = value[:MOST_SHOWN], f"the first {MOST_SHOWN // 1024} KiB"
    if form == "hex":
        return Shown(_hex(part[: MOST_SHOWN // 8]), "hex", "the beginning" if len(part) > MOST_SHOWN // 8 else note)
    if form in ("auto", "json") and schema is not None:
        return schema
    if form in ("auto", "json") and not note and (text := _pretty(part)) is not None:
        return Shown(text, "json")
    try:
        return Shown(_cut(part).decode(), "text", note)
    except UnicodeDecodeError:
        return Shown(_hex(part[: MOST_SHOWN // 8]), "hex", note or "not text")


async def decoded(broker: Broker, value: bytes | None) -> Shown | None:
    """What a schema of the registry makes of it; None when the value names none."""
    return (await decoded_all(broker, [value]))[0]


async def decoded_all(broker: Broker, values: Sequence[bytes | None]) -> list[Shown | None]:
    """As `decoded`, for the values of a page: what reads them is made once for each schema."""
    parsed: dict[int, Any] = {}
    for schema_id in {_schema_of(value) for value in values} - {None}:
        assert schema_id is not None
        # An id that nobody registered: the value only looks as if it named a schema.
        with contextlib.suppress(GoQueueError):
            parsed[schema_id] = (await parsed_schema(broker, schema_id))[1]
    if not parsed:
        return [None] * len(values)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(broker.parsers, _decode_all, parsed, values)


def _schema_of(value: bytes | None) -> int | None:
    return None if value is None or len(value) > MOST_SHOWN else framed_id(value)


def _decode_all(parsed: Mapping[int, Any], values: Sequence[bytes | None]) -> list[Shown | None]:
    readers = {schema_id: _reader(schema) for schema_id, schema in parsed.items()}
    return [_decode(readers, value) for value in values]


def _decode(readers: Mapping[int, Callable[[bytes], Any]], value: bytes | None) -> Shown | None:
    schema_id = _schema_of(value)
    if value is None or schema_id is None or schema_id not in readers:
        return None
    note = f"schema {schema_id}"
    try:
        found = json.dumps(readers[schema_id](value), indent=2, ensure_ascii=False, default=_plain)
        # JSON may name half a character, which no page can hold: it is shown by its name again.
        text = found.encode(errors="backslashreplace").decode()
    except GoQueueError as error:
        return Shown("", UNDECODED, f"not decoded by {note}: {error.message}")
    except _UNREADABLE as error:
        return Shown("", UNDECODED, f"not decoded by {note}: {str(error)[:200] or type(error).__name__}")
    if len(text) > MOST_SHOWN:
        text, note = text[:MOST_SHOWN], f"{note}, the first {MOST_SHOWN // 1024} KiB"
    return Shown(text, BY_SCHEMA, note)


def _reader(parsed: Any) -> Callable[[bytes], Any]:
    match parsed:
        case AvroSchema():
            schema = for_fastavro(parsed)
            if parsed.root.kind == "bytes":
                # Serializers write these as they are, without a length.
                return lambda value: value[FRAME_BYTES:]
            values = AvroValues(schema, most=MOST_DECODED)

            def read_avro(value: bytes) -> Any:
                values.check(value, FRAME_BYTES)
                return fastavro.schemaless_reader(io.BytesIO(value[FRAME_BYTES:]), schema, None)

            return read_avro
        case ProtobufSchema():
            messages = MessageReader(parsed, most=MOST_DECODED)

            def read(value: bytes) -> Any:
                indexes, start = read_message_path(value)
                message = messages.read(message_name(parsed, indexes), value[start:])
                return MessageToDict(message, preserving_proto_field_name=True)

            return read
        case _:

            def read_json(value: bytes) -> Any:
                check_json(value, most=MOST_DECODED)
                return json.loads(value[FRAME_BYTES:])

            return read_json


def _plain(given: Any) -> str:
    """What Avro has and JSON has not: bytes, dates, decimals."""
    return as_text(given) if isinstance(given, bytes) else str(given)


def _pretty(value: bytes) -> str | None:
    if value[:1] not in (b"{", b"["):
        return None
    try:
        check_json(value)
        msgspec.json.decode(value)
        return msgspec.json.format(value, indent=2).decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, DecodingLimit):
        return None


def _cut(part: bytes) -> bytes:
    """Without a character that was cut in two at the end."""
    for missing in range(min(4, len(part))):
        try:
            part[: len(part) - missing].decode()
        except UnicodeDecodeError:
            continue
        return part[: len(part) - missing]
    return part


def _hex(data: bytes) -> str:
    rows = []
    for start in range(0, len(data), HEX_ROW):
        row = data[start : start + HEX_ROW]
        digits = row.hex(" ").ljust(HEX_ROW * 3 - 1)
        letters = "".join(chr(byte) if 32 <= byte < 127 else "·" for byte in row)
        rows.append(f"{start:08x}  {digits}  {letters}")
    return "\n".join(rows)
