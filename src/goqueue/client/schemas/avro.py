"""Values in Avro: checked against their schema when they are written, read into the schema of the reader."""

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from threading import Lock
from typing import Any

import fastavro
from fastavro import repository
from fastavro.schema import SchemaParseException, load_schema
from fastavro.validation import ValidationError, validate

from goqueue.client.schemas.avro_paths import mismatch
from goqueue.client.schemas.deserializing import Read, Reader
from goqueue.client.schemas.references import texts_referred_to
from goqueue.client.schemas.registry import Registry
from goqueue.client.schemas.schema import AVRO, Schema, SubjectStrategy, schema_of, topic_value
from goqueue.client.schemas.serializing import HasRegistry, Writer
from goqueue.codec.values.avro import AvroValues, heaviest_record
from goqueue.errors import InvalidSchema, SchemaMismatch
from goqueue.wire.framed_values import HEAD_BYTES

__all__ = ["AvroReader", "AvroWriter", "parsed"]

GivenSchema = Schema | str | Mapping[str, Any] | Sequence[Any]

ROOT = "$root"
PLAIN_BYTES = ("bytes", {"type": "bytes"})
"""Confluent's serializers write these as they are, without a length."""


class AvroWriter(Writer):
    def __init__(
        self,
        registry: HasRegistry,
        schema: GivenSchema,
        *,
        subject_strategy: SubjectStrategy = topic_value,
        auto_register: bool = True,
        normalize: bool = False,
    ) -> None:
        super().__init__(registry, subject_strategy, auto_register=auto_register, normalize=normalize)
        self._given = schema_of(schema, AVRO)
        self._parsed: Any = None

    def _schema(self) -> Schema:
        return self._given

    def _before(self) -> None:
        if self._parsed is None:
            self._parsed = parsed(self._registry, self._given)

    def _body(self, value: Any) -> bytes:
        if self._parsed in PLAIN_BYTES and isinstance(value, bytes):
            return value
        written = BytesIO()
        try:
            # The writer alone takes 1.5 for an int, and cuts it.
            validate(value, self._parsed, raise_errors=True, strict=False)
            fastavro.schemaless_writer(written, self._parsed, value, strict_allow_default=True)
        except ValidationError as error:
            raise _misfit(error) from error
        except Exception as error:
            # The library lets through whatever a value of the wrong type leads to.
            raise SchemaMismatch(f"the value does not fit: {type(error).__name__} {error}") from error
        return written.getvalue()


class AvroReader(Reader):
    def __init__(self, registry: HasRegistry, schema: GivenSchema | None = None) -> None:
        """With a schema, values come as it says, whichever version they were written with; without, as written."""
        super().__init__(registry, None if schema is None else schema_of(schema, AVRO))

    def _make(self, schema_id: int) -> Read:
        written = self._registry.schema(schema_id)
        if written.type != AVRO:
            raise SchemaMismatch(f"schema {schema_id} is {written.type}, and Avro is read here")
        writer = parsed(self._registry, written)
        reader = None if self._reader_schema is None else parsed(self._registry, self._reader_schema)
        values = AvroValues(writer, record_weight=0 if reader is None else heaviest_record(reader))
        checking = Lock()

        def read(data: bytes) -> Any:
            if writer in PLAIN_BYTES and reader in (None, *PLAIN_BYTES):
                return data[HEAD_BYTES:]
            source = BytesIO(data)
            source.seek(HEAD_BYTES)
            if writer in PLAIN_BYTES:
                source = _with_length(data[HEAD_BYTES:])
            elif values.needs_check(len(data)):
                with checking:
                    values.check(data, HEAD_BYTES)
            size = source.getbuffer().nbytes
            try:
                value = fastavro.schemaless_reader(source, writer, reader)
            except fastavro.read.SchemaResolutionError as error:
                path, why = mismatch(writer, reader) or ("/", str(error))
                raise SchemaMismatch(f"at {path}: {why}", path=path) from error
            except Exception as error:
                # The library lets through whatever bytes of another schema lead to; the check says where they differ.
                if writer not in PLAIN_BYTES:
                    with checking:
                        values.check(data, HEAD_BYTES)
                why = f"{type(error).__name__} {error}".strip()
                raise SchemaMismatch(f"the bytes do not fit the schema they name: {why}") from error
            if source.tell() != size:
                raise SchemaMismatch(f"the value is longer than its schema takes, by {size - source.tell()} bytes")
            return value

        return read


def _with_length(data: bytes) -> BytesIO:
    """As they would stand within a record."""
    written = BytesIO()
    fastavro.schemaless_writer(written, "bytes", data)
    written.seek(0)
    return written


class _Texts(repository.AbstractSchemaRepository):
    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self._schemas = schemas

    def load(self, name: str) -> Any:
        if name not in self._schemas:
            raise repository.SchemaRepositoryError(f"nothing is called {name}")
        return self._schemas[name]


def parsed(registry: Registry, schema: Schema) -> Any:
    """With all that it refers to in its place."""
    texts = texts_referred_to(registry, schema) | {ROOT: schema.text}
    try:
        schemas = {name: json.loads(text) for name, text in texts.items()}
        root = schemas[ROOT]
        if isinstance(root, str):
            schemas[ROOT] = {"type": root}
        return load_schema(ROOT, repo=_Texts(schemas))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InvalidSchema(f"not an Avro schema: {error}") from error
    except (SchemaParseException, repository.SchemaRepositoryError) as error:
        raise InvalidSchema(f"not an Avro schema: {error}") from error


def _misfit(error: ValidationError) -> SchemaMismatch:
    found = error.errors[0] if error.errors else None
    path = "/" + str(getattr(found, "field", "") or "").replace(".", "/")
    return SchemaMismatch(f"at {path}: {found}", path=path)
