"""How far `goqueue produce` is: a line on a terminal once it takes longer, and silence elsewhere."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["ProgressLine", "progress_line", "silence"]

SHOW_AFTER_S = 1.0


class ProgressLine(Protocol):
    def advance(self, more_bytes: int, records: int) -> None: ...


class _Silence:
    def advance(self, more_bytes: int, records: int) -> None:
        pass


@contextmanager
def silence() -> Iterator[ProgressLine]:
    yield _Silence()


@contextmanager
def progress_line(total_bytes: int | None) -> Iterator[ProgressLine]:
    """Gone when the block ends."""
    if not sys.stderr.isatty():
        with silence() as nothing:
            yield nothing
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn("{task.fields[records]:,} records"),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    bars = progress.Progress(*columns, console=Console(stderr=True), transient=True)
    try:
        yield _Bar(bars, total_bytes)
    finally:
        bars.stop()


class _Bar:
    """Moves with the bytes that were read."""

    def __init__(self, bars: "Progress", total_bytes: int | None) -> None:
        self._bars = bars
        self._task = bars.add_task("", total=total_bytes, records=0)
        self._show_at = asyncio.get_running_loop().time() + SHOW_AFTER_S
        self._is_shown = False

    def advance(self, more_bytes: int, records: int) -> None:
        self._bars.update(self._task, advance=more_bytes, records=records)
        if not self._is_shown and asyncio.get_running_loop().time() >= self._show_at:
            self._is_shown = True
            self._bars.start()
