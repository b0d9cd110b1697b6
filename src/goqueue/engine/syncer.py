"""Syncer: makes written data durable, on the event loop if the disk is fast, otherwise in a thread.

Requests made while the thread syncs are merged: it syncs once more when it has finished, without sleeping in between.
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
"""On a slower disk the event loop does not sync itself."""


class Syncer:
    """Use as a context manager; `done` is called on the event loop after each sync, with its result or its error."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self.seconds = Histogram(SECONDS)
        """Duration of each sync."""
        self._loop = asyncio.get_running_loop()
        self._requests: SimpleQueue[bool] = SimpleQueue()
        self._is_asked = False
        self.usual_ns = 0
        """Recent duration of a sync."""
        self.now_ns = clock.now_ns
        self._unanswered = 0
        self._thread = threading.Thread(target=self._run, name="gq-sync")
        self.may_run_here = True
        """True if the thread is idle and the disk has been fast enough to sync on the event loop."""
        self.done: Callable[[Lsn | Exception], None]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._requests.put(False)
        self._thread.join()

    def run_here(self) -> None:
        """Sync on the event loop, which saves two thread switches."""
        result, took_ns = self._sync()
        self.done(result)
        self._note(took_ns)

    def ask(self) -> None:
        """Sync everything written so far, in the thread."""
        if not self._is_asked:
            self._is_asked = True
            self._unanswered += 1
            self.may_run_here = False
            self._requests.put(True)

    def _run(self) -> None:
        while self._requests.get():
            # Cleared before the sync: a later request may follow a write that this sync does not cover.
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
        # Decays, so that one slow sync is forgotten after some fast ones.
        self.usual_ns = max(took_ns, self.usual_ns - self.usual_ns // 8)
        self._look()
        self.seconds.add(took_ns / NS_PER_S)

    def _look(self) -> None:
        self.may_run_here = not self._unanswered and self.usual_ns < QUICK_NS
