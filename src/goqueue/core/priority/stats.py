"""Lane statistics: records waiting and in progress, and rates in and out."""

from math import exp

import msgspec

from goqueue.model.ids import InstantNs
from goqueue.model.priority import LANES

__all__ = ["LaneFlow", "LaneView"]

RATE_OVER_NS = 10 * 1_000_000_000
"""Time constant of a rate: a record older by this counts about a third."""

_SECOND_NS = 1_000_000_000


class LaneView(msgspec.Struct, frozen=True):
    """One lane of one partition, for one group."""

    priority: int
    ready: int
    in_flight: int
    enqueued_per_s: float
    dequeued_per_s: float
    last_served_ns: InstantNs | None
    oldest_waiting_ns: InstantNs | None
    """Publish time of the record that has been ready for longest."""


class LaneFlow:
    """Rates of records by lane: one instance for publishes to a partition, one for deliveries to a group.

    A rate is an exponentially weighted mean, so five numbers are all the state.
    """

    __slots__ = ("_last", "_recent", "_totals")

    def __init__(self) -> None:
        self._totals = [0] * LANES
        self._recent = [0.0] * LANES
        self._last: list[InstantNs | None] = [None] * LANES

    def note(self, priority: int, count: int, *, now: InstantNs) -> None:
        if count > 0:
            self._recent[priority] = self._faded(priority, now) + count
            self._totals[priority] += count
            self._last[priority] = now

    def total(self, priority: int) -> int:
        return self._totals[priority]

    def per_second(self, priority: int, *, now: InstantNs) -> float:
        return self._faded(priority, now) * _SECOND_NS / RATE_OVER_NS

    def last(self, priority: int) -> InstantNs | None:
        """When the last record was counted: for deliveries, when the lane was last served."""
        return self._last[priority]

    def _faded(self, priority: int, now: InstantNs) -> float:
        last = self._last[priority]
        # After the clock was set back, older records must not count more than new ones.
        return 0.0 if last is None else self._recent[priority] * exp(min(last - now, 0) / RATE_OVER_NS)
