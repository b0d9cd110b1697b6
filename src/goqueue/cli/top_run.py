"""The work of `goqueue top`: look at the broker again and again, draw, listen to keys."""

import asyncio
import contextlib
import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from goqueue.adapters.clock import SystemClock
from goqueue.cli.http_broker import ask_text
from goqueue.cli.top_figures import Frame, Sample, frame_of, parse_metrics
from goqueue.cli.top_view import Sorting, render
from goqueue.cli.waiting import in_thread, until_interrupted
from goqueue.errors import BrokerUnreachable

__all__ = ["one_frame", "watch"]

ANSWER_WITHIN_S = 5.0
LINES_AROUND = 13
"""What is neither a topic nor a group: the head, the titles, the keys."""
UP, DOWN = b"\x1b[A", b"\x1b[B"


async def one_frame(http: str, interval_s: float) -> Frame:
    before = await _look(http)
    await SystemClock().sleep_ms(round(interval_s * 1000))
    return frame_of(before, await _look(http))


async def _look(http: str) -> Sample:
    text = await in_thread(partial(ask_text, http, "/metrics", within_s=ANSWER_WITHIN_S))
    return parse_metrics(text, SystemClock().now_ns() / 1e9)


async def watch(http: str, interval_s: float, sorting: Sorting) -> None:
    """Until q or Ctrl-C."""
    await until_interrupted(_Watch(http, interval_s, sorting).run())


class _Watch:
    def __init__(self, http: str, interval_s: float, sorting: Sorting) -> None:
        self._http = http
        self._interval_s = interval_s
        self._sorting = sorting
        self._skip = 0
        self._before: Sample | None = None
        self._frame: Frame | None = None
        self._trouble: str | None = None
        self._keys: asyncio.Queue[bytes] = asyncio.Queue(maxsize=100)

    async def run(self) -> None:
        from rich.console import Console
        from rich.live import Live

        console = Console()
        with _keyboard(self._keys), Live(console=console, screen=True, auto_refresh=False) as live:
            looking = asyncio.ensure_future(self._look_on())
            try:
                while True:
                    room = max(1, (console.height - LINES_AROUND) // 2)
                    shown = render(
                        self._frame, self._http, self._trouble, sorting=self._sorting, skip=self._skip, room=room
                    )
                    live.update(shown, refresh=True)
                    if await self._key() == b"q":
                        return
            finally:
                looking.cancel()

    async def _look_on(self) -> None:
        while True:
            try:
                after = await _look(self._http)
                if self._before is not None:
                    self._frame = frame_of(self._before, after)
                self._before, self._trouble = after, None
            except BrokerUnreachable as error:
                self._trouble = error.message
            with contextlib.suppress(asyncio.QueueFull):
                # Wakes whoever draws.
                self._keys.put_nowait(b"")
            await SystemClock().sleep_ms(round(self._interval_s * 1000))

    async def _key(self) -> bytes:
        key = await self._keys.get()
        if key == b"s":
            order = list(Sorting)
            self._sorting = order[(order.index(self._sorting) + 1) % len(order)]
        elif key in (UP, DOWN):
            most = 0 if self._frame is None else max(len(self._frame.topics), len(self._frame.groups))
            self._skip = min(most, max(0, self._skip + (1 if key == DOWN else -1)))
        return key


@contextmanager
def _keyboard(keys: asyncio.Queue[bytes]) -> Iterator[None]:
    """Keys as they are pressed; none when standard input is no terminal."""
    if not sys.stdin.isatty():
        yield
        return
    fd = sys.stdin.fileno()
    loop = asyncio.get_running_loop()
    saved = termios.tcgetattr(fd)

    def pressed() -> None:
        with contextlib.suppress(asyncio.QueueFull):
            keys.put_nowait(os.read(fd, 16))

    tty.setcbreak(fd)
    loop.add_reader(fd, pressed)
    try:
        yield
    finally:
        loop.remove_reader(fd)
        termios.tcsetattr(fd, termios.TCSADRAIN, saved)
