"""Standard output for a program that has other things to do while a pager or a slow pipe takes its time."""

import asyncio
import os
import sys
from functools import partial

from goqueue.cli.waiting import in_thread

__all__ = ["StandardOutput"]

FINISH_WITHIN_S = 1.0


class StandardOutput:
    """Writes bytes in order. A write that is cancelled gets a moment to finish; after one that does not, `is_stuck`."""

    def __init__(self) -> None:
        self._fd = sys.stdout.fileno()
        self.is_stuck = False

    async def write(self, data: bytes) -> None:
        if not data or self.is_stuck:
            return
        writing = asyncio.ensure_future(in_thread(partial(_write_all, self._fd, data)))
        try:
            await asyncio.shield(writing)  # noqa: TID251  # its exception is retrieved below
        except asyncio.CancelledError:
            await asyncio.wait([writing], timeout=FINISH_WITHIN_S)
            self.is_stuck = not writing.done() or writing.exception() is not None
            raise


def _write_all(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]
