"""Makes what was written durable: right on the event loop where that is quick, or in a thread that answers there.

While the thread is busy, to ask it costs nothing: it syncs again as soon as it is through, without having slept.
"""

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from types import TracebackType
from typing import Self

from goqueue.engine.histogram import SECONDS, Histogram
from goqueue.engine.ports import Clock, Storage
from goqueue.model.ids import Lsn

__all__ = ["Syncer"]

NS_PER_S = 1_000_000_000
QUICK_NS = 3_000_000
"""A disk that needs longer is not waited for on the event loop."""


class Syncer:
    """Use as a context manager; `done` is called in the event loop after each sync, with its result or its error."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self.seconds = Histogram(SECONDS)
        """How long each sync took."""
        self._loop = asyncio.get_running_loop()
        self._requests: SimpleQueue[bool] = SimpleQueue()
        self._is_asked = False
        self.usual_ns = 0
        """How long a sync has taken of late."""
        self.now_ns = clock.now_ns
        self._unanswered = 0
        self._thread = threading.Thread(target=self._run, name="gq-sync")
        self.may_run_here = True
        """The thread has nothing to do, and the disk has been quick enough to wait for it."""
        self.done: Callable[[Lsn | Exception], None]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._requests.put(False)
        self._thread.join()

    def run_here(self) -> None:
        """Sync on the event loop, without two changes of threads."""
        result, took_ns = self._sync()
        self.done(result)
        self._note(took_ns)

    def ask(self) -> None:
        """Have everything synced that is written by now, in the thread."""
        if not self._is_asked:
            self._is_asked = True
            self._unanswered += 1
            self.may_run_here = False
            self._requests.put(True)

    def _run(self) -> None:
        while self._requests.get():
            # Before the sync begins: whoever asks from here on may have written something that it does not reach.
            self._is_asked = False
            self._loop.call_soon_threadsafe(self._answer, *self._sync())

    def _answer(self, result: Lsn | Exception, took_ns: int) -> None:
        self._unanswered -= 1
        self._look()
        self.done(result)
        self._note(took_ns)

    def _sync(self) -> tuple[Lsn | Exception, int]:
        began = self._clock.now_ns()
        result: Lsn | Exception
        try:
            result = self._storage.sync()
        except Exception as error:
            result = error
        return result, max(0, self._clock.now_ns() - began)

    def _note(self, took_ns: int) -> None:
        # One slow sync is forgotten after some quick ones.
        self.usual_ns = max(took_ns, self.usual_ns - self.usual_ns // 8)
        self._look()
        self.seconds.add(took_ns / NS_PER_S)

    def _look(self) -> None:
        self.may_run_here = not self._unanswered and self.usual_ns < QUICK_NS
