"""Payload checks against a schema, for each format."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from goqueue.codec.values.avro import AvroValues
from goqueue.codec.values.json import check_json
from goqueue.core.schemas.avro.types import AvroSchema
from goqueue.core.schemas.avro.writing import whole
from goqueue.core.schemas.json_schema.format import JsonSchema
from goqueue.core.schemas.json_schema.quick import quick_check
from goqueue.core.schemas.payloads import Payloads, Problem
from goqueue.core.schemas.protobuf.framing import message_name
from goqueue.core.schemas.protobuf.payload import MessageReader
from goqueue.core.schemas.protobuf.schema import ProtobufSchema
from goqueue.errors import DecodingLimit, InvalidRecord, SchemaMismatch
from goqueue.wire.framed_values import read_message_path

__all__ = ["checks_of"]

MOST_CHARACTERS = 500
"""Maximum length of a reason: some quote the value."""


def checks_of(parsed: Any) -> Payloads:
    """`parsed` is the result of parsing a schema."""
    match parsed:
        case AvroSchema():
            return _AvroPayloads(parsed)
        case ProtobufSchema():
            return _ProtobufPayloads(parsed)
        case JsonSchema():
            return _JsonPayloads(parsed)
    raise AssertionError(f"no payloads of {type(parsed)}")


class _AvroPayloads:
    def __init__(self, schema: AvroSchema) -> None:
        self._check = AvroValues(whole(schema)).check
        self._schema = schema
        self._large: AvroValues | None = None
        # Serializers write these without the length prefix that bytes have elsewhere.
        self._is_plain_bytes = schema.root.kind == "bytes"

    def fit(self, payloads: Sequence[bytes]) -> bool:
        return all(self.problem(payload) is None for payload in payloads)

    def problem(self, payload: bytes) -> Problem | None:
        return self._problem(self._check, payload)

    def problem_of_large(self, payload: bytes) -> Problem | None:
        # A check counts what it has seen, so one in use cannot be shared between payloads.
        if self._large is None:
            self._large = AvroValues(whole(self._schema))
        return self._problem(self._large.check, payload)

    def _problem(self, check: Callable[[bytes], None], payload: bytes) -> Problem | None:
        if self._is_plain_bytes:
            return None
        try:
            check(payload)
        except SchemaMismatch as reason:
            return Problem(reason.path, reason.message)
        return None


class _ProtobufPayloads:
    def __init__(self, schema: ProtobufSchema) -> None:
        self._schema = schema
        self._reader = MessageReader(schema)
        self._first = message_name(schema, (0,)) if schema.file.message_type else None

    def fit(self, payloads: Sequence[bytes]) -> bool:
        return all(self.problem(payload) is None for payload in payloads)

    def problem(self, payload: bytes) -> Problem | None:
        try:
            if payload[:1] == b"\0" and self._first is not None:
                name, start = self._first, 1
            else:
                indexes, start = read_message_path(payload, 0)
                name = message_name(self._schema, indexes)
            found = self._reader.problem(name, payload[start:])
        except InvalidRecord as refusal:
            return Problem("", refusal.message)
        return None if found is None else Problem("", found[:MOST_CHARACTERS])

    problem_of_large = problem


class _JsonPayloads:
    def __init__(self, schema: JsonSchema) -> None:
        self._schema = schema
        self._decode = msgspec.json.Decoder().decode
        self._is_valid = schema.validator.is_valid
        self._fits = quick_check(schema.document)

    def fit(self, payloads: Sequence[bytes]) -> bool:
        try:
            for payload in payloads:
                check_json(payload)
            if self._fits is not None and all(map(self._fits, payloads)):
                return True
            return all(map(self._is_valid, map(self._decode, payloads)))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError, DecodingLimit):
            return False

    def problem(self, payload: bytes) -> Problem | None:
        try:
            check_json(payload)
        except DecodingLimit as reason:
            return Problem("", reason.message)
        found = self._schema.violation(payload)
        return None if found is None else Problem(found.path, found.message[:MOST_CHARACTERS])

    def problem_of_large(self, payload: bytes) -> Problem | None:
        return None if self.fit([payload]) else self.problem(payload)
