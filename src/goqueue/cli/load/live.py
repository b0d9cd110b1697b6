"""How a load is doing, on a terminal while it runs; silence elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from goqueue.cli.load.plan import Kind, Progress

__all__ = ["Show", "live_view"]

MB = 1e6

Show = Callable[[Kind, Progress], None]


@contextmanager
def live_view(seconds: float) -> Iterator[Show]:
    """On standard error, gone when the block ends."""
    if not sys.stderr.isatty():
        yield lambda _kind, _progress: None
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description:8}"),
        progress.BarColumn(bar_width=30),
        progress.TimeElapsedColumn(),
        progress.TextColumn("{task.fields[rates]}"),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[Kind, progress.TaskID] = {}

        def show(kind: Kind, done: Progress) -> None:
            if kind not in tasks:
                for task in tasks.values():
                    bars.update(task, visible=False)
                tasks[kind] = bars.add_task(kind.value, total=seconds, rates="")
            took = bars.tasks[tasks[kind]].elapsed or 0.0
            rates = f"{done.records / took:>10,.0f} msg/s {done.bytes / took / MB:>8,.1f} MB/s" if took else ""
            errors = f"  {done.errors:,} errors" if done.errors else ""
            bars.update(tasks[kind], completed=min(seconds, took), rates=rates + errors)

        yield show
