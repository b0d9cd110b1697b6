"""The bytes before a value: zero, the id of its schema in four bytes, and for Protobuf the path to its message.

The path is how many indexes there are, and the indexes, all as zigzag varints; a nested message is counted within its
parent. That of a file's first message, `[0]`, is written as a single zero byte.
"""

from collections.abc import Sequence

from goqueue.errors import SchemaMismatch

__all__ = ["HEAD_BYTES", "frame_head", "message_path", "read_message_path", "schema_id_of"]

HEAD_BYTES = 5
DEEPEST_NESTING = 64
"""protoc refuses messages that are nested more than 32 deep."""
LARGEST_INDEX = (1 << 31) - 1


def frame_head(schema_id: int) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big")


def schema_id_of(data: bytes) -> int:
    if len(data) < HEAD_BYTES or data[0] != 0:
        raise SchemaMismatch(
            "the value does not begin with a zero byte and the id of a schema",
            hint="read it as it is: it was written without a schema",
        )
    return int.from_bytes(data[1:HEAD_BYTES], "big")


def message_path(indexes: Sequence[int]) -> bytes:
    if tuple(indexes) == (0,):
        return b"\x00"
    return b"".join(_varint(number) for number in (len(indexes), *indexes))


def read_message_path(data: bytes, start: int = HEAD_BYTES) -> tuple[tuple[int, ...], int]:
    """The path that begins at `start`, and where the message begins behind it."""
    count, position = _read_varint(data, start)
    if count == 0:
        return (0,), position
    if not 0 < count <= DEEPEST_NESTING:
        raise SchemaMismatch(f"the path to the message has {count} indexes", hint=f"it has 1 to {DEEPEST_NESTING}")
    indexes = []
    for _ in range(count):
        index, position = _read_varint(data, position)
        indexes.append(index)
    return tuple(indexes), position


def _varint(number: int) -> bytes:
    rest = number << 1
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 35, 7):
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            value = number >> 1 ^ -(number & 1)
            if not 0 <= value <= LARGEST_INDEX:
                break
            return value, position
    raise SchemaMismatch(
        f"the path to the message is cut off or damaged at byte {position}", hint="its producer wrote it like that"
    )
