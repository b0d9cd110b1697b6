"""Being a member of a consumer group for a client: joins, says that it is alive, and follows the assignment.

The client's stream stands for it. What is to be given up is given up when the client says so (it confirms on its own,
with GroupService), when it takes too long, or at once where the broker commits for it.
"""

import asyncio
import contextlib
from collections.abc import Collection, Iterable
from typing import Literal

import msgspec

from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.core.groups.views import Assignment
from goqueue.engine import groups
from goqueue.engine.broker import Broker
from goqueue.engine.fetch import offset_at
from goqueue.engine.queue.positions import committed_offsets
from goqueue.errors import GoQueueError, RequestTimeout, StaleGeneration, UnknownGroup, UnknownMember
from goqueue.gateways.grpc.consume.reading import positions_of
from goqueue.gateways.grpc.held import HeldMembers
from goqueue.model.isolation import Isolation
from goqueue.model.log import LogId
from goqueue.model.topic import TopicName
from goqueue.wire.grpc.v1 import consume_pb2 as wire
from goqueue.wire.grpc.v1 import places_pb2

__all__ = ["Membership", "Terms"]

HEARTBEATS_PER_SESSION = 3
MOST_EVENTS = 1000
OUT_OF_GROUP = (UnknownMember, StaleGeneration, UnknownGroup)
"""The group went on without the member: it joins again. (One whose instance id another one uses must not: both would go
on taking it from each other.)"""


class Terms(msgspec.Struct, frozen=True):
    """As what kind of member, and what the broker does for it."""

    group: str
    wish: groups.JoinRequest
    start: Literal["earliest", "latest"]
    isolation: Isolation
    auto_commit: bool
    revocation_s: float


class Membership:
    """`positions` is what may be read now, and where it goes on; `events` are for the client, oldest first."""

    def __init__(self, broker: Broker, held: HeldMembers, terms: Terms) -> None:
        self._broker = broker
        self._held = held
        self._terms = terms
        # Chosen here, so that it is known also when the join does not come to its end.
        self._id = f"{terms.wish.client_id or 'client'}-{broker.entropy.token_bytes(8).hex()}"
        self._generation = 0
        self._leaving: dict[LogId, float] = {}
        """What the client is to give up, and until when."""
        self._committed: dict[LogId, int] = {}
        self.positions: dict[LogId, int] = {}
        self.is_paused = False
        self.events: list[wire.SubscribeResponse] = []
        self.changed = asyncio.Event()

    # Life cycle.

    async def join(self) -> None:
        terms = self._terms
        assignment = await groups.join_group(
            self._broker, terms.group, msgspec.structs.replace(terms.wish, member_id=self._id)
        )
        self._id = assignment.member_id
        self._held.hold(terms.group, self._id, self._told)
        await self._follow(assignment, is_new=True)

    async def stay(self) -> None:
        """Until cancelled, or until the group does not want the member any more."""
        pause_s = min(groups.HEARTBEAT_MS, self._terms.wish.session_ms / HEARTBEATS_PER_SESSION) / 1000
        while True:
            try:
                await self._step(pause_s)
            except OUT_OF_GROUP:
                self._lose([*self.positions, *self._leaving])
                await self.join()

    async def leave(self) -> None:
        self._held.release(self._terms.group, self._id)
        with contextlib.suppress(GoQueueError):
            if self._terms.auto_commit:
                await self._commit(self.positions)
        with contextlib.suppress(GoQueueError):
            await groups.leave_group(self._broker, self._terms.group, self._id)

    # In the background.

    async def _step(self, pause_s: float) -> None:
        broker, name, member_id = self._broker, self._terms.group, self._id
        told = await groups.heartbeat(broker, name, member_id, self._told(), None)
        await self._follow(told)
        if self._terms.auto_commit:
            await self._commit(self.positions)
        await self._give_up_overdue()
        group = broker.groups.group(name)
        # What has changed since the answer was made is not waited for.
        if (group.assignment(member_id), group.is_paused) == (told, self.is_paused):
            await broker.group_news.wait(name, member_id, min([pause_s, *self._time_left()]))

    def _told(self) -> int:
        """In which generation the member speaks: its confirmations and commits, too, tell it of new ones."""
        return self._broker.groups.group(self._terms.group).told(self._id)

    async def _follow(self, told: Assignment, *, is_new: bool = False) -> None:
        """Do as the group says."""
        before = self._generation, self.is_paused, set(self.positions)
        self._generation = told.generation
        self.is_paused = self._broker.groups.group(self._terms.group).is_paused
        own = set(told.partitions)
        for log in self._leaving.keys() - set(told.revoking):
            del self._leaving[log]
        asked_back = [log for log in told.revoking if log not in self._leaving]
        if asked_back:
            await self._part_with(asked_back)
        self._lose([log for log in self.positions if log not in own])
        await self._take([log for log in told.partitions if log not in self.positions])
        if is_new or before != (self._generation, self.is_paused, set(self.positions)):
            self._tell(wire.SubscribeResponse(assigned=self._assigned()))

    async def _take(self, partitions: Collection[LogId]) -> None:
        if not partitions:
            return
        committed = committed_offsets(self._broker, self._terms.group)
        for log in partitions:
            at = committed.get(log)
            if at is None:
                at = await self.begin(log)
            self.positions[log] = self._committed[log] = at

    async def begin(self, log: LogId) -> int:
        """Where a partition is read from of which nothing else is known."""
        terms = self._terms
        return await offset_at(self._broker, TopicName(log.topic), log.partition, terms.start, terms.isolation)

    # Parting with partitions.

    async def _part_with(self, partitions: Collection[LogId]) -> None:
        """They are read no more from now on."""
        held = {log: self.positions.pop(log) for log in partitions if log in self.positions}
        topics = {topic.name for topic in self._broker.catalog}
        deleted = [log for log in partitions if log.topic not in topics]
        if self._terms.auto_commit:
            await self._commit({log: offset for log, offset in held.items() if log not in deleted})
        at_once = partitions if self._terms.auto_commit else deleted
        if at_once:
            await self._confirm(at_once)
            self._lose_named(at_once)
        partitions = [log for log in partitions if log not in at_once]
        if not partitions:
            return
        deadline = asyncio.get_running_loop().time() + self._terms.revocation_s
        self._leaving |= dict.fromkeys(partitions, deadline)
        revoking = wire.Revoking(member_id=self._id, generation=self._generation, partitions=_named(partitions))
        self._tell(wire.SubscribeResponse(revoking=revoking))

    async def _give_up_overdue(self) -> None:
        now = asyncio.get_running_loop().time()
        overdue = [log for log, deadline in self._leaving.items() if deadline <= now]
        if overdue:
            await self._confirm(overdue)
            self._lose(overdue)

    async def _confirm(self, partitions: Collection[LogId]) -> None:
        await groups.confirm_revoked(self._broker, self._terms.group, self._id, self._told(), partitions)

    def _time_left(self) -> list[float]:
        now = asyncio.get_running_loop().time()
        return [max(0.0, deadline - now) for deadline in self._leaving.values()]

    def _lose(self, partitions: Collection[LogId]) -> None:
        """They are another member's, or nobody's, already."""
        for log in partitions:
            self.positions.pop(log, None)
            self._leaving.pop(log, None)
        self._lose_named(partitions)

    def _lose_named(self, partitions: Collection[LogId]) -> None:
        if partitions:
            self._tell(wire.SubscribeResponse(lost=wire.Lost(partitions=_named(partitions))))

    # What others see.

    def readable(self) -> frozenset[LogId]:
        """What the group grants the member in this moment."""
        try:
            own = self._broker.groups.group(self._terms.group).readable(self._id)
        except OUT_OF_GROUP:
            return frozenset()
        return frozenset(own) & self.positions.keys()

    async def _commit(self, positions: dict[LogId, int]) -> None:
        moved = {log: offset for log, offset in positions.items() if self._committed.get(log) != offset}
        if moved:
            offsets = {log: OffsetAndMetadata(offset) for log, offset in moved.items()}
            await groups.commit_offsets(self._broker, self._terms.group, offsets, self._id, self._told())
            self._committed |= moved

    def _assigned(self) -> wire.Assigned:
        return wire.Assigned(
            member_id=self._id,
            generation=self._generation,
            positions=positions_of(self.positions),
            paused=self.is_paused,
        )

    def heartbeat(self) -> wire.SubscribeResponse:
        sign = wire.SubscribeHeartbeat(
            at_ns=self._broker.clock.now_ns(),
            generation=self._generation,
            positions=positions_of(self.positions),
            paused=self.is_paused,
        )
        return wire.SubscribeResponse(heartbeat=sign)

    def _tell(self, event: wire.SubscribeResponse) -> None:
        if len(self.events) >= MOST_EVENTS:
            raise RequestTimeout(
                f"{MOST_EVENTS} events of the group wait to be taken", hint="read the stream, also while working"
            )
        self.events.append(event)
        self.changed.set()


def _named(partitions: Iterable[LogId]) -> list[places_pb2.TopicPartition]:
    return [places_pb2.TopicPartition(topic=log.topic, partition=log.partition) for log in sorted(partitions)]
