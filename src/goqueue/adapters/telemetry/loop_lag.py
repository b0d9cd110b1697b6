"""Event-loop lag: the delay of due callbacks, which every request to the broker waits for."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from goqueue.engine.histogram import SECONDS, Histogram

__all__ = ["loop_lag"]

EVERY_S = 0.1


class _Watch:
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.seconds = Histogram(SECONDS)
        self._set()

    def _set(self) -> None:
        self._due = self._loop.time() + EVERY_S
        self._timer = self._loop.call_later(EVERY_S, self._look)

    def _look(self) -> None:
        self.seconds.add(max(0.0, self._loop.time() - self._due))
        self._set()

    def stop(self) -> None:
        self._timer.cancel()


@contextmanager
def loop_lag() -> Iterator[Histogram]:
    """Histogram of the lag, measured inside the context."""
    watch = _Watch()
    try:
        yield watch.seconds
    finally:
        watch.stop()
