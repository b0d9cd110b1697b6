"""A schema registry for programs with an event loop: the same calls, to be awaited."""

import asyncio
from collections.abc import Mapping
from typing import Any

from goqueue.client.schemas import registry as blocking_registry
from goqueue.client.schemas.registry import DEFAULT_REGISTRY, Compatibility
from goqueue.client.schemas.schema import Schema, Version

__all__ = ["Registry"]


class Registry:
    """Nothing has to be closed. What is asked for the first time is asked for in a thread.

    registry = Registry("http://127.0.0.1:8080/schemas")
    schema_id = await registry.register("orders-value", Schema(text))
    """

    def __init__(
        self,
        url: str = DEFAULT_REGISTRY,
        *,
        timeout_s: float = 10.0,
        retries: int = 3,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._blocking = blocking_registry.Registry(url, timeout_s=timeout_s, retries=retries, headers=headers)

    @property
    def blocking(self) -> blocking_registry.Registry:
        """The same, with what it knows, for calls that block."""
        return self._blocking

    @property
    def url(self) -> str:
        return self._blocking.url

    async def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> int:
        """The id of the schema, which is registered under the subject unless it is there."""
        return await asyncio.to_thread(self._blocking.register, subject, schema, normalize=normalize)

    async def look_up(self, subject: str, schema: Schema, *, normalize: bool = False) -> Version:
        """The version as which the subject has the schema."""
        return await asyncio.to_thread(self._blocking.look_up, subject, schema, normalize=normalize)

    async def schema(self, schema_id: int, *, serialized: bool = False) -> Schema:
        """The schema with this id; one of Protobuf `serialized` is its descriptor in base64."""
        return await asyncio.to_thread(self._blocking.schema, schema_id, serialized=serialized)

    async def version(self, subject: str, version: int | None = None, *, deleted: bool = False) -> Version:
        """A version of a subject; the latest, which is asked for each time, if none is named."""
        return await asyncio.to_thread(self._blocking.version, subject, version, deleted=deleted)

    async def places(self, schema_id: int) -> list[tuple[str, int]]:
        """Subjects and versions that have the schema."""
        return await asyncio.to_thread(self._blocking.places, schema_id)

    async def referenced_by(self, subject: str, version: int) -> list[int]:
        """Ids of the schemas that refer to a version."""
        return await asyncio.to_thread(self._blocking.referenced_by, subject, version)

    async def stats(self) -> dict[str, Any]:
        """How much there is in a registry of GoQueue; others have no such answer."""
        return await asyncio.to_thread(self._blocking.stats)

    async def subjects(self, *, prefix: str = "", deleted: bool = False) -> list[str]:
        return await asyncio.to_thread(self._blocking.subjects, prefix=prefix, deleted=deleted)

    async def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        return await asyncio.to_thread(self._blocking.versions, subject, deleted=deleted)

    async def latest(
        self, *, prefix: str = "", deleted: bool = False, offset: int = 0, limit: int = 1000
    ) -> list[Version]:
        """The latest version of each subject, by pages."""
        return await asyncio.to_thread(
            self._blocking.latest, prefix=prefix, deleted=deleted, offset=offset, limit=limit
        )

    async def check(
        self, subject: str, schema: Schema, *, version: int | None = None, normalize: bool = False
    ) -> Compatibility:
        """Whether the schema could be registered now; with a version, as if that were the only one before it."""
        return await asyncio.to_thread(self._blocking.check, subject, schema, version=version, normalize=normalize)

    async def delete(self, subject: str, version: int | None = None, *, permanent: bool = False) -> list[int]:
        """Versions that are gone: one, or all. Only what has been deleted can be deleted permanently."""
        return await asyncio.to_thread(self._blocking.delete, subject, version, permanent=permanent)

    async def config(self, subject: str | None = None, *, in_effect: bool = True) -> dict[str, Any]:
        """Compatibility level and normalization, of a subject or of all; `in_effect` also if it is the global one."""
        return await asyncio.to_thread(self._blocking.config, subject, in_effect=in_effect)

    async def set_config(
        self, subject: str | None = None, *, compatibility: str | None = None, normalize: bool | None = None
    ) -> None:
        """What is left out stays as it is."""
        await asyncio.to_thread(self._blocking.set_config, subject, compatibility=compatibility, normalize=normalize)

    async def reset_config(self, subject: str | None = None) -> None:
        await asyncio.to_thread(self._blocking.reset_config, subject)

    async def mode(self, subject: str | None = None, *, in_effect: bool = True) -> str:
        return await asyncio.to_thread(self._blocking.mode, subject, in_effect=in_effect)

    async def set_mode(self, mode: str, subject: str | None = None, *, force: bool = False) -> None:
        await asyncio.to_thread(self._blocking.set_mode, mode, subject, force=force)

    async def reset_mode(self, subject: str | None = None) -> None:
        await asyncio.to_thread(self._blocking.reset_mode, subject)
