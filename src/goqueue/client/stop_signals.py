"""Signals that ask a program to stop, as long as something runs that can stop in good order."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

__all__ = ["StopSignals"]

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """Inside the block the first signal calls `stop`; the next one does what it did before.

    Python handles signals in the main thread: a block in another thread changes nothing.
    """

    def __init__(self, stop: Callable[[], object]) -> None:
        self._stop = stop
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for one in SIGNALS:
                # None is a handler that was not installed from Python, and cannot be put back.
                if signal.getsignal(one) is not None:
                    self._before[one] = signal.signal(one, self._received)
        return self

    def __exit__(self, *_: object) -> None:
        before, self._before = self._before, {}
        for one, handler in before.items():
            signal.signal(one, handler)

    def _received(self, _number: int, _frame: FrameType | None) -> None:
        self.__exit__()
        self._stop()
