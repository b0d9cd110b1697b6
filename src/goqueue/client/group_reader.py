"""A consumer's part in its group: which partitions to fetch, when to let go of them, and what to commit."""

import asyncio
import contextlib
from collections.abc import Collection, Mapping

from goqueue.client.fetcher import REFUSALS_OF_A_GROUP, Fetched, Fetcher
from goqueue.client.inbox import Inbox
from goqueue.client.link import Link
from goqueue.client.membership import OUT_OF_GROUP, Membership, Subscription
from goqueue.errors import GoQueueError, InvalidRequest, MemberFenced
from goqueue.model.log import LogId
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["GroupReader"]

COMMIT_WITHIN_S = 10.0
LAST_COMMIT_WITHIN_S = 3.0
GIVE_UP_WITHIN_S = 30.0
"""So long the application may work on what it has of a partition that another member is to get."""
LOOK_EVERY_S = 0.02


class GroupReader:
    """Follows the membership; commits by itself every `auto_commit_ms`, or only when told to."""

    def __init__(
        self, link: Link, subscription: Subscription, inbox: Inbox, fetcher: Fetcher, auto_commit_ms: int | None
    ) -> None:
        self._link = link
        self._group = subscription.group
        self._inbox = inbox
        self._fetcher = fetcher
        self._auto_commit_ms = auto_commit_ms
        self._membership = Membership(link, subscription, self)
        fetcher.assignment_is_old = self._membership.hurry
        self._committing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._membership.start()
        if self._auto_commit_ms is not None:
            self._committing = asyncio.create_task(self._commit_now_and_then(self._auto_commit_ms / 1000))

    async def close(self) -> None:
        try:
            if self._committing is not None:
                self._committing.cancel()
                await asyncio.wait([self._committing])
                # Fenced or unreachable: whoever reads these partitions next delivers them again.
                with contextlib.suppress(GoQueueError):
                    await self._commit(self._inbox.uncommitted(in_hand=True), within_s=LAST_COMMIT_WITHIN_S)
        finally:
            await self._membership.leave()

    @property
    def assigned(self) -> frozenset[LogId]:
        return self._membership.assigned

    async def fetch(self, wait_ms: int) -> list[Fetched]:
        """Records of the partitions that are assigned; raises what has ended the membership."""
        if self._membership.failure is not None:
            raise self._membership.failure
        if self._membership.is_paused:
            await self._fetcher.wait_for_news(wait_ms)
            return []
        try:
            await self._follow()
            return await self._fetcher.fetch(wait_ms, self._membership.member)
        except (*REFUSALS_OF_A_GROUP, *OUT_OF_GROUP):
            # The membership finds out what this means; until then there is nothing to read.
            await self._membership.look()
            return []

    async def _follow(self) -> None:
        """Begin to read what was assigned since."""
        fresh = self.assigned - self._fetcher.positions.keys()
        if not fresh:
            return
        reply = await self._link.ask(Opcode.FETCH_OFFSETS, messages.FetchOffsets(self._group), messages.OffsetsReply)
        committed = {LogId(one.topic, one.partition): one.offset for one in reply.offsets}
        starts = {log: committed[log] for log in fresh if log in committed}
        starts |= await self._fetcher.begin([log for log in fresh if log not in committed])
        still_ours = self.assigned
        self._fetcher.positions.update({log: offset for log, offset in starts.items() if log in still_ours})

    # Commits.

    async def commit(self, offsets: Mapping[LogId, int] | None) -> None:
        wanted = dict(offsets) if offsets is not None else self._inbox.uncommitted(in_hand=True)
        try:
            await self._commit(wanted, within_s=COMMIT_WITHIN_S)
        except (MemberFenced, *OUT_OF_GROUP):
            # Told once; what is another member's now is not tried again.
            self._inbox.forget(wanted.keys() - self.assigned)
            raise

    def for_transaction(self, offsets: Mapping[LogId, int] | None) -> tuple[messages.GroupMember, dict[LogId, int]]:
        """What a transaction is to commit, and as whom."""
        if self._auto_commit_ms is not None:
            raise InvalidRequest(
                "a consumer that commits by itself, whether the transaction does or not",
                hint="make the consumer with auto_commit_ms=None",
            )
        wanted = dict(offsets) if offsets is not None else self._inbox.uncommitted(in_hand=True)
        return self._membership.member, wanted

    async def _commit(self, offsets: Mapping[LogId, int], *, within_s: float) -> None:
        if not offsets:
            return
        wanted = tuple(messages.PartitionOffset(log.topic, log.partition, offset) for log, offset in offsets.items())
        member = self._membership.member
        request = messages.CommitOffsets(member.group, wanted, member.member_id, member.generation)
        await self._link.ask_within(within_s, Opcode.COMMIT_OFFSETS, request, messages.Done)
        self._inbox.committed(offsets)

    async def _commit_now_and_then(self, every_s: float) -> None:
        while True:
            await asyncio.sleep(every_s)
            # The next time, or the next owner of the partitions, will do.
            with contextlib.suppress(GoQueueError):
                await self._commit(self._inbox.uncommitted(in_hand=False), within_s=every_s)

    # What the membership brings.

    def changed(self) -> None:
        self._fetcher.ask_anew()

    async def give_up(self, partitions: Collection[LogId]) -> None:
        """The application may first finish, and commit, what it has of them: then nobody gets it twice."""
        self._stop_reading(partitions)
        deadline = asyncio.get_running_loop().time() + GIVE_UP_WITHIN_S
        while self._inbox.is_holding(partitions) and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(LOOK_EVERY_S)
        if self._committing is not None:
            done = self._inbox.uncommitted(in_hand=False)
            with contextlib.suppress(GoQueueError):
                wanted = {log: done[log] for log in partitions if log in done}
                await self._commit(wanted, within_s=LAST_COMMIT_WITHIN_S)
            self._inbox.forget(partitions)

    def lost(self, partitions: Collection[LogId]) -> None:
        """An application that commits by hand will be told when it tries."""
        self._stop_reading(partitions)
        if self._committing is not None:
            self._inbox.forget(partitions)

    def _stop_reading(self, partitions: Collection[LogId]) -> None:
        self._fetcher.drop(partitions)
        self._inbox.drop(partitions)
