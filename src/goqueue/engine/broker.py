"""Broker: opens storage, recovers the state machines and holds them for the use cases."""

import asyncio
import itertools
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import partial
from typing import Self, cast

from goqueue.core.catalog.catalog import Catalog
from goqueue.core.delay.delays import Delays
from goqueue.core.delivery.delivery import Delivery
from goqueue.core.delivery.group_policies import GroupPolicies
from goqueue.core.groups.registry import Groups
from goqueue.core.ids.recent import RecentIds
from goqueue.core.priority.lane_index import LaneIndex
from goqueue.core.producers.window import ProducerWindow
from goqueue.core.schedules.schedules import Schedules
from goqueue.core.schemas.registry import Registry
from goqueue.core.transactions.coordinator import Coordinator
from goqueue.core.transactions.outcomes import Outcomes
from goqueue.engine.alarm import DelayAlarm
from goqueue.engine.group_commit import GroupCommit
from goqueue.engine.group_news import GroupNews
from goqueue.engine.intake import Intake
from goqueue.engine.kinds import broker_kinds
from goqueue.engine.partition import (
    PARTITION_STREAMS,
    Partition,
    delays_stream,
    lanes_stream,
    outcomes_stream,
    producers_stream,
)
from goqueue.engine.ports import Clock, CompileProto, Entropy, IdIndex, Storage
from goqueue.engine.queue.blocks import Blocks
from goqueue.engine.queue.breakers import Breakers
from goqueue.engine.queue.lane_runs import LaneRuns
from goqueue.engine.queue.lease_watch import LeaseWatch
from goqueue.engine.queue.receipts import KEY_BYTES, ReceiptKey, ReceiptKeyGiven
from goqueue.engine.queue.ring import Rings
from goqueue.engine.queue.states import DELIVERIES, QueueStates
from goqueue.engine.remembered_ids import IDS, RememberedIds
from goqueue.engine.schemas.formats import no_protoc, schema_formats
from goqueue.engine.state_log import StateLog
from goqueue.engine.stream_names import (
    CATALOG,
    COORDINATOR,
    GROUPS,
    POLICIES,
    PRODUCER_IDS,
    RECEIPTS,
    SCHEDULES,
    SCHEMAS,
)
from goqueue.engine.streams import Machine, Streams
from goqueue.engine.syncer import Syncer
from goqueue.engine.tally import Tallies
from goqueue.engine.timers import Timers
from goqueue.engine.tracing.policy import TracingSettings
from goqueue.engine.tracing.tracing import Tracing
from goqueue.engine.traffic import Traffic
from goqueue.engine.transactions.under_way import Endings
from goqueue.engine.visibility import is_waiting
from goqueue.engine.workers import Workers
from goqueue.model.idle_retention import ExpirySettings
from goqueue.model.log import LogId
from goqueue.model.topic import Topic, TopicName

__all__ = ["Broker"]

READERS = 4
BACKGROUND = 3
"""Threads for checkpoints, the id index and compaction, which is slow and must not delay the others."""
PARSERS = 2
"""Threads for schemas, some of which take a second to parse."""


class Broker(Intake):
    """State and the means to change it; use cases are functions over it. Use as an async context manager."""

    def __init__(
        self,
        storage: Storage,
        clock: Clock,
        entropy: Entropy,
        id_index: IdIndex,
        compile_proto: CompileProto = no_protoc,
        tracing: TracingSettings | None = None,
        expiry: ExpirySettings | None = None,
    ) -> None:
        self.schemas = Registry(schema_formats(compile_proto))
        super().__init__(clock, Tracing(clock, tracing), self.schemas)
        self.expiry = expiry or ExpirySettings()
        self.storage = storage
        self.entropy = entropy
        self.tally = Tallies()
        self.traffic = Traffic(clock)
        self.recovery_ns = 0
        """Duration of the recovery."""
        self.catalog = Catalog()
        self.groups = Groups()
        self.schedules = Schedules()
        self.transactions = Coordinator()
        self.group_news = GroupNews()
        self.receipts = ReceiptKey()
        self.timers = Timers(clock)
        self.alarm = DelayAlarm(self.timers)
        self.breakers = Breakers()
        self.blocks = Blocks()
        self.lane_runs = LaneRuns()
        self.policies = GroupPolicies()
        self.endings = Endings()
        self.fetch_turns = itertools.count()
        recent_ids = RecentIds()
        machines: dict[str, Machine] = {
            CATALOG: self.catalog,
            COORDINATOR: self.transactions,
            GROUPS: self.groups,
            IDS: recent_ids,
            POLICIES: self.policies,
            PRODUCER_IDS: self.producer_ids,
            RECEIPTS: self.receipts,
            SCHEDULES: self.schedules,
            SCHEMAS: self.schemas,
        }
        self.streams = Streams(broker_kinds(machines, self._make_delivery))
        self.state_log = StateLog(self.streams)
        self.ids = RememberedIds(recent_ids, id_index, self.state_log)
        self.queues = QueueStates(self.state_log, self.tally, LeaseWatch(self.timers.set))
        self.rings = Rings(self.queues)
        self.workers = Workers(self.queues, clock.now_ns)
        self.commit: GroupCommit
        self.readers: ThreadPoolExecutor
        self.background: ThreadPoolExecutor
        self.parsers: ThreadPoolExecutor
        self.checking_large_value = asyncio.Lock()
        """One large value at a time: the other parser threads stay free, and a stopping broker waits for one value
        only."""
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            began = self.clock.now_ns()
            self.storage.open(self.streams)
            self.recovery_ns = self.clock.now_ns() - began
            self.groups.start_sessions(now=self.clock.now_ns())
            stack.callback(self.storage.close)
            stack.callback(self.ids.index.close)
            self.ids.open()
            writer = stack.enter_context(ThreadPoolExecutor(1, "gq-write"))
            syncer = stack.enter_context(Syncer(self.storage, self.clock))
            self.background = stack.enter_context(ThreadPoolExecutor(BACKGROUND, "gq-background"))
            self.parsers = stack.enter_context(ThreadPoolExecutor(PARSERS, "gq-schema"))
            self.readers = stack.enter_context(ThreadPoolExecutor(READERS, "gq-read"))
            self.commit = self.state_log.commit = GroupCommit(self.storage, writer, syncer)
            stack.push_async_callback(self.commit.drain)
            stack.push_async_callback(self.queues.drain)
            for topic in self.catalog:
                self.open_partitions(topic)
            self.queues.recovered()
            self._wake_recovered()
            self._find_left_over()
            if not self.receipts.is_known:
                await self._make_receipt_key()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def open_partitions(self, topic: Topic) -> None:
        opened = (self._open_partition(topic, LogId(topic.name, number)) for number in range(topic.partitions))
        self.opened.add(topic.name, tuple(opened))

    def _open_partition(self, topic: Topic, log: LogId) -> Partition:
        producers = cast(ProducerWindow, self.streams.machine(producers_stream(log)))
        delays = cast(Delays, self.streams.machine(delays_stream(log)))
        outcomes = cast(Outcomes, self.streams.machine(outcomes_stream(log)))
        opened, lanes, tally = self.storage.log(log), self._lanes(log), self.tally.open(log.topic)
        partition = Partition(
            topic,
            log,
            opened,
            self.state_log,
            self.clock,
            producers,
            lanes,
            delays,
            outcomes,
            self.alarm,
            tally,
        )
        partition.forget_dropped()
        # A repaired log may end earlier than before: new records must not be hidden by old state.
        delays.forget_from(opened.next_offset)
        outcomes.forget_from(opened.next_offset)
        partition.set_alarm()
        return partition

    def _find_left_over(self) -> None:
        """Find the transactions to abort: some of their writes may not have become durable."""
        self.endings.left_over.update(self.transactions.open_numbers())
        for partition in self.opened:
            for number in partition.outcomes.open_numbers():
                if self.transactions.get(number) is None:
                    self.endings.orphans.setdefault(number, []).append(partition)
                else:
                    # The first records here, and with them the note of this partition, may have been refused.
                    self.transactions.note_joined(number, *partition.id)

    def _wake_recovered(self) -> None:
        """Wake records that queues passed over as hidden and that are visible by now."""
        for partition in self.opened:
            for state in self.queues.of_log(partition.id):
                state.delivery.wake(partial(is_waiting, partition))

    def _lanes(self, log: LogId) -> LaneIndex:
        return cast(LaneIndex, self.streams.machine(lanes_stream(log)))

    def _make_delivery(self, stream: str) -> Delivery:
        """The name of the stream holds the log and the group."""
        return Delivery(self._lanes(LogId.parse(stream.removeprefix(DELIVERIES).rpartition("/")[0])))

    async def _make_receipt_key(self) -> None:
        given = ReceiptKeyGiven(self.entropy.token_bytes(KEY_BYTES))
        await self.state_log.change(self.state_log.owner(RECEIPTS), lambda: [given])

    def close_partitions(self, name: TopicName) -> None:
        for partition in self.opened.remove(name):
            partition.is_closed = True
            self.queues.remove(self.queues.of_log(partition.id))
            for stream in PARTITION_STREAMS:
                self.streams.remove(stream(partition.id))
            self.alarm.forget(partition)
            self.lane_runs.forget(partition)
            self.blocks.forget(partition)
        self.tally.close(name)
        self.tracing.carried.forget(name)

    def partitions(self, name: TopicName) -> tuple[Partition, ...]:
        return self.opened.of(name)

    def is_open(self, partition: Partition) -> bool:
        return partition in self.opened

    def partition(self, name: TopicName, number: int) -> Partition:
        return self.opened.find(name, number)
