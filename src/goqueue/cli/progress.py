"""A progress bar on a terminal, and silence elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from goqueue.offline.findings import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from rich import progress

__all__ = ["progress_bar"]


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Shows bytes, rate and the time left on standard error while the block runs, then takes it away."""
    if not sys.stderr.isatty():
        yield NO_PROGRESS
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(binary_units=True),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield _Bar(bars)


class _Bar:
    """One bar at a time: a new beginning takes the old one's place."""

    def __init__(self, bars: "progress.Progress") -> None:
        self._bars = bars
        self._task = bars.add_task("", total=None, visible=False)

    def begin(self, title: str, total_bytes: int) -> None:
        self._bars.reset(self._task, description=title, total=max(1, total_bytes), visible=True)

    def advance(self, done_bytes: int) -> None:
        self._bars.advance(self._task, done_bytes)
