"""Event-loop lag: the delay of due callbacks, which every request to the broker waits for."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from goqueue.engine.histogram import SECONDS, Histogram

__all__ = ["loop_lag"]

EVERY_S = 0.1
IDLE_S = 5.0
"""While there are no requests, so that an idle broker sleeps."""
IDLE_AFTER = 10
"""Looks without a request in between."""


class _Watch:
    def __init__(self, requests: Callable[[], int]) -> None:
        self._loop = asyncio.get_running_loop()
        self._requests = requests
        self._seen = requests()
        self._idle_looks = 0
        self.seconds = Histogram(SECONDS)
        self._set(EVERY_S)

    def _set(self, after_s: float) -> None:
        self._due = self._loop.time() + after_s
        self._timer = self._loop.call_later(after_s, self._look)

    def _look(self) -> None:
        self.seconds.add(max(0.0, self._loop.time() - self._due))
        before, self._seen = self._seen, self._requests()
        self._idle_looks = self._idle_looks + 1 if self._seen == before else 0
        self._set(IDLE_S if self._idle_looks >= IDLE_AFTER else EVERY_S)

    def stop(self) -> None:
        self._timer.cancel()


@contextmanager
def loop_lag(requests: Callable[[], int]) -> Iterator[Histogram]:
    """Histogram of the lag, measured inside the context; `requests` says how many there were so far."""
    watch = _Watch(requests)
    try:
        yield watch.seconds
    finally:
        watch.stop()
