"""Values whose bytes are few or plain, and which decoders must not be handed: for tests of all that decode."""

import json
from typing import Any, NamedTuple

__all__ = ["HOSTILE", "Hostile", "varint"]


class Hostile(NamedTuple):
    name: str
    kind: str
    schema: str
    payload: bytes
    """Without the id in front; for Protobuf with the path."""
    reason: str
    """Part of what is said of it."""


def varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*encoded, number))


def zigzag(number: int) -> bytes:
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields.items()]}


def avro(name: str, schema: Any, payload: bytes, reason: str) -> Hostile:
    return Hostile(name, "AVRO", json.dumps(schema), payload, reason)


def doubling(levels: int) -> dict[str, Any]:
    """A record that takes no bytes and has 10 to the power of `levels` nulls within."""
    kind: Any = "null"
    for level in range(levels):
        fields = {"first": kind} | {f"again{n}": f"R{level - 1}" if level else "null" for n in range(9)}
        kind = record(f"R{level}", **fields)
    return dict(kind)


def nested(times: int, tag: bytes) -> bytes:
    data = b""
    for _ in range(times):
        data = tag + varint(len(data)) + data
    return data


MEMORY = "more than"
DEEP = "nested"
NODE = record("Node", next=["null", "Node"])
TREE = record("Tree", children={"type": "array", "items": "Tree"})
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
WIDE = record("Wide", id="int", **{f"n{number}": "null" for number in range(5000)})
MANY_FIELDS = " ".join(f"int32 field{number} = {number};" for number in range(1, 2001))
PROTO = f"""syntax = "proto3";
message Root {{ repeated Wide wide = 1; Root root = 2; }}
message Wide {{ {MANY_FIELDS} }}
"""

HOSTILE = (
    avro("billions of nulls", {"type": "array", "items": "null"}, bytes.fromhex("80808080804000"), MEMORY),
    avro(
        "billions of nulls in a block with a size",
        {"type": "array", "items": "null"},
        zigzag(-(1 << 40)) + zigzag(0) + b"\0",
        MEMORY,
    ),
    avro(
        "nulls in many blocks",
        {"type": "array", "items": "null"},
        (zigzag(1_000_000) * 10_000) + b"\0",
        MEMORY,
    ),
    avro("empty records", {"type": "array", "items": record("E")}, zigzag(1 << 50) + b"\0", MEMORY),
    avro(
        "fixed of no size",
        {"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}},
        zigzag(1 << 50) + b"\0",
        MEMORY,
    ),
    avro(
        "arrays of nulls in an array",
        {"type": "array", "items": {"type": "array", "items": "null"}},
        zigzag(1000) + (zigzag(1_000_000) + b"\0") * 1000 + b"\0",
        MEMORY,
    ),
    avro("nothing, ten billion times", doubling(10), b"", MEMORY),
    avro(
        "many fields in a byte",
        {"type": "array", "items": WIDE},
        zigzag(3000) + b"\2" * 3000 + b"\0",
        MEMORY,
    ),
    avro("entries that are not there", {"type": "map", "values": "null"}, zigzag(1 << 60), "a block of"),
    avro("a string that is not there", "string", zigzag(1 << 62), "a length of"),
    avro("a string with a negative length", "string", zigzag(-1) + b"x", "a length of"),
    avro("a number without an end", "long", b"\xff" * 5000, "64 bits"),
    avro("records ever deeper", NODE, b"\2" * 100_000 + b"\0", DEEP),
    avro("trees ever deeper", TREE, b"\2" * 100_000 + b"\0" * 100_000, DEEP),
    avro("a long decimal", record("Price", of=DECIMAL), zigzag(100_000) + b"\x7f" * 100_000, "decimal"),
    avro(
        "a long fixed decimal",
        {**DECIMAL, "type": "fixed", "name": "F", "size": 100_000},
        b"\x7f" * 100_000,
        "decimal",
    ),
    Hostile("messages ever deeper", "PROTOBUF", PROTO, b"\0" + nested(5000, b"\x12"), DEEP),
    Hostile("messages with many fields", "PROTOBUF", PROTO, b"\0" + b"\x0a\x00" * 10_000, MEMORY),
    Hostile("a message of another length", "PROTOBUF", PROTO, b"\0\x0a" + varint(1 << 34), "not a message"),
    Hostile("a path of many indexes", "PROTOBUF", PROTO, zigzag(1 << 30), "path"),
    Hostile("arrays ever deeper", "JSON", "{}", b"[" * 100_000 + b"]" * 100_000, DEEP),
    Hostile("objects ever deeper", "JSON", "{}", b'{"a":' * 101 + b"1" + b"}" * 101, DEEP),
    Hostile("depth behind brackets in strings", "JSON", "{}", b'["]]]]]]]]]]",' * 150 + b"1" + b"]" * 150, DEEP),
    Hostile("a number of many digits", "JSON", "{}", b"1" * 100_000, "range"),
)
