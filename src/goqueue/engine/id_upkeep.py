"""Upkeep of the index of ids: hand ids over to it, forget those that are too old, build it again when it is damaged."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from goqueue import codec
from goqueue.core.ids.batch import digests_of
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.ports import IdIndexDamaged, IndexedIds
from goqueue.errors import LogReadOnly
from goqueue.model.ids import InstantNs
from goqueue.model.record_id import id_of
from goqueue.model.topic import TopicName

__all__ = ["IdUpkeep"]

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000

ENOUGH_IDS = 50_000
"""Handed over together: the more there are, the less often is each page of the index written."""
STEP_IDS = 10_000
"""Looked at together to see which are too old."""
STEPS_AT_A_TIME = 16
REST_S = 30
"""Between two passes over the index, and between two attempts to build it."""
READ_BYTES = 1024 * 1024
FOR_EVER_NS = 1 << 62


class _Range(NamedTuple):
    """Records of a partition that are newer than the window, as a reader finds them."""

    space: int
    partition: Partition
    oldest_ns: int
    end: int


class IdUpkeep:
    """Each method is a step that can be called alone, but not beside another one."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._to_pass: deque[int] = deque()
        self._passed = b""
        self._next_pass_at = self._next_attempt_at = InstantNs(0)
        self._looked_number = 0

    def next_deadline(self) -> InstantNs:
        """When to look next; ids that were written since the last time are looked at right away."""
        ids = self._broker.ids
        if ids.fault is not None:
            return self._next_attempt_at
        is_new = ids.recent.last_number != self._looked_number
        return InstantNs(0) if is_new or self._to_pass else self._next_pass_at

    # Handing over.

    async def hand_over(self, *, at_least: int = ENOUGH_IDS) -> None:
        """Put recent ids into the index when there are enough of them."""
        ids, commit = self._broker.ids, self._broker.commit
        self._looked_number = ids.recent.last_number
        if ids.fault is not None or len(ids.recent) < at_least:
            return
        written = await commit.between_writes(ids.recent.put_aside)
        if not written:
            return
        # The index must never know an id that a power cut takes away from the journal.
        await commit.durable()
        batches = [
            IndexedIds(one.space, one.partition, one.base_offset, one.timestamp_ns, one.digests) for one in written
        ]
        if await self._on_index(lambda: ids.index.add(batches, written[-1].number)):
            ids.recent.let_go()

    # Forgetting.

    async def forget_old(self) -> None:
        """Take a few steps over the index, and begin again from time to time."""
        ids = self._broker.ids
        if ids.fault is not None:
            return
        now = self._broker.clock.now_ns()
        if not self._to_pass:
            if now < self._next_pass_at:
                return
            self._next_pass_at = InstantNs(now + REST_S * NS_PER_S)
            if not await self._on_index(lambda: self._to_pass.extend(ids.index.spaces())):
                return
        horizons = self._horizons(now)
        await self._on_index(lambda: self._forget_some(horizons))

    def _horizons(self, now: InstantNs) -> dict[int, int]:
        catalog = {topic.name: topic.config for topic in self._broker.catalog}
        return {
            space: now - catalog[TopicName(name)].dedup_window_ms * NS_PER_MS
            for name, space in self._broker.ids.recent.spaces.items()
            if name in catalog
        }

    def _forget_some(self, horizons: dict[int, int]) -> None:
        index = self._broker.ids.index
        for _ in range(STEPS_AT_A_TIME):
            if not self._to_pass:
                return
            space = self._to_pass[0]
            # The space of a deleted topic has no horizon: all of it goes.
            passed = index.forget(space, horizons.get(space, FOR_EVER_NS), self._passed, STEP_IDS)
            if passed is None:
                self._to_pass.popleft()
            self._passed = passed or b""

    # Building again.

    @property
    def is_rebuild_due(self) -> bool:
        return self._broker.ids.fault is not None and self._broker.clock.now_ns() >= self._next_attempt_at

    def reopens(self) -> bool:
        """Whether an index that only lacked room can be used as it is by now."""
        ids = self._broker.ids
        if ids.lacks_room:
            ids.index.close()
            ids.open()
        return ids.fault is None

    async def rebuild(self) -> int:
        """Fill a new index from the records in the logs, which carry their ids; how many have one.

        Nobody publishes with ids while the index has a fault, so none is missed.
        """
        broker, ids = self._broker, self._broker.ids
        now = broker.clock.now_ns()
        self._next_attempt_at = InstantNs(now + REST_S * NS_PER_S)
        self._to_pass.clear()
        self._passed = b""
        ranges = self._ranges(now)
        await broker.commit.durable()
        found = 0

        def build() -> None:
            nonlocal found
            ids.index.reset()
            for one in ranges:
                for batch in _ids_in(one):
                    found += len(batch)
                    ids.index.add(batch, 0)
            ids.index.add((), ids.recent.indexed)

        if not await self._on_index(build):
            raise LogReadOnly(f"{ids.fault}; records with ids are refused until it can be built")
        ids.fault = None
        return found

    def _ranges(self, now: InstantNs) -> list[_Range]:
        broker = self._broker
        horizons = self._horizons(now)
        return [
            _Range(space, partition, horizons[space] + 1, partition.high_watermark)
            for name, space in broker.ids.recent.spaces.items()
            if space in horizons
            for partition in broker.partitions(TopicName(name))
        ]

    async def _on_index(self, action: Callable[[], None]) -> bool:
        """In a thread; False, with the fault noted, when the index turns out to be damaged."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._broker.background, action)
        except IdIndexDamaged as damage:
            self._broker.ids.fault = str(damage)
            return False
        return True


def _ids_in(one: _Range) -> Iterator[Sequence[IndexedIds]]:
    log, number = one.partition.log, one.partition.id.partition
    offset = log.offset_at(one.oldest_ns, one.end)
    while offset is not None and offset < one.end:
        chunk = log.read(offset, READ_BYTES, one.end)
        if not chunk.records:
            return
        records = [(record, id_of(record.headers)) for record in codec.decode(chunk.records)]
        yield [
            IndexedIds(one.space, number, record.offset, record.timestamp_ns, digests_of((there,))[0])
            for record, there in records
            if there is not None
        ]
        offset = chunk.next_offset
