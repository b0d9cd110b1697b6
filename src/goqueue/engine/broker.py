"""The broker: opens storage, brings state machines to where they were, and holds them for the use cases."""

import asyncio
import itertools
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import Self, cast

import msgspec

from goqueue.core.catalog.catalog import Catalog
from goqueue.core.catalog.events import CatalogEvent
from goqueue.core.groups.registry import GroupChange, Groups
from goqueue.core.groups.state.snapshot import GroupSnapshot
from goqueue.core.ids.events import IdEvent, KnownIds
from goqueue.core.partition.space import DiskGuard
from goqueue.core.producers.identities import IdentityGiven, KnownIdentities, ProducerIdentities
from goqueue.core.producers.window import BatchWritten, ProducerWindow
from goqueue.engine.group_commit import GroupCommit
from goqueue.engine.group_news import GroupNews
from goqueue.engine.partition import Partition, producers_stream
from goqueue.engine.ports import Clock, Entropy, IdIndex, Storage
from goqueue.engine.remembered_ids import IDS, RememberedIds
from goqueue.engine.streams import Kind, Streams
from goqueue.errors import UnknownPartition, UnknownTopic
from goqueue.model.log import LogId
from goqueue.model.topic import Topic, TopicName

__all__ = ["CATALOG", "GROUPS", "PRODUCER_IDS", "Broker"]

CATALOG = "catalog"
GROUPS = "groups"
PRODUCER_IDS = "producer-ids"
READERS = 4
BACKGROUND = 3
"""For checkpoints, for the index of ids, and for compaction, which takes long and must not delay the others."""


class Broker:
    """State and the means to change it; use cases are functions over it. Use as an async context manager."""

    def __init__(self, storage: Storage, clock: Clock, entropy: Entropy, id_index: IdIndex) -> None:
        self.storage = storage
        self.clock = clock
        self.entropy = entropy
        self.catalog = Catalog()
        self.catalog_turn = asyncio.Lock()
        self.producer_ids = ProducerIdentities()
        self.groups = Groups()
        self.group_news = GroupNews()
        self.guard = DiskGuard()
        self.fetch_turns = itertools.count()
        self.streams = Streams(
            (
                Kind(CATALOG, _decoder(CatalogEvent), _decoder(tuple[Topic, ...]), lambda _: self.catalog),
                Kind(GROUPS, _decoder(GroupChange), _decoder(tuple[GroupSnapshot, ...]), lambda _: self.groups),
                Kind(PRODUCER_IDS, _decoder(IdentityGiven), _decoder(KnownIdentities), lambda _: self.producer_ids),
                Kind(
                    producers_stream(),
                    _decoder(BatchWritten),
                    _decoder(tuple[BatchWritten, ...]),
                    lambda _: ProducerWindow(),
                ),
                Kind(IDS, _decoder(IdEvent), _decoder(KnownIds), lambda _: self.ids.recent),
            )
        )
        self.ids = RememberedIds(id_index, self.streams)
        self.commit: GroupCommit
        self.readers: ThreadPoolExecutor
        self.background: ThreadPoolExecutor
        self._partitions: dict[TopicName, tuple[Partition, ...]] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            self.storage.open(self.streams)
            self.groups.start_sessions(now=self.clock.now_ns())
            stack.callback(self.storage.close)
            stack.callback(self.ids.index.close)
            self.ids.open()
            writer, syncer = (stack.enter_context(ThreadPoolExecutor(1, name)) for name in ("gq-write", "gq-sync"))
            self.background = stack.enter_context(ThreadPoolExecutor(BACKGROUND, "gq-background"))
            self.readers = stack.enter_context(ThreadPoolExecutor(READERS, "gq-read"))
            self.commit = GroupCommit(self.storage, writer, syncer)
            stack.push_async_callback(self.commit.drain)
            for topic in self.catalog:
                self.open_partitions(topic)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def open_partitions(self, topic: Topic) -> None:
        self._partitions[topic.name] = tuple(
            self._open_partition(LogId(topic.name, number)) for number in range(topic.partitions)
        )

    def _open_partition(self, log: LogId) -> Partition:
        producers = cast(ProducerWindow, self.streams.machine(producers_stream(log)))
        return Partition(log, self.storage.log(log), self.commit, self.clock, self.streams, producers)

    def close_partitions(self, name: TopicName) -> None:
        for partition in self._partitions.pop(name):
            self.streams.remove(producers_stream(partition.id))

    def partitions(self, name: TopicName) -> tuple[Partition, ...]:
        try:
            return self._partitions[name]
        except KeyError:
            raise UnknownTopic(f"there is no topic {name}") from None

    def partition(self, name: TopicName, number: int) -> Partition:
        partitions = self.partitions(name)
        if not 0 <= number < len(partitions):
            raise UnknownPartition(f"{name} has partitions 0 to {len(partitions) - 1}, not {number}")
        return partitions[number]


def _decoder(kind: object) -> "msgspec.msgpack.Decoder[object]":
    return msgspec.msgpack.Decoder(kind)
