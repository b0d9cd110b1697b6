"""Timeline of a chart: the last ten minutes second by second, and the last hour in means of ten seconds."""

from array import array
from collections.abc import Sequence
from typing import Literal, get_args

import msgspec

__all__ = ["FINE_KEPT", "RANGES", "Minutes", "Points", "Timeline"]

Minutes = Literal[1, 5, 10, 60]
RANGES: tuple[int, ...] = get_args(Minutes)
"""That a chart can show."""
FINE_KEPT = 600
"""Rows, one a second."""
FINE_MINUTES = 10
COARSE_KEPT = 360
COARSE_S = 10


class Points(msgspec.Struct, frozen=True):
    """More of a chart: instants in Unix seconds, and for each of its lines as many values."""

    t: list[float]
    y: list[list[float]]


class Timeline:
    """Rows of named values. A row takes eight bytes for each value, and there are 960 rows at most."""

    def __init__(self, names: Sequence[str]) -> None:
        self._columns = {name: number for number, name in enumerate(names, 1)}
        self._fine = _Ring(len(names) + 1, FINE_KEPT)
        self._coarse = _Ring(len(names) + 1, COARSE_KEPT)
        self._bucket = 0
        """The ten seconds that `_sums` are about."""
        self._sums = [0.0] * len(names)
        self._count = 0

    def __len__(self) -> int:
        """Rows of one second."""
        return len(self._fine)

    def add(self, at: float, values: Sequence[float]) -> None:
        """What happened in the second that ends at `at`, in Unix seconds; of the same second only once."""
        self._fine.add([at, *values])
        bucket = int(at // COARSE_S)
        if bucket != self._bucket:
            if self._count:
                self._coarse.add(self._mean())
            self._bucket, self._count, self._sums = bucket, 0, [0.0] * len(values)
        self._sums = [total + value for total, value in zip(self._sums, values, strict=True)]
        self._count += 1

    def last(self, name: str) -> float:
        """The newest value, 0 before there is one."""
        return self._fine.newest(self._columns[name]) if len(self._fine) else 0.0

    def points(self, names: Sequence[str], minutes: int, *, is_first: bool) -> Points:
        """All rows of the last minutes; afterwards only those that are new or have changed since the last call."""
        if minutes <= FINE_MINUTES:
            rows = minutes * 60 if is_first else 1
            return Points(self._fine.column(0, rows), [self._fine.column(self._columns[one], rows) for one in names])
        rows = COARSE_KEPT if is_first else 1
        times, lines = self._coarse.column(0, rows), [self._coarse.column(self._columns[one], rows) for one in names]
        if self._count:
            # The ten seconds under way: the same instant is sent again until they are over.
            mean = self._mean()
            times.append(mean[0])
            for line, name in zip(lines, names, strict=True):
                line.append(mean[self._columns[name]])
        return Points(times, lines)

    def _mean(self) -> list[float]:
        return [float(self._bucket * COARSE_S), *(total / self._count for total in self._sums)]


class _Ring:
    """The newest rows of floats; it grows to its limit, then the oldest row is written over."""

    def __init__(self, width: int, most: int) -> None:
        self._width = width
        self._most = most
        self._values = array("d")
        self._next = 0

    def __len__(self) -> int:
        return len(self._values) // self._width

    def add(self, row: Sequence[float]) -> None:
        if len(self) < self._most:
            self._values.extend(row)
            return
        start = self._next * self._width
        self._values[start : start + self._width] = array("d", row)
        self._next = (self._next + 1) % self._most

    def newest(self, column: int) -> float:
        return self._values[((self._next - 1) % len(self)) * self._width + column]

    def column(self, number: int, rows: int) -> list[float]:
        """Of the newest rows, the oldest of them first."""
        values = self._values[number :: self._width].tolist()
        return (values[self._next :] + values[: self._next])[-rows:]
