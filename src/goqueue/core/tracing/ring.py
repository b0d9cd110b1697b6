"""Ring of the newest spans, in the order in which they were noted."""

from collections import deque
from collections.abc import Iterator

from goqueue.model.span import SpanRun

__all__ = ["Ring"]


class Ring:
    """Bounded by the number of spans in its runs; whole runs are evicted, the oldest first."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._runs: deque[SpanRun] = deque()
        self._spans = 0

    def __len__(self) -> int:
        """Number of spans."""
        return self._spans

    def __iter__(self) -> Iterator[SpanRun]:
        """The runs, the oldest first."""
        return iter(self._runs)

    def __reversed__(self) -> Iterator[SpanRun]:
        return reversed(self._runs)

    def add(self, run: SpanRun) -> None:
        if run.count > self.size:
            if not self.size:
                return
            # The last records of a run are its newest.
            run = run.last(self.size)
        self._runs.append(run)
        self._spans += run.count
        while self._spans > self.size:
            self._spans -= self._runs.popleft().count
