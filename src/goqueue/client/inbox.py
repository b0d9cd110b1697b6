"""Messages that have arrived, and how far they were given to the application.

What was given is in hand until the application asks for more; only then is it done, and committed by itself where
that is wanted. So what an application was working on when it failed is delivered again.

The blocking consumer takes messages from the application's thread while the event loop adds and drops some: a lock
keeps the two apart.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from threading import Lock

from goqueue.client.message import Message
from goqueue.model.log import LogId

__all__ = ["Inbox"]


class Inbox:
    """Offsets in here are those at which to go on, as they are committed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._ready: deque[tuple[LogId, int, deque[Message]]] = deque()
        """By partition, with the offset that follows the last of these messages."""
        self._in_hand: dict[LogId, int] = {}
        self._done: dict[LogId, int] = {}

    # Messages.

    def put(self, log: LogId, messages: Sequence[Message], next_offset: int) -> None:
        if messages:
            with self._lock:
                self._ready.append((log, next_offset, deque(messages)))

    def take(self, limit: int) -> list[Message]:
        """What was taken before is done."""
        with self._lock:
            self._finish()
            taken: list[Message] = []
            while self._ready and len(taken) < limit:
                log, next_offset, messages = self._ready[0]
                while messages and len(taken) < limit:
                    taken.append(messages.popleft())
                if not messages:
                    self._ready.popleft()
                self._in_hand[log] = taken[-1].offset + 1 if messages else next_offset
            return taken

    def note(self, log: LogId, next_offset: int) -> None:
        """Records that did not come through here are in the application's hands."""
        with self._lock:
            self._in_hand[log] = next_offset

    def finish(self) -> None:
        """The application is done with what it has."""
        with self._lock:
            self._finish()

    def _finish(self) -> None:
        if self._in_hand:
            self._done.update(self._in_hand)
            self._in_hand.clear()

    def abandon(self) -> None:
        """The application failed over what it has."""
        with self._lock:
            self._in_hand.clear()

    def is_holding(self, partitions: Collection[LogId]) -> bool:
        """Whether the application has something of these in hand."""
        with self._lock:
            return any(log in self._in_hand for log in partitions)

    def has_ready(self) -> bool:
        """Whether there is a message to give."""
        with self._lock:
            return bool(self._ready)

    def first_ready(self, log: LogId) -> int | None:
        """Offset of the next message of the partition that is here."""
        with self._lock:
            return next((messages[0].offset for one, _, messages in self._ready if one == log), None)

    def drop(self, partitions: Collection[LogId]) -> None:
        """Messages of these that were not given yet never will be."""
        with self._lock:
            self._ready = deque(one for one in self._ready if one[0] not in partitions)

    # Offsets.

    def uncommitted(self, *, in_hand: bool) -> dict[LogId, int]:
        """Everything that was given and not committed; with or without what the application still works on."""
        with self._lock:
            return {**self._done, **self._in_hand} if in_hand else dict(self._done)

    def committed(self, offsets: Mapping[LogId, int]) -> None:
        with self._lock:
            for log, offset in offsets.items():
                for known in (self._done, self._in_hand):
                    if known.get(log, offset + 1) <= offset:
                        del known[log]

    def rewind(self, log: LogId, offset: int) -> None:
        """What lies behind this will be given again, so it is not done."""
        with self._lock:
            for known in (self._done, self._in_hand):
                if known.get(log, offset) > offset:
                    known[log] = offset

    def forget(self, partitions: Iterable[LogId]) -> None:
        """Offsets of these are another consumer's business now."""
        with self._lock:
            for log in partitions:
                self._done.pop(log, None)
                self._in_hand.pop(log, None)
