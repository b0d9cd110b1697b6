"""Journal format: the bytes of journal files.

A file begins with a 32-byte head: magic `GQJL`, version u8, 3 zeros, sequence number u64, nonce u64, CRC-32C
of those 24 bytes, 4 zeros. Frames follow, one per entry, 40-byte head and then the operations:

    [0:2] magic `GJ`   [2] version   [3] zero   [4:8] CRC-32C from byte 8 to the end of the frame
    [8:12] length of the operations   [12:16] number of operations
    [16:24] nonce of the file   [24:32] LSN   [32:40] the last durable LSN at the time of writing

The nonce is random and unknown to clients, so neither old content of a reused file nor record values that imitate
frames can be taken for entries. The durable LSN distinguishes damage from a torn tail: an unreadable entry that a
later entry records as durable was complete on disk once; an entry that no later one records as durable was never
confirmed.

An operation: kind u8, name length u16, body length u32, name, body. To change the layout, raise VERSION and
keep a reader for the version before it for one release: the journal of an unclean stop must still replay.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from goqueue import codec
from goqueue.adapters.disk.files import Buffer
from goqueue.engine.ports import CreateLog, DeleteLog, DropSegments, StateEvent
from goqueue.model.log import LogId

__all__ = [
    "FRAME_HEAD",
    "FRAME_MAGIC",
    "HEAD_SIZE",
    "MAX_FRAME",
    "Frame",
    "MergeSegments",
    "Redo",
    "RedoRecords",
    "encode_frame",
    "encode_operation",
    "encode_records",
    "file_head",
    "first_nonce",
    "parse_file_head",
    "parse_frame",
    "parse_operations",
]

VERSION = 1
FRAME_MAGIC = struct.pack(">2sBx", b"GJ", VERSION)
FRAME_HEAD = struct.Struct(">4sIIIQQQ")
HEAD_SIZE = 32
MAX_FRAME = 24 * 1024 * 1024
JOINED_BYTES = 4096
"""Maximum size of an entry that is copied into one buffer, which is cheaper than writing its parts."""

_FILE_HEAD = struct.Struct(">4sB3xQQ")
_CHECKED = struct.Struct(">IIQQQ")
_OPERATION = struct.Struct(">BHI")
_PLACE = struct.Struct(">qIq")
_OFFSET = struct.Struct(">q")

_RECORDS, _EVENT, _CREATE, _DELETE, _DROP, _MERGE = 1, 2, 3, 4, 5, 6


class RedoRecords(NamedTuple):
    """Records with their position in the log, so that applying them twice changes nothing."""

    log: LogId
    base_offset: int
    position: int
    next_offset: int
    records: memoryview


class MergeSegments(NamedTuple):
    """Compaction: the cleaned file of the first segment replaces all of them."""

    log: LogId
    base_offsets: tuple[int, ...]


Redo = RedoRecords | StateEvent | CreateLog | DeleteLog | DropSegments | MergeSegments


class Frame(NamedTuple):
    """One entry as read from the journal."""

    lsn: int
    durable_lsn: int
    size: int
    operations: int
    body: memoryview


def file_head(sequence: int, nonce: int) -> bytes:
    head = _FILE_HEAD.pack(b"GQJL", VERSION, sequence, nonce)
    return head + codec.crc32c(head).to_bytes(4, "big") + bytes(4)


def parse_file_head(data: Buffer) -> tuple[int, int] | None:
    """Sequence number and nonce, or None if this is not an intact head of this version."""
    if len(data) < HEAD_SIZE:
        return None
    _, _, sequence, nonce = _FILE_HEAD.unpack_from(data)
    return (sequence, nonce) if data[:HEAD_SIZE] == file_head(sequence, nonce) else None


def first_nonce(data: memoryview) -> int | None:
    """Nonce in the first frame, for a file with a damaged head."""
    if len(data) < HEAD_SIZE + FRAME_HEAD.size:
        return None
    nonce: int = FRAME_HEAD.unpack_from(data, HEAD_SIZE)[4]
    return nonce if parse_frame(data, HEAD_SIZE, nonce) else None


def encode_records(name: bytes, base_offset: int, position: int, next_offset: int, records: Buffer) -> list[Buffer]:
    head = _OPERATION.pack(_RECORDS, len(name), _PLACE.size + len(records))
    return [head + name + _PLACE.pack(base_offset, position, next_offset), records]


def encode_operation(operation: StateEvent | CreateLog | DeleteLog | DropSegments | MergeSegments) -> list[Buffer]:
    if isinstance(operation, StateEvent):
        # The usual operation; matching by pattern is slower.
        stream = operation.stream.encode()
        return [_OPERATION.pack(_EVENT, len(stream), len(operation.payload)) + stream, operation.payload]
    match operation:
        case CreateLog(log):
            return _encode(_CREATE, str(log), b"")
        case DeleteLog(log):
            return _encode(_DELETE, str(log), b"")
        case DropSegments(log, bases):
            return _encode(_DROP, str(log), b"".join(map(_OFFSET.pack, bases)))
        case MergeSegments(log, bases):
            return _encode(_MERGE, str(log), b"".join(map(_OFFSET.pack, bases)))


def _encode(kind: int, name: str, body: bytes) -> list[Buffer]:
    encoded = name.encode()
    return [_OPERATION.pack(kind, len(encoded), len(body)) + encoded, body]


def encode_frame(parts: list[Buffer], operations: int, nonce: int, lsn: int, durable_lsn: int) -> list[Buffer]:
    length = 0
    for part in parts:
        length += len(part)
    checked = _CHECKED.pack(length, operations, nonce, lsn, durable_lsn)
    if length <= JOINED_BYTES:
        frame = b"".join((checked, *parts))
        return [b"".join((FRAME_MAGIC, codec.crc32c(frame).to_bytes(4, "big"), frame))]
    crc = codec.crc32c(checked)
    for part in parts:
        crc = codec.crc32c(part, crc)
    return [b"".join((FRAME_MAGIC, crc.to_bytes(4, "big"), checked)), *parts]


def parse_frame(data: memoryview, at: int, nonce: int) -> Frame | None:
    """Frame at a position in the content of a journal file, or None if there is no intact frame of this file."""
    if at + FRAME_HEAD.size > len(data):
        return None
    magic, crc, length, operations, frame_nonce, lsn, durable = FRAME_HEAD.unpack_from(data, at)
    size = FRAME_HEAD.size + length
    if magic != FRAME_MAGIC or frame_nonce != nonce or length > MAX_FRAME or at + size > len(data):
        return None
    if codec.crc32c(data[at + 8 : at + size]) != crc:
        return None
    return Frame(lsn, durable, size, operations, data[at + FRAME_HEAD.size : at + size])


def parse_operations(frame: Frame) -> Iterator[Redo]:
    """Operations of an intact frame."""
    at = 0
    for _ in range(frame.operations):
        kind, name_length, body_length = _OPERATION.unpack_from(frame.body, at)
        at += _OPERATION.size
        name = str(frame.body[at : at + name_length], "utf-8")
        at += name_length
        yield _parse_body(kind, name, frame.body[at : at + body_length])
        at += body_length


def _parse_body(kind: int, name: str, body: memoryview) -> Redo:
    if kind == _EVENT:
        return StateEvent(name, bytes(body))
    log = LogId.parse(name)
    if kind == _RECORDS:
        base, position, next_offset = _PLACE.unpack_from(body)
        return RedoRecords(log, base, position, next_offset, body[_PLACE.size :])
    if kind == _CREATE:
        return CreateLog(log)
    if kind == _DELETE:
        return DeleteLog(log)
    bases = tuple(base for (base,) in _OFFSET.iter_unpack(body))
    return DropSegments(log, bases) if kind == _DROP else MergeSegments(log, bases)
