"""Create, look at and remove topics and groups."""

from collections.abc import Iterable, Sequence
from typing import Literal, Self

import msgspec

from goqueue.client.link import DEFAULT_BOOTSTRAP, Link
from goqueue.model.log import LogId
from goqueue.model.topic import Topic, TopicConfig, WantedConfig
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["Admin"]


class Admin:
    """Use as an async context manager."""

    def __init__(self, bootstrap: str = DEFAULT_BOOTSTRAP) -> None:
        self._link = Link(bootstrap)

    async def __aenter__(self) -> Self:
        await self._link.connection()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._link.close()

    # Topics.

    async def topics(self) -> tuple[Topic, ...]:
        return (await self._link.ask(Opcode.METADATA, messages.Metadata(), messages.MetadataReply)).topics

    async def topic(self, name: str) -> Topic:
        reply = await self._link.ask(Opcode.METADATA, messages.Metadata((name,)), messages.MetadataReply)
        return reply.topics[0]

    async def create_topic(self, name: str, partitions: int = 3, config: TopicConfig | None = None) -> Topic:
        request = messages.CreateTopic(name, partitions, WantedConfig.of(config or TopicConfig()))
        return (await self._link.ask(Opcode.CREATE_TOPIC, request, messages.TopicReply)).topic

    async def alter_topic(self, name: str, config: TopicConfig) -> Topic:
        """Replace the settings of a topic, all that this client knows of."""
        request = messages.AlterTopic(name, msgspec.to_builtins(config))
        return (await self._link.ask(Opcode.ALTER_TOPIC, request, messages.TopicReply)).topic

    async def delete_topic(self, name: str) -> None:
        await self._link.ask(Opcode.DELETE_TOPIC, messages.DeleteTopic(name), messages.Done)

    async def offsets_at(
        self, partitions: Iterable[LogId], at: Literal["earliest", "latest"] | int
    ) -> dict[LogId, int]:
        """The earliest or latest offset of each, or the first whose record is not older than a time in ns."""
        questions = tuple(messages.OffsetQuestion(log.topic, log.partition, at) for log in partitions)
        if not questions:
            return {}
        reply = await self._link.ask(Opcode.LIST_OFFSETS, messages.ListOffsets(questions), messages.Offsets)
        return {LogId(one.topic, one.partition): one.offset for one in reply.answers}

    # Groups.

    async def list_groups(self) -> tuple[messages.GroupSummary, ...]:
        return (await self._link.ask(Opcode.LIST_GROUPS, messages.ListGroups(), messages.GroupList)).groups

    async def describe_group(self, name: str) -> messages.GroupDescription:
        """Its members, and for each partition who reads it, how far, and how much is left."""
        return await self._link.ask(Opcode.DESCRIBE_GROUP, messages.DescribeGroup(name), messages.GroupDescription)

    async def delete_group(self, name: str) -> None:
        """Forget a group and its offsets; it must have no members."""
        await self._link.ask(Opcode.DELETE_GROUP, messages.DeleteGroup(name), messages.Done)

    async def pause_group(self, name: str) -> None:
        """Deliver nothing to the group's members until `resume_group`; they stay members."""
        await self._link.ask(Opcode.PAUSE_GROUP, messages.PauseGroup(name, True), messages.Done)

    async def resume_group(self, name: str) -> None:
        await self._link.ask(Opcode.PAUSE_GROUP, messages.PauseGroup(name, False), messages.Done)

    async def committed_offsets(self, group: str, topics: Sequence[str] | None = None) -> dict[LogId, int]:
        """Where the group goes on, in the partitions where it has committed something."""
        request = messages.FetchOffsets(group, None if topics is None else tuple(topics))
        reply = await self._link.ask(Opcode.FETCH_OFFSETS, request, messages.OffsetsReply)
        return {LogId(one.topic, one.partition): one.offset for one in reply.offsets}

    async def reset_offsets(
        self,
        group: str,
        to: Literal["earliest", "latest", "offset", "timestamp"],
        value: int | None = None,
        *,
        topics: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> tuple[messages.OffsetChange, ...]:
        """Set where the group goes on, in these topics or in all it has read; it must have no members.

        `value` is the offset, or the time in nanoseconds. With `dry_run` nothing changes.
        """
        request = messages.ResetOffsets(group, to, value, None if topics is None else tuple(topics), dry_run)
        return (await self._link.ask(Opcode.RESET_OFFSETS, request, messages.ResetReply)).changes
