"""Id index maintenance: add new ids, forget old ones, rebuild a damaged index."""

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
"""Ids added together: with more of them, each page of the index is written less often."""
STEP_IDS = 10_000
"""Ids checked together for their age."""
STEPS_AT_A_TIME = 16
REST_S = 30
"""Between two passes over the index, and between two attempts to rebuild it."""
READ_BYTES = 1024 * 1024
FOR_EVER_NS = 1 << 62


class _Range(NamedTuple):
    """Records of a partition that are newer than the window."""

    space: int
    partition: Partition
    oldest_ns: int
    end: int


class IdUpkeep:
    """Each method is a step that can be called alone, but steps must not overlap."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._to_pass: deque[int] = deque()
        self._passed = b""
        self._next_pass_at = self._next_attempt_at = InstantNs(0)
        self._looked_number = 0

    def next_deadline(self) -> InstantNs:
        """The time of the next step; new ids are looked at at once."""
        ids = self._broker.ids
        if ids.fault is not None:
            return self._next_attempt_at
        is_new = ids.recent.last_number != self._looked_number
        return InstantNs(0) if is_new or self._to_pass else self._next_pass_at

    # Adding to the index.

    async def hand_over(self, *, at_least: int = ENOUGH_IDS) -> None:
        """Move recent ids to the index when there are enough of them."""
        ids, commit = self._broker.ids, self._broker.commit
        self._looked_number = ids.recent.last_number
        if ids.fault is not None or len(ids.recent) < at_least:
            return
        written = await commit.between_writes(ids.recent.put_aside)
        if not written:
            return
        # The index must not know an id that a power failure could remove from the journal.
        await commit.durable()
        batches = [
            IndexedIds(one.space, one.partition, one.base_offset, one.timestamp_ns, one.digests) for one in written
        ]
        if await self._on_index(lambda: ids.index.add(batches, written[-1].number)):
            ids.recent.let_go()

    # Forgetting old ids.

    async def forget_old(self) -> None:
        """Take a few steps over the index, and start a new pass from time to time."""
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
            # The space of a deleted topic has no horizon: all of it is forgotten.
            passed = index.forget(space, horizons.get(space, FOR_EVER_NS), self._passed, STEP_IDS)
            if passed is None:
                self._to_pass.popleft()
            self._passed = passed or b""

    # Rebuilding.

    @property
    def is_rebuild_due(self) -> bool:
        return self._broker.ids.fault is not None and self._broker.clock.now_ns() >= self._next_attempt_at

    def reopens(self) -> bool:
        """Returns whether an index that only lacked disk space can be opened now."""
        ids = self._broker.ids
        if ids.lacks_room:
            ids.index.close()
            ids.open()
        return ids.fault is None

    async def rebuild(self) -> int:
        """Fill a new index from the ids in the logs' records; returns how many there are.

        Publishing with ids is refused while the index has a fault, so no id is missed.
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
        """Run in a thread. Returns False, with the fault noted, if the index is damaged."""
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
