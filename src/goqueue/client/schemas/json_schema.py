"""Values in JSON with a JSON schema: checked on both ways."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

import jsonschema_rs

from goqueue.client.schemas.deserializing import Read, Reader
from goqueue.client.schemas.references import texts_referred_to
from goqueue.client.schemas.registry import Registry
from goqueue.client.schemas.schema import JSON, Schema, SubjectStrategy, schema_of, topic_value
from goqueue.client.schemas.serializing import HasRegistry, Writer
from goqueue.codec.values.json import check_json
from goqueue.errors import InvalidSchema, SchemaMismatch
from goqueue.wire.framed_values import HEAD_BYTES

__all__ = ["JsonReader", "JsonWriter"]

UNNAMED_BASE = "json-schema:///"
"""What the validator puts before references of a schema that has no address of its own."""


class JsonWriter(Writer):
    def __init__(
        self,
        registry: HasRegistry,
        schema: Schema | str | Mapping[str, Any],
        *,
        subject_strategy: SubjectStrategy = topic_value,
        auto_register: bool = True,
        normalize: bool = False,
    ) -> None:
        super().__init__(registry, subject_strategy, auto_register=auto_register, normalize=normalize)
        self._given = schema_of(schema, JSON)
        self._check: Check | None = None

    def _schema(self) -> Schema:
        return self._given

    def _before(self) -> None:
        if self._check is None:
            self._check = Check(self._registry, self._given)

    def _body(self, value: Any) -> bytes:
        assert self._check is not None
        try:
            text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise SchemaMismatch(f"the value cannot be written in JSON: {error}") from error
        self._check(value)
        return text


class JsonReader(Reader):
    def __init__(self, registry: HasRegistry, schema: Schema | str | Mapping[str, Any] | None = None) -> None:
        super().__init__(registry, None if schema is None else schema_of(schema, JSON))

    def _make(self, schema_id: int) -> Read:
        written = self._registry.schema(schema_id)
        if written.type != JSON:
            raise SchemaMismatch(f"schema {schema_id} is {written.type}, and JSON is read here")
        check = Check(self._registry, self._reader_schema or written)

        def read(data: bytes) -> Any:
            check_json(data)
            try:
                value = json.loads(data[HEAD_BYTES:], parse_constant=_no_number)
            except (ValueError, RecursionError) as error:
                raise SchemaMismatch(f"the value is not JSON: {error}") from error
            check(value)
            return value

        return read


class Check:
    """Whether values are what a schema says; made once, since that takes a while."""

    def __init__(self, registry: Registry, schema: Schema) -> None:
        texts = texts_referred_to(registry, schema)

        def retrieve(uri: str) -> Any:
            text = texts.get(uri, texts.get(uri.removeprefix(UNNAMED_BASE)))
            if text is None:
                raise KeyError(f"{uri} is not among the references of the schema")
            return json.loads(text)

        try:
            self._validator = jsonschema_rs.validator_for(json.loads(schema.text), retriever=retrieve)
        except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
            raise InvalidSchema(f"not a JSON schema: {error}") from error

    def __call__(self, value: Any) -> None:
        try:
            # Not iter_errors, which makes an error of each part that does not fit before it gives the first.
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            path = "/" + "/".join(map(str, error.instance_path))
            raise SchemaMismatch(f"at {path}: {error.message}", path=path) from None
        except ValueError as unusual:
            raise SchemaMismatch(f"the value is no JSON: {unusual}") from unusual


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")
