"""Frames of the native protocol.

    u32 length of what follows, u8 opcode, u8 flags, u32 correlation id, u32 head length, head, tail

The head is msgpack, an array in the order of the message's fields; the tail is raw record bytes and may be empty.
A reply carries the opcode and the correlation id of its request. Numbers are big-endian.

The version of the protocol is agreed on in the first exchange (HELLO). Fields may be added at the end of a
message within a version, as readers ignore what they do not know; anything else takes a new version.
"""

import struct
from enum import IntEnum

__all__ = [
    "FRAME_HEAD",
    "FRAME_LENGTH",
    "LENGTH_SIZE",
    "MAX_FRAME_BYTES",
    "PROTOCOL_VERSION",
    "FrameFlag",
    "Opcode",
    "encode_frame",
    "frame_head",
]

PROTOCOL_VERSION = 1
MAX_FRAME_BYTES = 24 * 1024 * 1024
"""Room for the largest record there can be, and a little more."""

LENGTH_SIZE = 4
FRAME_LENGTH = struct.Struct(">I")
FRAME_HEAD = struct.Struct(">IBBII")


class Opcode(IntEnum):
    """What a frame asks for."""

    HELLO = 1
    METADATA = 2
    CREATE_TOPIC = 3
    ALTER_TOPIC = 4
    DELETE_TOPIC = 5
    INIT_PRODUCER = 6
    PUBLISH = 7
    FETCH = 8
    LIST_OFFSETS = 9
    JOIN_GROUP = 10
    HEARTBEAT = 11
    LEAVE_GROUP = 12
    COMMIT_OFFSETS = 13
    FETCH_OFFSETS = 14
    RESET_OFFSETS = 15
    LIST_GROUPS = 16
    DESCRIBE_GROUP = 17
    DELETE_GROUP = 18
    PAUSE_GROUP = 19
    TAKE = 20
    SETTLE = 21
    LIST_DELAYED = 22
    CHANGE_DELAY = 23
    DELAY_STATS = 24
    GROUP_POLICY = 25
    CANCEL_DELAYED = 26
    FIND_LETTERS = 30
    COUNT_LETTERS = 31
    REDRIVE_LETTERS = 32
    PURGE_LETTERS = 33
    LIST_SCHEDULES = 40
    PUT_SCHEDULE = 41
    DELETE_SCHEDULE = 42
    INIT_TRANSACTIONS = 50
    BEGIN_TRANSACTION = 51
    BEGIN_PART = 52
    PREPARE_PART = 53
    COMMIT_TRANSACTION = 54
    ABORT_TRANSACTION = 55
    DECIDE_PARTS = 56
    ADD_ACKS = 57
    ADD_OFFSETS = 58
    LIST_TRANSACTIONS = 60
    DESCRIBE_TRANSACTION = 61
    ABORT_AS_OPERATOR = 62
    TRANSACTION_STATS = 63


class FrameFlag(IntEnum):
    """Bits of the flags byte; no IntFlag, as a look at a bit of one takes longer than taking a frame apart."""

    ERROR = 1
    """The reply is an error; its head is an ErrorReply."""
    NO_REPLY = 2
    """The client wants no reply (publish with acks=none)."""


def frame_head(opcode: int, flags: int, correlation: int, head: bytes, tail_length: int) -> bytes:
    """The bytes before the tail, which is sent after them without being copied."""
    length = FRAME_HEAD.size - LENGTH_SIZE + len(head) + tail_length
    return FRAME_HEAD.pack(length, opcode, flags, correlation, len(head)) + head


def encode_frame(opcode: int, flags: int, correlation: int, head: bytes, tail: bytes = b"") -> bytes:
    return frame_head(opcode, flags, correlation, head, len(tail)) + tail
