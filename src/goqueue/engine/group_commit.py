"""Group commit: entries from all tasks are written together, and one fsync serves every caller that waits.

Small groups are written on the event loop, because handing them to a thread costs more than the write. Large groups go
to the writer thread, so that a stalling page cache does not stall the loop. The same holds for syncs: on a fast disk
the loop itself syncs, after it has taken in the requests that have arrived: small amounts if the disk is fast, larger
ones if it is very fast. Requests that arrive during this sync share the next one. On a slower disk a thread syncs while
the next group is written.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import TypeVar

from goqueue.engine.histogram import COUNTS, Histogram
from goqueue.engine.ports import Entry, Storage
from goqueue.engine.syncer import Syncer
from goqueue.errors import GoQueueError, StorageBusy
from goqueue.model.ids import Lsn

__all__ = ["Done", "GroupCommit", "Submitted", "resolve"]

INLINE_BYTES = 512 * 1024
SYNC_HERE_BYTES = 256 * 1024
"""Larger amounts are synced by the thread, as the loop has other work meanwhile."""
LITTLE_BYTES = 8 * 1024
VERY_QUICK_NS = 500_000
"""Larger amounts than LITTLE_BYTES are synced on the loop only while syncs take no longer than this."""
WAIT_NS = 100_000
"""The longest delay of a small group; it is also limited to half the usual duration of a sync."""
GROUP_BYTES = 8 * 1024 * 1024
PENDING_BYTES = 64 * 1024 * 1024

Done = Callable[[GoQueueError | None], None]
Result = TypeVar("Result")


def _nothing() -> None:
    """For entries that change no state in memory."""


def _whatever(refusal: GoQueueError | None) -> None:
    """For callers that ignore the outcome; a failed disk refuses the next write."""


def resolve(reply: asyncio.Future[None], refusal: GoQueueError | None) -> None:
    """Resolve the future, unless its caller was cancelled."""
    if reply.done():
        return
    if refusal is None:
        reply.set_result(None)
    else:
        reply.set_exception(refusal)


def _run(action: Callable[[], Result], reply: "asyncio.Future[Result]") -> None:
    """Not nested in the coroutine that waits: when compiled, the two would keep each other alive."""
    try:
        result = action()
    except Exception as error:
        if not reply.done():
            reply.set_exception(error)
    else:
        if not reply.done():
            reply.set_result(result)


class Submitted:
    """An entry that waits to be written. A callable entry may still grow and is called when its group is written."""

    __slots__ = ("done", "durable", "entry", "size", "written")

    def __init__(
        self,
        entry: Entry | Callable[[], Entry],
        size: int,
        durable: bool,
        written: Callable[[], None],
        done: Done,
    ) -> None:
        self.entry = entry
        self.size = size
        self.durable = durable
        self.written = written
        self.done = done


class _Unsynced:
    """A caller that waits until the journal is durable up to `lsn`."""

    __slots__ = ("done", "lsn")

    def __init__(self, lsn: Lsn, done: Done) -> None:
        self.lsn = lsn
        self.done = done


class GroupCommit:
    """The owner of storage: every write, and every action that must not overlap a write, goes through it."""

    def __init__(self, storage: Storage, writer: Executor, syncer: Syncer) -> None:
        self._storage = storage
        self._loop = asyncio.get_running_loop()
        self._writer = writer
        self._syncer = syncer
        syncer.done = self._synced
        self._pending: deque[Submitted] = deque()
        self._pending_bytes = 0
        self._between: deque[Callable[[], None]] = deque()
        self._unsynced: deque[_Unsynced] = deque()
        self._scheduled = False
        self._will_sync = False
        self._writing = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._synced_lsn = 0
        self._unsynced_bytes = 0
        self._waiting = 0
        """The callers among `_pending` that wait for a sync; each part of a growing entry counts."""
        self._expected = 0
        self._waiting_since = 0
        self._is_noted = False
        self.first_write: Callable[[], None] = _nothing
        """Called for the first write after each `sync_in_background`."""
        self.group_sizes = Histogram(COUNTS)
        """Number of entries written together."""

    @property
    def sync_seconds(self) -> Histogram:
        return self._syncer.seconds

    def submit(
        self,
        entry: Entry | Callable[[], Entry],
        size: int,
        done: Done,
        durable: bool,
        written: Callable[[], None] = _nothing,
    ) -> Submitted:
        """Write the entry with the next group; `done` is called when it is written, or synced if `durable`.

        `written` is called as soon as the entry is in the journal. Its events are applied then, so that a checkpoint
        between writes sees exactly the state that the journal describes.
        """
        if self._pending_bytes + size > PENDING_BYTES:
            self._check_room(size)
        submitted = Submitted(entry, size, durable, written, done)
        self._pending.append(submitted)
        self._pending_bytes += size
        self._waiting += durable
        if not self._scheduled:
            self._schedule()
        return submitted

    def grow(self, submitted: Submitted, size: int) -> None:
        """Enlarge an entry that has not been called yet."""
        if self._pending_bytes + size > PENDING_BYTES:
            self._check_room(size)
        submitted.size += size
        self._pending_bytes += size
        self._waiting += submitted.durable

    def _check_room(self, size: int) -> None:
        if self._pending_bytes + size > PENDING_BYTES and self._pending:
            raise StorageBusy(f"{self._pending_bytes} bytes are waiting to be written")

    async def write(
        self, entry: Entry, size: int = 0, *, durable: bool = True, written: Callable[[], None] = _nothing
    ) -> None:
        """Submit and wait; cancelling the caller does not take back the write."""
        reply: asyncio.Future[None] = self._loop.create_future()
        self.submit(entry, size, lambda refusal: resolve(reply, refusal), durable=durable, written=written)
        await reply

    async def between_writes(self, action: Callable[[], Result]) -> Result:
        """Run an action once everything submitted so far is written and no write is in progress."""
        reply: asyncio.Future[Result] = self._loop.create_future()
        self._between.append(partial(_run, action, reply))
        self._schedule()
        return await reply

    def when_durable(self, done: Done) -> None:
        """Call `done` once everything written so far is durable."""
        written = self._storage.written_lsn
        if written <= self._synced_lsn:
            self._loop.call_soon(done, None)
            return
        self._unsynced.append(_Unsynced(written, done))
        self._sync_soon()

    async def durable(self) -> None:
        """Like `when_durable`, for coroutines."""
        reply: asyncio.Future[None] = self._loop.create_future()
        self.when_durable(lambda refusal: resolve(reply, refusal))
        await reply

    def sync_in_background(self) -> None:
        """Start a sync for writes without a waiting caller."""
        self._is_noted = False
        self.when_durable(_whatever)

    async def drain(self) -> None:
        """Wait until everything submitted is written and synced."""
        while self._pending or self._writing or self._unsynced:
            self._idle.clear()
            await self._idle.wait()

    # Writing.

    def _schedule(self) -> None:
        if not self._scheduled and not self._writing:
            self._scheduled = True
            self._loop.call_soon(self._write_next)

    def _write_next(self) -> None:
        if self._waits_for_others():
            self._loop.call_soon(self._write_next)
            return
        self._scheduled = False
        if self._writing:
            return
        group, size = self._take_group()
        if not group:
            self._nothing_pending()
            return
        entries = []
        for waiting in group:
            entry = waiting.entry
            entries.append(entry() if callable(entry) else entry)
        if size <= INLINE_BYTES or self._between:
            self._written(group, self._storage.write(entries), size)
        else:
            self._write_in_thread(group, entries, size)

    def _write_in_thread(self, group: list[Submitted], entries: list[Entry], size: int) -> None:
        self._writing = True
        future = self._loop.run_in_executor(self._writer, self._storage.write, entries)
        future.add_done_callback(partial(self._written_by_thread, group, size))

    def _waits_for_others(self) -> bool:
        """Delay a small group when the previous one was larger: closed-loop clients resend at once, and one fsync
        covers them all."""
        if not 0 < self._waiting < self._expected or self._between or not self._may_sync_here(self._pending_bytes):
            return False
        now = self._syncer.now_ns()
        if not self._waiting_since:
            self._waiting_since = now
        return 0 <= now - self._waiting_since < min(self._syncer.usual_ns // 2, WAIT_NS)

    def _take_group(self) -> tuple[list[Submitted], int]:
        group: list[Submitted] = []
        size = 0
        while self._pending and (not group or size + self._pending[0].size <= GROUP_BYTES):
            waiting = self._pending.popleft()
            group.append(waiting)
            size += waiting.size
        self._pending_bytes -= size
        self._expected, self._waiting, self._waiting_since = self._waiting, 0, 0
        if group:
            self.group_sizes.add(len(group))
        return group, size

    def _written_by_thread(
        self, group: list[Submitted], size: int, done: asyncio.Future[list[GoQueueError | None]]
    ) -> None:
        self._writing = False
        self._written(group, done.result(), size)

    def _written(self, group: list[Submitted], outcomes: list[GoQueueError | None], size: int) -> None:
        self._unsynced_bytes += size
        if not self._is_noted:
            self._is_noted = True
            self.first_write()
        if self._is_waited_for(group) and self._may_sync_here(0):
            # Start write-back early, while the loop applies the group and reads further requests.
            self._storage.begin_sync()
        lsn = self._storage.written_lsn
        for waiting, refusal in zip(group, outcomes, strict=True):
            if refusal is None and waiting.written is not _nothing:
                waiting.written()
            if waiting.durable and refusal is None:
                self._unsynced.append(_Unsynced(lsn, waiting.done))
            else:
                waiting.done(refusal)
        if self._unsynced:
            self._sync_soon()
        if self._pending:
            self._schedule()
        elif self._between or not self._unsynced:
            self._nothing_pending()

    def _is_waited_for(self, group: list[Submitted]) -> bool:
        for waiting in group:  # noqa: SIM110  # no generator is made for each write
            if waiting.durable:
                return True
        return False

    def _nothing_pending(self) -> None:
        while self._between and not self._pending:
            self._between.popleft()()
        if not self._unsynced and not self._pending:
            self._idle.set()

    # Syncing.

    def _sync_soon(self) -> None:
        if not self._may_sync_here(0):
            self._ask_thread()
        elif not self._will_sync:
            self._will_sync = True
            self._loop.call_soon(self._sync_here)

    def _may_sync_here(self, more: int) -> bool:
        size = self._unsynced_bytes + more
        if size > SYNC_HERE_BYTES or not self._syncer.may_run_here:
            return False
        return size <= LITTLE_BYTES or self._syncer.usual_ns <= VERY_QUICK_NS

    def _ask_thread(self) -> None:
        self._unsynced_bytes = 0
        self._syncer.ask()

    def _sync_here(self) -> None:
        self._will_sync = False
        if not self._unsynced:
            return
        if self._may_sync_here(0):
            self._unsynced_bytes = 0
            self._syncer.run_here()
        else:
            self._ask_thread()

    def _synced(self, result: Lsn | Exception) -> None:
        refusal = result if isinstance(result, GoQueueError) else None
        if isinstance(result, int):
            self._synced_lsn = result
        elif refusal is None:
            raise result
        while self._unsynced:
            waiting = self._unsynced[0]
            if refusal is None and waiting.lsn > self._synced_lsn:
                break
            self._unsynced.popleft()
            waiting.done(refusal)
        if self._unsynced:
            self._sync_soon()
        elif not self._pending and not self._writing:
            self._idle.set()
