"""State log: the only way to change a state machine.

A change takes the lock of its owner, decides, and submits the events as one journal entry. They are applied when the
entry is written, so memory is never ahead of the journal: a refused entry changes nothing. The caller is answered when
the entry is as durable as its events demand.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar
from weakref import WeakValueDictionary

from goqueue.engine.fifo_lock import FifoLock
from goqueue.engine.group_commit import Done, GroupCommit, resolve
from goqueue.engine.ports import Entry, Operation
from goqueue.engine.shielded import shielded
from goqueue.engine.streams import Machine, Streams
from goqueue.errors import GoQueueError

__all__ = ["NOTHING_ELSE", "Also", "Append", "Decision", "MachineOwner", "Owner", "Release", "StateLog"]

OPERATION_BYTES = 64
"""Estimated size of an operation in the journal, without its payload."""

Event = TypeVar("Event")


class Owner(Protocol):
    """A state machine, or a part of one, whose changes are decided one at a time."""

    @property
    def stream(self) -> str: ...
    @property
    def lock(self) -> FifoLock: ...
    def apply(self, event: Any, /) -> object: ...
    def needs_sync(self, event: Any, /) -> bool:
        """True for events acknowledged only after fsync."""


Decision = Sequence[tuple[Owner, Any]]
"""Events with their owners."""


class Append(Protocol):
    """Stamped records for the end of one log; see `goqueue.engine.partition`.

    Nothing else may be staged for this log before `begin`, called after the entry was submitted, or `withdraw`, called
    when the submission was refused. After `begin`, `written` follows if the entry was written, and `finish` in any
    case.
    """

    @property
    def operations(self) -> Entry: ...
    @property
    def events(self) -> "Decision":
        """These events demand no sync: the publisher chooses the durability of records."""

    @property
    def size(self) -> int: ...
    def begin(self) -> None: ...
    def withdraw(self) -> None: ...
    def written(self) -> None: ...
    def finish(self, refusal: GoQueueError | None, /) -> None: ...


def _nothing() -> None:
    """Default of `Also.written`."""


def _ignored(refusal: GoQueueError | None) -> None:
    """Default of `Also.done`."""


class Also(NamedTuple):
    """Operations in the same journal entry as a decision, and callbacks."""

    operations: Entry = ()
    events: Decision = ()
    """Events of other owners, applied after the decision's own; their locks are not needed."""
    appends: Sequence[Append] = ()
    durable: bool = False
    """Answer after fsync, even if no event demands it."""
    written: Callable[[], None] = _nothing
    """Called when all events are applied, before the lock is released."""
    done: Done = _ignored
    """Called when the entry is as durable as it must be, or refused."""


NOTHING_ELSE = Also()


class OwnerLock(FifoLock):
    """The lock of a state machine or of one of its parts, shared by all that change it."""

    __slots__ = ("__weakref__", "last_change")

    def __init__(self) -> None:
        super().__init__()
        self.last_change: asyncio.Future[None] | None = None


class MachineOwner(NamedTuple):
    """The owner of a whole state machine, or of one of its independent parts."""

    stream: str
    machine: Machine
    needs_sync: Callable[[Any], bool]
    lock: OwnerLock

    def apply(self, event: Any) -> None:
        self.machine.apply(event)


class StateLog:
    """The owners of state machines, and their changes."""

    def __init__(self, streams: Streams) -> None:
        self.streams = streams
        self._locks: WeakValueDictionary[tuple[str, str], OwnerLock] = WeakValueDictionary()
        self.commit: GroupCommit

    def owner(self, stream: str, part: str = "") -> MachineOwner:
        """Changes of different parts do not wait for each other."""
        lock = self._locks.get((stream, part))
        if lock is None:
            lock = self._locks[stream, part] = OwnerLock()
        return MachineOwner(stream, self.streams.machine(stream), self.streams.kind(stream).needs_sync, lock)

    async def change(
        self, owner: Owner, decide: Callable[[], Sequence[Event]], also: Callable[[], Also] | None = None
    ) -> Sequence[Event]:
        """Returns the events decided, once they are durable as demanded; without events nothing is written.

        `also` is called right after the decision. A submitted change happens even if the caller is cancelled.
        """
        await owner.lock.acquire()
        return await self.change_locked(owner, decide, also)

    async def change_locked(
        self, owner: Owner, decide: Callable[[], Sequence[Event]], also: Callable[[], Also] | None = None
    ) -> Sequence[Event]:
        """Like `change`, for the holder of the lock, which is released as soon as the entry is written or refused."""
        reply: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        events = self.begin(owner, decide, partial(resolve, reply), also)
        if events:
            if isinstance(owner, MachineOwner):
                owner.lock.last_change = reply
            await shielded(reply)
        return events

    async def change_together(
        self, owners: Sequence[Owner], decide: Callable[[], Decision], also: Callable[[], Also] | None = None
    ) -> Decision:
        """Like `change`, for a decision about several owners. All callers must take their locks in the same order."""
        release = Release()
        reply: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            for owner in owners:
                await owner.lock.acquire()
                release.actions.append(owner.lock.release)
            decided = decide()
            self.submit(decided, NOTHING_ELSE if also is None else also(), partial(resolve, reply), release)
        except BaseException:
            release()
            raise
        await shielded(reply)
        return decided

    async def settled(self, owner: MachineOwner) -> None:
        """Wait until all changes so far are durable; they can be read as soon as they are written."""
        reply = owner.lock.last_change
        if reply is not None and not reply.done():
            await asyncio.wait((reply,))

    def begin(
        self,
        owner: Owner,
        decide: Callable[[], Sequence[Event]],
        tell: Done,
        also: Callable[[], Also] | None = None,
    ) -> Sequence[Event]:
        """Like `change_locked`, for callers that do not wait: `tell` is called at the end, unless there are no
        events."""
        release = Release(owner.lock.release)
        try:
            events = decide()
            if events:
                decided = [(owner, event) for event in events]
                self.submit(decided, NOTHING_ELSE if also is None else also(), tell, release)
            else:
                release()
        except BaseException:
            release()
            raise
        return events

    def submit(
        self,
        decided: Decision,
        also: Also,
        tell: Done,
        release: Callable[[], None] = _nothing,
    ) -> None:
        """Write events that need no decision, or whose locks the caller holds.

        `release` is called as soon as the entry is written or refused, `tell` when it is as durable as it must be.
        """
        durable = also.durable or any(owner.needs_sync(event) for owner, event in (*decided, *also.events))
        events = [*decided, *also.events]
        operations: list[Operation] = []
        size = 0
        for append in also.appends:
            operations += append.operations
            events += append.events
            size += append.size
        for owner, event in events:
            operation = self.streams.event(owner.stream, event)
            operations.append(operation)
            size += OPERATION_BYTES + len(operation.payload)
        operations += also.operations
        submission = _Submission(events, also, tell, release)
        try:
            self.commit.submit(tuple(operations), size, submission.done, durable, submission.written)
        except GoQueueError as refusal:
            for append in also.appends:
                append.withdraw()
            also.done(refusal)
            raise
        for append in also.appends:
            append.begin()


class _Submission(NamedTuple):
    """Callbacks of an entry: when it is written, and when its durability is known."""

    events: Decision
    also: Also
    tell: Done
    release: Callable[[], None]

    def written(self) -> None:
        for append in self.also.appends:
            append.written()
        for owner, event in self.events:
            owner.apply(event)
        self.also.written()
        self.release()

    def done(self, refusal: GoQueueError | None) -> None:
        self.release()
        for append in self.also.appends:
            append.finish(refusal)
        self.also.done(refusal)
        self.tell(refusal)


class Release:
    """Runs its actions once, however often it is called."""

    __slots__ = ("actions",)

    def __init__(self, *actions: Callable[[], object]) -> None:
        self.actions = [*actions]

    def __call__(self) -> None:
        while self.actions:
            self.actions.pop()()
