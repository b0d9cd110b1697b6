"""What serializers of all formats have in common: they find the id of their schema once per topic, and put it first."""

import asyncio
from abc import ABC, abstractmethod
from typing import Any, Protocol

from goqueue.client.schemas.keeping import Kept
from goqueue.client.schemas.registry import Registry
from goqueue.client.schemas.schema import Schema, SubjectStrategy
from goqueue.errors import SchemaMismatch
from goqueue.wire.framed_values import frame_head

__all__ = ["AsyncEncoding", "BlockingEncoding", "HasRegistry", "Writer"]

MOST_TOPICS = 1000


class HasRegistry(Protocol):
    """A registry, that of asyncio or the other one."""

    @property
    def blocking(self) -> Registry: ...


class Writer(ABC):
    """Of one format. `head` may have to ask the registry; everything else is done where it is called."""

    def __init__(
        self, registry: HasRegistry, subject_strategy: SubjectStrategy, *, auto_register: bool, normalize: bool
    ) -> None:
        self._registry = registry.blocking
        self._subject_of = subject_strategy
        self._auto_register = auto_register
        self._normalize = normalize
        self._heads: Kept[bytes] = Kept(MOST_TOPICS)

    @abstractmethod
    def _schema(self) -> Schema:
        """The schema to register or to look up."""

    @abstractmethod
    def _body(self, value: Any) -> bytes:
        """The value, checked, in its format. Raises SchemaMismatch."""

    def _before(self) -> None:  # noqa: B027
        """Ask for whatever it takes to check values; called once before the first of each topic."""

    def _path(self) -> bytes:
        """What comes between the id and the value."""
        return b""

    def _head(self, topic: str) -> bytes:
        return self._heads.get(topic, lambda: self._ask_head(topic))

    def _ask_head(self, topic: str) -> bytes:
        self._before()
        return frame_head(self._id_in(self._subject_of(topic), self._schema())) + self._path()

    def _id_in(self, subject: str, schema: Schema) -> int:
        if self._auto_register:
            return self._registry.register(subject, schema, normalize=self._normalize)
        return self._registry.look_up(subject, schema, normalize=self._normalize).id

    def _framed(self, topic: str, head: bytes, value: Any) -> bytes:
        try:
            return head + self._body(value)
        except SchemaMismatch as error:
            number = int.from_bytes(head[1:5], "big")
            error.message = f"{topic}, schema {number} of {self._subject_of(topic)}: {error.message}"
            error.args = (error.message,)
            raise


class AsyncEncoding(Writer):
    async def encode(self, topic: str, value: Any) -> bytes | None:
        """The bytes to send to the topic; None, which deletes a key, stays None."""
        if value is None:
            return None
        head = self._heads.known(topic)
        if head is None:
            head = await asyncio.to_thread(self._head, topic)
        return self._framed(topic, head, value)


class BlockingEncoding(Writer):
    def encode(self, topic: str, value: Any) -> bytes | None:
        """The bytes to send to the topic; None, which deletes a key, stays None."""
        if value is None:
            return None
        return self._framed(topic, self._heads.known(topic) or self._head(topic), value)
