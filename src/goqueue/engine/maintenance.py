"""Maintenance jobs: background syncs, checkpoints, retention, compaction, expiry and disk checks.

Each job is a step that can be called alone; `run` calls the jobs when they are due.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import msgspec

from goqueue.core.partition.retention import NS_PER_MS, expired_segments
from goqueue.engine import expiry, firing, schedules
from goqueue.engine.broker import Broker
from goqueue.engine.groups import expire_members
from goqueue.engine.id_upkeep import IdUpkeep
from goqueue.engine.partition import Partition
from goqueue.engine.placement import Placement
from goqueue.engine.ports import CompactionPolicy, DropSegments, SlowWork
from goqueue.engine.queue.breaking import pause_tripped
from goqueue.engine.queue.settle import return_overdue
from goqueue.engine.slices import in_slices
from goqueue.engine.timers import TimedJob, idle_until
from goqueue.engine.transactions.ending import abort_overdue
from goqueue.engine.visibility import certain_before
from goqueue.errors import GoQueueError
from goqueue.model.topic import Cleanup, TopicConfig

__all__ = ["JOBS", "Maintenance", "MaintenanceObserver", "MaintenanceSettings"]


JOBS = (
    "pulse",
    "checkpoint",
    "retention",
    "compaction",
    "ids",
    "schedules",
    "leases",
    "transactions",
    "delays",
    "expiry",
)
"""The jobs whose failures are reported to the observer."""


ROUNDS_AHEAD = 5
"""Rounds of snapshots made ahead of a checkpoint: each covers the changes during the round before."""
AHEAD_SLICE = 50


class MaintenanceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Intervals of the broker's background jobs, 10 ms to a day each, and the size of the journal between
    checkpoints."""

    tick_ms: int = 1000
    """Longest time until a write with `memory` durability is synced: a power failure may lose the writes of this time.
    Also the interval of disk checks while records are written."""
    retention_every_ms: int = 30_000
    """Time between rounds of retention."""
    compaction_every_ms: int = 60_000
    """Time between rounds of compaction."""
    ids_every_ms: int = 250
    """Minimum time between rounds of moving record ids to their index and of forgetting old ones."""
    schedules_every_ms: int = 100
    """Minimum time between rounds of firing schedules that are due."""
    leases_every_ms: int = 100
    """Minimum time between rounds of returning records whose leases have expired."""
    transactions_every_ms: int = 100
    """Minimum time between rounds of aborting transactions that have timed out."""
    expiry_every_ms: int = 60_000
    """Time between rounds of expiring groups, producers and transactional ids."""
    checkpoint_bytes: int = 64 * 1024 * 1024
    """Size of the journal at which a checkpoint is made; recovery reads little more than this. At least 1 MiB, and at
    most half of `storage.journal_max_bytes`."""


class MaintenanceObserver(Protocol):
    """Receives what maintenance did and what failed."""

    def disk_full(self, used_share: float) -> None: ...
    def disk_has_room(self, used_share: float) -> None: ...
    def job_failed(self, job: str, failure: GoQueueError) -> None: ...
    def segments_dropped(self, log: str, segments: int, size: int) -> None: ...
    def id_index_damaged(self, reason: str) -> None: ...
    def id_index_rebuilt(self, ids: int) -> None: ...
    def group_paused(self, group: str, reason: str) -> None: ...
    def groups_expired(self, groups: Sequence[str]) -> None: ...
    def producers_forgotten(self, producers: int, transactional_ids: int) -> None: ...


class Maintenance:
    """Runs beside the use cases on the same loop; slow parts run in threads. A job that fails is tried again later."""

    def __init__(self, broker: Broker, observer: MaintenanceObserver, settings: MaintenanceSettings) -> None:
        self._broker = broker
        self._observer = observer
        self._settings = settings
        self._checkpoint_turn = asyncio.Lock()
        self._compaction_turn = asyncio.Lock()
        self._ids = IdUpkeep(broker)
        self._placement = Placement()
        self._makes_room = False
        """True if the disk has become full since the last checkpoint."""
        self._wrote_at: int | None = None
        """Time of the first write since the last pulse."""
        self._pulsed_at = self._looked_at = 0
        self._looked_lsn = 0

    async def run(self) -> None:
        """Run until cancelled. Each job has its own interval, so that a long compaction delays no other job."""
        broker, settings, now = self._broker, self._settings, self._broker.clock.now_ns()
        regular = [
            TimedJob("retention", self.apply_retention, pause_ms=settings.retention_every_ms),
            TimedJob("compaction", self.compact_all, pause_ms=settings.compaction_every_ms),
            TimedJob("expiry", self.expire_unused, pause_ms=settings.expiry_every_ms),
            TimedJob("ids", self.tend_ids, deadline=self._ids_due, pause_ms=settings.ids_every_ms),
            TimedJob("pulse", self.pulse, deadline=self._pulse_due, pause_ms=settings.tick_ms),
            TimedJob("checkpoint", self.checkpoint_if_due, deadline=self._checkpoint_due, pause_ms=settings.tick_ms),
        ]
        for job in regular:
            job.rest(now)
        self._pulsed_at = self._looked_at = now
        broker.commit.first_write = self._note_write
        broker.timers.add(
            *regular,
            TimedJob(
                "delays", partial(firing.fire_due, broker), deadline=broker.alarm.next_due, pause_ms=firing.TOGETHER_MS
            ),
            TimedJob(
                "schedules", self.fire_schedules, deadline=self._schedules_due, pause_ms=settings.schedules_every_ms
            ),
            TimedJob("leases", self.return_overdue, deadline=self._leases_due, pause_ms=settings.leases_every_ms),
            TimedJob(
                "transactions",
                self.abort_overdue,
                deadline=self._transactions_due,
                pause_ms=settings.transactions_every_ms,
            ),
        )
        await broker.timers.run(self._observer.job_failed)

    # Deadlines.

    def _note_write(self) -> None:
        """Sync writes without a waiting caller one tick later."""
        now = self._broker.clock.now_ns()
        self._wrote_at = now
        self._broker.timers.set(now + self._settings.tick_ms * NS_PER_MS)

    def _pulse_due(self) -> int:
        tick_ns = self._settings.tick_ms * NS_PER_MS
        if self._wrote_at is not None:
            return self._wrote_at + tick_ns
        has_members = self._broker.groups.has_members
        return self._pulsed_at + tick_ns if has_members else max(self._pulsed_at + tick_ns, idle_until(self._pulsed_at))

    def _checkpoint_due(self) -> int | None:
        if self._makes_room or self._broker.storage.written_lsn != self._looked_lsn:
            return 0
        return idle_until(self._looked_at) if self._broker.guard.is_full else None

    def _ids_due(self) -> int:
        return self._ids.next_deadline()

    def _schedules_due(self) -> int | None:
        return self._broker.schedules.next_due()

    def _leases_due(self) -> int | None:
        breakers = self._broker.breakers
        return 0 if breakers.tripped or breakers.news else self._broker.queues.leases.next_deadline()

    def _transactions_due(self) -> int | None:
        endings = self._broker.endings
        if endings.left_over or endings.orphans:
            return 0
        return self._broker.transactions.next_deadline()

    # Jobs.

    async def pulse(self) -> None:
        """The urgent checks: silent members, the disk, and the sync that `memory` durability promises."""
        self._wrote_at, self._pulsed_at = None, self._broker.clock.now_ns()
        self.watch_disk()
        self._broker.commit.sync_in_background()
        await expire_members(self._broker)

    async def checkpoint_if_due(self) -> None:
        """Make a checkpoint if the journal has grown, or if the disk is full and could regain journal space."""
        is_full = self._broker.guard.is_full
        makes_room, self._makes_room = self._makes_room, False
        self._looked_lsn, self._looked_at = self._broker.storage.written_lsn, self._broker.clock.now_ns()
        await self._in_background(partial(self._broker.storage.prepare, sparing=is_full))
        if makes_room or self._broker.storage.journal_bytes >= self._settings.checkpoint_bytes:
            await self.checkpoint()
            if is_full:
                await self._in_background(partial(self._broker.storage.prepare, sparing=True))

    def watch_disk(self) -> None:
        guard = self._broker.guard
        if guard.update(1.0 - self._broker.storage.free_share()):
            self._makes_room = guard.is_full
            report = self._observer.disk_full if guard.is_full else self._observer.disk_has_room
            report(guard.used_share)

    async def checkpoint(self) -> None:
        """Make logs and state durable on their own, so that the journal up to here can be dropped."""
        async with self._checkpoint_turn:
            await self._checkpoint()

    async def _checkpoint(self) -> None:
        broker = self._broker
        for number in range(ROUNDS_AHEAD):
            begin_round = partial(broker.streams.begin_round, is_first=number == 0)
            count, work = await broker.commit.between_writes(begin_round)
            async for one in in_slices(work, AHEAD_SLICE):
                broker.streams.make_ahead(one)
            if count <= AHEAD_SLICE:
                break

        def begin() -> tuple[SlowWork, dict[str, int]]:
            snapshots, noted = broker.streams.begin_snapshots()
            return broker.storage.begin_checkpoint(snapshots), noted

        def finish() -> None:
            broker.storage.finish_checkpoint(slow)
            broker.streams.finish_snapshots(noted)

        slow, noted = await broker.commit.between_writes(begin)
        await self._in_background(slow.run)
        await broker.commit.between_writes(finish)

    async def apply_retention(self) -> None:
        async for partition, config in in_slices(self._partitions()):
            if config.cleanup is Cleanup.COMPACT:
                continue
            segments = partition.log.segments
            expired = expired_segments(
                segments,
                retention_ms=config.retention_ms,
                retention_bytes=config.retention_bytes,
                now=self._broker.clock.now_ns(),
            )
            if expired:
                size = sum(segment.size for segment in segments[: len(expired)])
                await self._broker.commit.write((DropSegments(partition.id, expired),))
                partition.forget_dropped()
                self._observer.segments_dropped(str(partition.id), len(expired), size)

    async def compact_all(self) -> None:
        async for partition, config in in_slices(self._partitions()):
            if config.cleanup is not Cleanup.DELETE:
                await self.compact(partition, config)

    async def compact(self, partition: Partition, config: TopicConfig) -> None:
        """Compact the sealed segments of one partition. One at a time: two compactions would write the same files."""
        broker = self._broker
        async with self._compaction_turn:
            horizon = broker.clock.now_ns() - config.delete_retention_ms * NS_PER_MS
            end, never_seen = certain_before(partition)
            policy = CompactionPolicy(end, horizon, never_seen)
            work = await broker.commit.between_writes(lambda: broker.storage.begin_compaction(partition.id, policy))
            if work is not None:
                await self._in_background(work.run)
                await broker.commit.between_writes(lambda: broker.storage.finish_compaction(work))

    async def fire_schedules(self) -> None:
        await schedules.fire_due(self._broker, self._placement)

    async def return_overdue(self) -> None:
        breakers = self._broker.breakers
        if breakers.tripped or len(self._broker.queues):
            await return_overdue(self._broker)
            await pause_tripped(self._broker)
        news = breakers.news
        while news:
            tripped = news.popleft()
            self._observer.group_paused(tripped.group, tripped.reason)

    async def expire_unused(self) -> None:
        """Expire groups, producers and transactional ids that were unused for their retention."""
        groups = await expiry.expire_groups(self._broker)
        if groups:
            self._observer.groups_expired(groups)
        producers = await expiry.forget_producers(self._broker)
        transactional_ids = await expiry.forget_transactional_ids(self._broker)
        if producers or transactional_ids:
            self._observer.producers_forgotten(producers, transactional_ids)

    async def abort_overdue(self) -> None:
        await abort_overdue(self._broker)

    async def tend_ids(self) -> None:
        """Maintain the index of record ids; on a full disk it is left as it is."""
        if self._broker.guard.is_full:
            return
        if self._ids.is_rebuild_due and not self._ids.reopens():
            self._observer.id_index_damaged(self._broker.ids.fault or "")
            self._observer.id_index_rebuilt(await self._ids.rebuild())
        await self._ids.hand_over()
        await self._ids.forget_old()

    def _partitions(self) -> list[tuple[Partition, TopicConfig]]:
        broker = self._broker
        return [(partition, topic.config) for topic in broker.catalog for partition in broker.partitions(topic.name)]

    async def _in_background(self, action: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._broker.background, action)
