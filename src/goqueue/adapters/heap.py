"""Memory that a busy time leaves free goes back to the system.

The C library keeps what was freed, to use it again. Where that lies between pieces in use it would stay for good: after
a million records a seventh of what the broker holds.
"""

from collections.abc import Callable

from goqueue.engine.ports import Clock

__all__ = ["give_back", "give_back_after_busy_times"]

EVERY_MS = 250


async def give_back_after_busy_times(clock: Clock, requests: Callable[[], int], give_back: Callable[[], None]) -> None:
    """Until cancelled, whenever requests cease; those that come meanwhile have to wait until it is done."""
    total, before = requests(), 0
    while True:
        await clock.sleep_ms(EVERY_MS)
        asked, total = requests() - total, requests()
        if before and not asked:
            give_back()
        before = asked


def give_back() -> None:
    """Takes half a millisecond for some megabytes, and nine were seen after a busy time.

    Where the C library has no such function, nothing happens.
    """
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
