"""Protobuf value checks: whether bytes may be decoded, found from the wire format without decoding.

A nested empty message takes two bytes of input, however many fields its type has, and each of these takes memory.
"""

from typing import TypeVar, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message

from goqueue.codec.values.limits import DEEPEST, LARGEST_DECODED, Budget, too_deep

__all__ = ["ProtobufValues"]

# Estimated bytes of memory, including the dictionaries made from messages.
MESSAGE = 200
FIELD = 100
ELEMENT = 40
"""Memory of a list element; packed elements take as little as one byte each."""
TEXT = 64
PER_BYTE = 4
SHORTEST = 2
"""Minimum size of a nested message: its tag and its length."""

VARINT, FIXED64, LENGTH, START_GROUP, END_GROUP, FIXED32 = range(6)
UNPACKED = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)

OneMessage = TypeVar("OneMessage", bound=Message)


class ProtobufValues:
    """Made once for each message class."""

    def __init__(self, kind: type[Message], *, most: int = LARGEST_DECODED) -> None:
        # There are several implementations with the same attributes.
        self._root = cast(Descriptor, kind.DESCRIPTOR)
        self._most = most
        self._memory = _memory_of_types(self._root)
        self._growth = max(max(self._memory.values()) / SHORTEST, ELEMENT)

    def decode(self, message: OneMessage, data: bytes) -> OneMessage:
        """The message with these bytes. Raises DecodingLimit before it takes memory, DecodeError for invalid bytes."""
        if self._memory[self._root.full_name] + self._growth * len(data) > self._most:
            self._walk(data)
        try:
            message.MergeFromString(data)
        except DecodeError:
            # The library does not distinguish excessive nesting from invalid bytes.
            self._walk(data)
            raise
        return message

    def _walk(self, data: bytes) -> None:
        """Charge the memory of all parts of the message. Invalid bytes are left to the library."""
        budget = Budget(self._most)
        budget.spend(self._memory[self._root.full_name])
        # Ends and types of the enclosing messages; the type of an unknown group is unknown too.
        around: list[tuple[int, Descriptor | None]] = []
        end, at = len(data), 0
        kind: Descriptor | None = self._root
        while True:
            while at >= end:
                if not around:
                    return
                end, kind = around.pop()
            tag, at = _varint(data, at)
            field = None if kind is None else kind.fields_by_number.get(tag >> 3)
            wire = tag & 7
            if wire in (VARINT, FIXED64, FIXED32):
                budget.spend(ELEMENT)
                at = _varint(data, at)[1] if wire == VARINT else at + (8 if wire == FIXED64 else 4)
            elif wire == LENGTH:
                size, at = _varint(data, at)
                if field is None or field.message_type is None:
                    is_packed = field is not None and field.type not in UNPACKED
                    budget.spend(size * ELEMENT if is_packed else TEXT + size * PER_BYTE)
                    at += size
                else:
                    around.append((end, kind))
                    end, kind = min(at + size, end), field.message_type
                    budget.spend(self._memory[kind.full_name])
            elif wire == START_GROUP:
                around.append((end, kind))
                kind = None if field is None else field.message_type
                budget.spend(ELEMENT if kind is None else self._memory[kind.full_name])
            elif wire == END_GROUP and around:
                end, kind = around.pop()
            else:
                return
            if len(around) > DEEPEST:
                raise too_deep("messages")


def _memory_of_types(root: Descriptor) -> dict[str, int]:
    """Memory of each message type reachable from the root, without the messages nested in it."""
    found: dict[str, int] = {}
    waiting = [root]
    while waiting:
        kind = waiting.pop()
        if kind.full_name in found:
            continue
        found[kind.full_name] = _own_memory(kind)
        inner = [field.message_type for field in kind.fields if field.message_type is not None]
        if kind.GetOptions().map_entry:
            # The value of a map entry is created even if it is absent in the bytes.
            found[kind.full_name] += sum(map(_own_memory, inner))
        waiting += inner
    return found


def _own_memory(kind: Descriptor) -> int:
    return MESSAGE + FIELD * len(kind.fields)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number and the position after it; a truncated one ends behind the data."""
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    return 0, len(data)
