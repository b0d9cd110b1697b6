"""The work of `goqueue consume`: find where to begin and to stop, read, print, commit what was printed."""

import asyncio
import contextlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence

import msgspec

from goqueue.adapters.clock import SystemClock
from goqueue.cli.failures import Refused
from goqueue.cli.record_output import RecordPrinter
from goqueue.cli.standard_output import StandardOutput
from goqueue.cli.starting_points import StartingPoint
from goqueue.cli.waiting import until_interrupted
from goqueue.client import Admin, Consumer, LogId, Message
from goqueue.errors import (
    BrokerUnreachable,
    GoQueueError,
    InvalidRequest,
    MemberFenced,
    StaleGeneration,
    UnknownMember,
)

__all__ = ["Job", "run_job"]

POLL_MS = 1000
SHORT_POLL_MS = 200
MANY = 1_000_000
COMMIT_WITHIN_S, COMMIT_PAUSE_MS = 5.0, 100
REGROUPING = (MemberFenced, StaleGeneration, UnknownMember)
"""The group is moving: whoever still has the partition afterwards can commit."""


class Job(msgspec.Struct, frozen=True):
    topics: tuple[str, ...]
    group: str | None
    partitions: frozenset[int]
    start: StartingPoint
    follow: bool
    count: int | None


class GroupPaused(GoQueueError):
    """Nothing is delivered to this group."""

    code = "group_paused"


async def run_job(server: str, job: Job, printer: RecordPrinter) -> bool:
    """Returns whether it was interrupted."""
    return await until_interrupted(_consume(server, job, printer))


async def _consume(server: str, job: Job, printer: RecordPrinter) -> None:
    async with Admin(server) as admin:
        logs = await _partitions(admin, job)
        # Taken before anything is read, so that writing while it is read cannot keep the command from ending.
        ends = {} if job.follow else await admin.offsets_at(logs, "latest")
        consumer = Consumer(
            *job.topics,
            bootstrap=server,
            group=job.group,
            start="latest" if job.group is not None and job.start.kind == "latest" else "earliest",
            auto_commit_ms=None,
            client_id="goqueue-cli",
        )
        async with consumer:
            kind = _AloneReading if job.group is None else _GroupReading
            reading = kind(admin, consumer, job, ends, printer)
            await reading.prepare(logs)
            try:
                await reading.run()
            except asyncio.CancelledError:
                await reading.finish()
                raise
            await reading.finish()


async def _partitions(admin: Admin, job: Job) -> list[LogId]:
    found = [LogId(name, number) for name in job.topics for number in range((await admin.topic(name)).partitions)]
    missing = job.partitions - {log.partition for log in found}
    if missing:
        last = max(log.partition for log in found)
        raise Refused(f"there is no partition {min(missing)}", hint=f"there are 0 to {last}")
    return [log for log in found if not job.partitions or log.partition in job.partitions]


async def _offsets(admin: Admin, logs: Collection[LogId], start: StartingPoint) -> dict[LogId, int]:
    """Where a starting point is in each partition."""
    match start:
        case StartingPoint("earliest" | "latest" as end, _):
            return await admin.offsets_at(logs, end)
        case StartingPoint("timestamp", int(instant_ns)):
            return await admin.offsets_at(logs, instant_ns)
    offset = start.value or 0
    first, last = await admin.offsets_at(logs, "earliest"), await admin.offsets_at(logs, "latest")
    wanted = {log: offset if offset >= 0 else last[log] + offset for log in logs}
    return {log: min(max(wanted[log], first[log]), last[log]) for log in logs}


class _Reading(ABC):
    """Reads and prints until there is enough."""

    def __init__(
        self, admin: Admin, consumer: Consumer, job: Job, ends: dict[LogId, int], printer: RecordPrinter
    ) -> None:
        self._admin = admin
        self._consumer = consumer
        self._job = job
        self._ends = ends
        self._printer = printer
        self._output = StandardOutput()
        self._left = sys.maxsize if job.count is None else job.count
        self._told: set[str] = set()
        # Whoever follows waits until the broker is back.
        self._passing = (BrokerUnreachable,) if job.follow else ()

    @abstractmethod
    async def prepare(self, logs: Collection[LogId]) -> None:
        """Begin where the job says."""

    async def run(self) -> None:
        await self._output.write(self._printer.begin())
        while self._left and (self._job.follow or not await self._is_at_end()):
            found = await self._poll()
            wanted = [one for one in found if self._is_wanted(one)][: self._left]
            if wanted:
                await self._print(wanted)
            await self._after_poll(wanted)

    async def finish(self) -> None:
        await self._output.write(self._printer.end())

    async def _poll(self) -> list[Message]:
        try:
            return await self._consumer.poll(wait_ms=POLL_MS if self._job.follow else SHORT_POLL_MS, limit=MANY)
        except self._passing as error:
            self._tell(f"{error.message}; waiting for it to come back")
            return []

    async def _print(self, messages: Sequence[Message]) -> None:
        try:
            await self._output.write(self._printer.records(messages))
        except asyncio.CancelledError:
            if not self._output.is_stuck:
                self._printed(messages)
            raise
        self._printed(messages)

    def _printed(self, messages: Sequence[Message]) -> None:
        self._left -= len(messages)

    def _is_wanted(self, message: Message) -> bool:
        log = LogId(message.topic, message.partition)
        return log not in self._ends or message.offset < self._ends[log]

    async def _is_at_end(self) -> bool:
        """Whether everything has been read that was there at the beginning."""
        return all(self._ends.get(log, 0) <= self._position(log) for log in self._consumer.assigned)

    def _position(self, log: LogId) -> int:
        """Where it is in a partition, or -1 when it has not begun there."""
        try:
            return self._consumer.position(log)
        except InvalidRequest:
            return -1

    async def _after_poll(self, printed: Sequence[Message]) -> None:
        if printed:
            self._told.clear()

    def _tell(self, note: str) -> None:
        if note not in self._told:
            self._told.add(note)
            print(f"note: {note}", file=sys.stderr)


class _AloneReading(_Reading):
    async def prepare(self, logs: Collection[LogId]) -> None:
        self._consumer.pause(*(self._consumer.assigned - set(logs)))
        for log, offset in (await _offsets(self._admin, logs, self._job.start)).items():
            self._consumer.seek(log, offset)
        if not self._job.follow:
            self._ends |= dict.fromkeys(self._consumer.assigned - set(logs), 0)


class _GroupReading(_Reading):
    """As a member of a group: reads what it is given, and commits what is printed."""

    def __init__(
        self, admin: Admin, consumer: Consumer, job: Job, ends: dict[LogId, int], printer: RecordPrinter
    ) -> None:
        super().__init__(admin, consumer, job, ends, printer)
        assert job.group is not None
        self._group = job.group
        self._begun: frozenset[LogId] = frozenset()
        self._to_commit: dict[LogId, int] = {}

    async def prepare(self, logs: Collection[LogId]) -> None:
        """Partitions come with the assignment; a pause would come too late, with the first heartbeat."""
        while await self._is_paused():
            await SystemClock().sleep_ms(POLL_MS)

    async def finish(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + COMMIT_WITHIN_S
        await self._commit()
        while self._to_commit and loop.time() < deadline:
            await SystemClock().sleep_ms(COMMIT_PAUSE_MS)
            await self._commit()
        if self._to_commit:
            self._tell("the last records could not be committed: the group will get them again")
        await super().finish()

    async def _poll(self) -> list[Message]:
        found = await super()._poll()
        moved = await self._begin_where_wanted()
        return [one for one in found if LogId(one.topic, one.partition) not in moved]

    async def _begin_where_wanted(self) -> Collection[LogId]:
        """An offset or a time counts in partitions that are new here and in which the group has committed nothing."""
        reading = frozenset(log for log in self._consumer.assigned if self._position(log) >= 0)
        fresh, self._begun = reading - self._begun, reading
        if not fresh or self._job.start.kind in ("earliest", "latest"):
            return ()
        untouched = fresh - (await self._admin.committed_offsets(self._group)).keys()
        for log, offset in (await _offsets(self._admin, untouched, self._job.start)).items():
            if log in self._consumer.assigned:
                self._consumer.seek(log, offset)
        return untouched

    def _printed(self, messages: Sequence[Message]) -> None:
        super()._printed(messages)
        for one in messages:
            self._to_commit[LogId(one.topic, one.partition)] = one.offset + 1

    async def _after_poll(self, printed: Sequence[Message]) -> None:
        await super()._after_poll(printed)
        await self._commit()
        if not printed:
            with contextlib.suppress(*self._passing):
                await self._is_paused()

    async def _is_paused(self) -> bool:
        """Whoever follows is told and waits; for others it is the end."""
        if not (await self._admin.describe_group(self._group)).paused:
            return False
        way_out = f"`goqueue group resume {self._group}` lets it go on"
        if not self._job.follow:
            raise GroupPaused(f"the group {self._group} is paused", hint=way_out)
        self._tell(f"the group {self._group} is paused; {way_out}")
        return True

    async def _commit(self) -> None:
        try:
            await self._consumer.commit(self._to_commit)
        except REGROUPING:
            # Whoever has a partition by now starts at its last commit; what is still ours is tried again.
            owned = self._consumer.assigned
            self._to_commit = {log: offset for log, offset in self._to_commit.items() if log in owned}
        except self._passing:
            return
        else:
            self._to_commit = {}

    async def _is_at_end(self) -> bool:
        if self._begun != self._consumer.assigned or not await super()._is_at_end():
            return False
        if (await self._admin.describe_group(self._group)).state != "Stable":
            return False
        if not self._begun:
            self._tell("other members of the group have all partitions")
        return True
