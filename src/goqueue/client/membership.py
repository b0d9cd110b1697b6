"""Being a member of a consumer group: joins, says it is alive in the background, and follows the assignment."""

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Collection, Iterable
from typing import Protocol

import msgspec

from goqueue.client.connection import CLOSE_WITHIN_S
from goqueue.client.link import Link
from goqueue.errors import BrokerUnreachable, GoQueueError, StaleGeneration, UnknownGroup, UnknownMember
from goqueue.model.log import LogId
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["Membership", "Subscription", "Work"]

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 3.0
HEARTBEATS_PER_SESSION = 3

OUT_OF_GROUP = (UnknownMember, StaleGeneration, UnknownGroup)
"""The group went on without us: join it again. (A member whose instance id another one uses must not: both would go
on taking it from each other.)"""


class Subscription(msgspec.Struct, frozen=True):
    """What to read, and as what kind of member."""

    group: str
    client_id: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    protocol: str = "cooperative"
    assignor: str | None = None
    session_ms: int = 30_000
    instance_id: str | None = None


class Work(Protocol):
    """What is done with the partitions."""

    def changed(self) -> None:
        """The assignment is another one, or the membership has failed."""

    def give_up(self, partitions: Collection[LogId]) -> Awaitable[None]:
        """They go to another member when this is done."""

    def lost(self, partitions: Collection[LogId]) -> None:
        """They are with another member already."""


class Membership:
    """`assigned` is what may be read now."""

    def __init__(self, link: Link, subscription: Subscription, work: Work) -> None:
        self._link = link
        self._subscription = subscription
        self._work = work
        self._heartbeat_s = 3.0
        self._leaving: frozenset[LogId] = frozenset()
        """Ours still, though no longer read: they are being given up."""
        self._task: asyncio.Task[None] | None = None
        self._partings: set[asyncio.Task[None]] = set()
        self._hurry = asyncio.Event()
        self._looked = asyncio.Event()
        # Chosen here, so that it is known also when the answer to the join never comes.
        self.member_id = f"{subscription.client_id or 'client'}-{secrets.token_hex(8)}"
        self.generation = 0
        self.assigned: frozenset[LogId] = frozenset()
        self.is_paused = False
        self.failure: GoQueueError | None = None

    async def start(self) -> None:
        await self._join()
        self._task = asyncio.create_task(self._stay())

    @property
    def member(self) -> messages.GroupMember:
        return messages.GroupMember(self._subscription.group, self.member_id, self.generation)

    def hurry(self) -> None:
        """Ask the broker soon how things are."""
        self._hurry.set()

    async def look(self) -> None:
        """Ask the broker now, and wait until the answer is known."""
        self._looked.clear()
        self._hurry.set()
        await self._looked.wait()

    async def leave(self) -> None:
        """Give everything up and say goodbye."""
        tasks = [*self._partings, *([self._task] if self._task is not None else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._looked.set()
        if self._link.live is not None:
            goodbye = messages.LeaveGroup(self._subscription.group, self.member_id)
            # Whoever is gone without a word is removed when the session ends.
            with contextlib.suppress(GoQueueError):
                await self._link.request(Opcode.LEAVE_GROUP, goodbye, messages.Done, within_s=CLOSE_WITHIN_S)

    # In the background.

    async def _stay(self) -> None:
        failing_pause = FIRST_PAUSE_S
        while True:
            try:
                await self._step()
                self._looked.set()
            except BrokerUnreachable:
                failing_pause = min(2 * failing_pause, LONGEST_PAUSE_S)
                await self._rest(failing_pause)
                continue
            except GoQueueError as error:
                self.failure = error
                self._lose_everything()
                self._work.changed()
                self._looked.set()
                return
            failing_pause = FIRST_PAUSE_S

    async def _rest(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurry.wait()

    async def _step(self) -> None:
        """One heartbeat. The broker answers when there is news; whoever is in a hurry does not wait for that."""
        is_hurried = self._hurry.is_set()
        self._hurry.clear()
        begun = asyncio.get_running_loop().time()
        try:
            answer = await (self._ask() if is_hurried else self._ask_unless_hurried())
        except OUT_OF_GROUP:
            self._lose_everything()
            await self._join()
            return
        has_news = answer is None or self._follow(answer)
        if not has_news and not is_hurried:
            # A broker that does not hold back its answer is not to be asked again and again.
            await self._rest(self._heartbeat_s - (asyncio.get_running_loop().time() - begun))

    async def _ask_unless_hurried(self) -> messages.Assigned | None:
        hurry = asyncio.ensure_future(self._hurry.wait())
        ask = asyncio.ensure_future(self._ask(wait_ms=int(self._heartbeat_s * 1000)))
        try:
            await asyncio.wait({ask, hurry}, return_when=asyncio.FIRST_COMPLETED)
            return ask.result() if ask.done() else None
        finally:
            hurry.cancel()
            ask.cancel()

    async def _ask(self, wait_ms: int = 0) -> messages.Assigned:
        held = tuple(messages.TopicPartition(*log) for log in sorted(self.assigned | self._leaving))
        request = messages.Heartbeat(self._subscription.group, self.member_id, self.generation, held, wait_ms)
        return await self._link.ask(Opcode.HEARTBEAT, request, messages.Assigned)

    async def _join(self) -> None:
        wish = self._subscription
        request = messages.JoinGroup(
            wish.group,
            wish.client_id,
            wish.topics,
            wish.pattern,
            wish.protocol,  # type: ignore[arg-type]  # the broker refuses what it does not know
            wish.assignor,  # type: ignore[arg-type]
            wish.session_ms,
            wish.instance_id,
            self.member_id,
        )
        joined = await self._link.ask(Opcode.JOIN_GROUP, request, messages.Joined)
        self.generation = joined.generation
        self.is_paused = joined.paused
        self._heartbeat_s = min(joined.heartbeat_ms, wish.session_ms / HEARTBEATS_PER_SESSION) / 1000
        self._take(_logs(joined.assigned))

    def _follow(self, answer: messages.Assigned) -> bool:
        """Do as the broker says; whether that is anything new."""
        before = self.generation, self.is_paused, self.assigned, self._leaving
        self.generation = answer.generation
        if answer.paused != self.is_paused:
            self.is_paused = answer.paused
            self._work.changed()
        wanted_back = _logs(answer.revoke) & self.assigned
        if wanted_back:
            self._part_with(wanted_back)
        self._take(_logs(answer.assigned) - self._leaving)
        return before != (self.generation, self.is_paused, self.assigned, self._leaving)

    # Partitions.

    def _take(self, partitions: frozenset[LogId]) -> None:
        if partitions != self.assigned:
            self.assigned = partitions
            self._work.changed()

    def _part_with(self, partitions: frozenset[LogId]) -> None:
        """They are read no more from now; the broker hears of it when the work on them has come to an end."""
        self._leaving |= partitions
        self._take(self.assigned - partitions)
        task = asyncio.create_task(self._give_up(partitions))
        self._partings.add(task)
        task.add_done_callback(self._partings.discard)

    async def _give_up(self, partitions: frozenset[LogId]) -> None:
        await self._work.give_up(partitions)
        self._leaving -= partitions
        self._hurry.set()

    def _lose_everything(self) -> None:
        for task in self._partings:
            task.cancel()
        lost, self._leaving = self.assigned | self._leaving, frozenset()
        if lost:
            self._take(frozenset())
            self._work.lost(lost)


def _logs(partitions: Iterable[messages.TopicPartition]) -> frozenset[LogId]:
    return frozenset(LogId(one.topic, one.partition) for one in partitions)
