"""The thread that syncs: asked from the event loop, it answers there.

While it is busy, to ask it costs nothing: it syncs again as soon as it is through, without having slept.
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

__all__ = ["SyncThread"]

NS_PER_S = 1_000_000_000


class SyncThread:
    """Use as a context manager; `done` is called in the event loop after each sync, with its result or its error."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self.seconds = Histogram(SECONDS)
        """How long each sync took."""
        self._loop = asyncio.get_running_loop()
        self._requests: SimpleQueue[bool] = SimpleQueue()
        self._is_asked = False
        self._thread = threading.Thread(target=self._run, name="gq-sync")
        self.done: Callable[[Lsn | Exception], None]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._requests.put(False)
        self._thread.join()

    def ask(self) -> None:
        """Have everything synced that is written by now."""
        if not self._is_asked:
            self._is_asked = True
            self._requests.put(True)

    def _run(self) -> None:
        while self._requests.get():
            # Before the sync begins: whoever asks from here on may have written something that it does not reach.
            self._is_asked = False
            began = self._clock.now_ns()
            result: Lsn | Exception
            try:
                result = self._storage.sync()
            except Exception as error:
                result = error
            self.seconds.add(max(0, self._clock.now_ns() - began) / NS_PER_S)
            self._loop.call_soon_threadsafe(self.done, result)
