"""Progress of a pipeline on standard error: a bar on a terminal, and a line now and then elsewhere."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Protocol, TextIO

__all__ = ["LINE_EVERY_S", "TaskProgress", "task_progress"]

LINE_EVERY_S = 10.0
STARTING, PLANNING = "Spark is starting", "planning"


class TaskProgress(Protocol):
    def started(self) -> None:
        """Spark runs, and no task of it is known yet."""

    def tell(self, done: int, known: int) -> None:
        """Tasks, from any thread."""


@contextmanager
def task_progress(title: str, *, every_s: float = LINE_EVERY_S) -> Iterator[TaskProgress]:
    """The bar is taken away when the block ends; lines come only of what takes longer than `every_s`."""
    if not sys.stderr.isatty():
        with _lines(title, sys.stderr, every_s) as lines:
            yield lines
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TextColumn("{task.fields[state]}"),
        progress.TimeElapsedColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(title, total=None, state=STARTING)

        def show(state: str, done: int, known: int) -> None:
            bars.update(task, completed=done, total=known or None, state=state)

        yield _State(show)


class _State:
    """What is going on, in words."""

    def __init__(self, show: "_Show") -> None:
        self._show = show
        self.text = STARTING

    def started(self) -> None:
        self._change(PLANNING, 0, 0)

    def tell(self, done: int, known: int) -> None:
        self._change(f"{done:,} of {known:,} tasks" if known else PLANNING, done, known)

    def _change(self, text: str, done: int, known: int) -> None:
        self.text = text
        self._show(text, done, known)


class _Show(Protocol):
    def __call__(self, state: str, done: int, known: int, /) -> None: ...


@contextmanager
def _lines(title: str, file: TextIO, every_s: float) -> Iterator[_State]:
    state, ended = _State(lambda *_: None), threading.Event()

    def write() -> None:
        for number in count(1):
            if ended.wait(every_s):
                return
            print(f"{title}: {state.text}, {number * every_s:.0f} s", file=file, flush=True)

    thread = threading.Thread(target=write, name="goqueue-progress", daemon=True)
    thread.start()
    try:
        yield state
    finally:
        ended.set()
        thread.join()
