"""What deserializers of all formats have in common: they ask for each writer's schema once, and name it in errors."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from goqueue.client.schemas.keeping import Kept
from goqueue.client.schemas.schema import Schema
from goqueue.client.schemas.serializing import HasRegistry
from goqueue.errors import GoQueueError, SchemaMismatch, UnknownSchema
from goqueue.wire.framed_values import schema_id_of

__all__ = ["AsyncDecoding", "BlockingDecoding", "Read", "Reader"]

MOST_SCHEMAS = 1000
MOST_PLACES = 3

Read = Callable[[bytes], Any]
"""Reads a whole value that was written with one schema. Raises SchemaMismatch."""


class Reader(ABC):
    """Of one format. `_reader` may have to ask the registry; what it returns does not."""

    def __init__(self, registry: HasRegistry, reader_schema: Schema | None) -> None:
        self._registry = registry.blocking
        self._reader_schema = reader_schema
        self._reads: Kept[Read] = Kept(MOST_SCHEMAS)
        self._sides: Kept[str] = Kept(MOST_SCHEMAS)

    @abstractmethod
    def _make(self, schema_id: int) -> Read:
        """What reads values that were written with this schema."""

    def _reader(self, schema_id: int) -> Read:
        def ask() -> Read:
            try:
                return self._make(schema_id)
            except UnknownSchema as error:
                raise UnknownSchema(
                    f"the value was written with schema {schema_id}, which the registry at {self._registry.url} "
                    f"does not have: {error.message}",
                    hint="ask the registry that its producer uses",
                ) from None

        return self._reads.get(schema_id, ask)

    def _told(self, schema_id: int, error: SchemaMismatch) -> SchemaMismatch:
        """With the schemas of both sides. Asks the registry, once for each writer's schema."""
        sides = self._sides.get(schema_id, lambda: self._both_sides(schema_id))
        return type(error)(f"{error.message} ({sides})", path=error.path, hint=error.hint)

    def _both_sides(self, schema_id: int) -> str:
        try:
            places = self._registry.places(schema_id)
        except GoQueueError:
            places = []
        named = ", ".join(f"{subject} version {version}" for subject, version in places[:MOST_PLACES])
        if len(places) > MOST_PLACES:
            named += f" and {len(places) - MOST_PLACES} more"
        writer = f"written with schema {schema_id}" + (f", {named}" if named else "")
        if self._reader_schema is None:
            return writer
        return f"{writer}; read with {self._name_of_own([subject for subject, _ in places[:MOST_PLACES]])}"

    def _name_of_own(self, subjects: list[str]) -> str:
        assert self._reader_schema is not None
        for subject in subjects:
            try:
                found = self._registry.look_up(subject, self._reader_schema)
            except GoQueueError:
                continue
            return f"schema {found.id}, {subject} version {found.version}"
        return "a schema that is not registered there"


class AsyncDecoding(Reader):
    async def decode(self, data: bytes | None) -> Any:
        """The value that the bytes of a record stand for; None, a deleted key, stays None."""
        if data is None:
            return None
        schema_id = schema_id_of(data)
        read = self._reads.known(schema_id)
        if read is None:
            read = await asyncio.to_thread(self._reader, schema_id)
        try:
            return read(data)
        except SchemaMismatch as error:
            raise await asyncio.to_thread(self._told, schema_id, error) from error.__cause__


class BlockingDecoding(Reader):
    def decode(self, data: bytes | None) -> Any:
        """The value that the bytes of a record stand for; None, a deleted key, stays None."""
        if data is None:
            return None
        schema_id = schema_id_of(data)
        read = self._reads.known(schema_id) or self._reader(schema_id)
        try:
            return read(data)
        except SchemaMismatch as error:
            raise self._told(schema_id, error) from error.__cause__
