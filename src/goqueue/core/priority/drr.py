"""Lane scheduler of polls: deficit round robin, or strict order, with a bound on starvation.

A round gives every lane that has records a quantum, its share by weight of the records the round may take. The part of
a quantum that a lane could not take, because records are whole and a poll may ask for only one, is its deficit and is
carried to the next poll; a lane that took more owes it. The quantum follows the size of the poll, so a poll of one
works as well as one of a thousand, and over any number of polls a lane is within a few records of its share. A lane
that runs empty loses its deficit: it saves up nothing.

`plan` decides and changes nothing, `served` is the only writer. All state is in memory only: after a restart every lane
begins at zero. Under a backlog polls are alike, so the results of rounds are cached.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from goqueue.core.priority.policy import LanePolicy
from goqueue.model.ids import InstantNs
from goqueue.model.priority import LANES

__all__ = ["LaneScheduler", "Take", "by_lane"]

ROUND_RECORDS = 100
"""A larger poll is several rounds, so that one cut short, by its size in bytes perhaps, has served all lanes by then.
"""
MOST_OWED = 6 * ROUND_RECORDS
"""More than a lane can be owed in a round, whatever all lanes carry over."""

_NS_PER_MS = 1_000_000
_REMEMBERED = 1024
_NONE_OWED = (0.0,) * LANES


class Take(NamedTuple):
    """Number of records to take from this lane."""

    priority: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which is never called on a result


class LaneScheduler:
    """One for each group and partition, or group and topic. `waiting` is the number of ready records in each lane."""

    __slots__ = ("_deficits", "_passed_over_since", "_policy")

    def __init__(self, policy: LanePolicy) -> None:
        self._policy = policy
        self._deficits = _NONE_OWED
        """In records, by lane; negative if the lane owes records."""
        self._passed_over_since: list[InstantNs | None] = [None] * LANES
        """By lane with records, when it was last served or first seen to have some; None for an empty one."""

    def use(self, policy: LanePolicy) -> None:
        """Replace the policy; deficits stay."""
        self._policy = policy

    def enough(self, limit: int) -> int:
        """Backlog from which a lane is planned the same as with any larger one, for a poll of this size."""
        if limit > ROUND_RECORDS:
            return limit + MOST_OWED
        # Starved lanes come before the round, and owe for it.
        return _most_owed(self._deficits, limit) + 2 * LANES

    def plan(self, waiting: Sequence[int], limit: int, *, now: InstantNs) -> list[Take]:
        """The records to take, in this order; a lane may occur more than once.

        In total as many as there are, at most `limit`. `served` has to follow, also when fewer records or none were
        taken.
        """
        lanes = [lane for lane in range(LANES) if waiting[lane] > 0]
        if len(lanes) == 1 and limit > 0:
            return [Take(lanes[0], min(waiting[lanes[0]], limit))]
        left, deficits, takes = list(waiting), self._deficits, []
        for lane in self.starved(waiting, now=now)[: max(limit, 0)]:
            # One record ends the starvation; it counts like any other, so the weights hold in the long run.
            takes.append(Take(lane, 1))
            left[lane] -= 1
            deficits = (*deficits[:lane], deficits[lane] - 1, *deficits[lane + 1 :])
            limit -= 1
        while limit > 0 and any(left):
            if self._policy.strict:
                lane = next(lane for lane in range(LANES) if left[lane])
                round_takes: tuple[Take, ...] = (Take(lane, min(left[lane], limit)),)
            else:
                size = min(limit, ROUND_RECORDS)
                enough = _most_owed(deficits, size)
                counted = tuple([min(count, enough) for count in left])
                round_takes, deficits = _round(self._policy.weights, deficits, counted, size)
            for lane, count in round_takes:
                left[lane] -= count
                limit -= count
            takes += round_takes
        return takes

    def served(self, waiting: Sequence[int], taken: Iterable[tuple[int, int]], *, now: InstantNs) -> None:
        """Note what was really taken of what was waiting when the poll was planned."""
        counts = [0] * LANES
        for lane, count in taken:
            counts[lane] += count
        behind = tuple([lane for lane in range(LANES) if waiting[lane] > counts[lane]])
        self._deficits = _left_owed(self._policy.weights, self._deficits, behind, tuple(counts))
        since, self._passed_over_since = self._passed_over_since, [None] * LANES
        for lane in behind:
            before = since[lane]
            # After the clock was set back, a time in the future would never become old.
            self._passed_over_since[lane] = now if before is None or counts[lane] else min(before, now)

    def starved(self, waiting: Sequence[int], *, now: InstantNs) -> list[int]:
        """Lanes not served for too long, the longest first."""
        latest = now - self._policy.starvation_ms * _NS_PER_MS
        late = [
            (since, lane)
            for lane, since in enumerate(self._passed_over_since)
            if since is not None and since <= latest and waiting[lane] > 0
        ]
        return [lane for _, lane in sorted(late)]


def by_lane(takes: Sequence[Take]) -> dict[int, int]:
    """Number of records by lane, of a plan in which a lane may occur more than once."""
    if len(takes) == 1:
        return {takes[0].priority: takes[0].count}
    counts: dict[int, int] = {}
    for lane, count in takes:
        counts[lane] = counts.get(lane, 0) + count
    return counts


def _most_owed(deficits: Sequence[float], records: int) -> int:
    """Upper bound of a lane's deficit in a round of this size: a longer backlog changes nothing."""
    return records + ceil(sum(map(abs, deficits))) + 1


def _owed(weights: Sequence[int], deficits: Sequence[float], lanes: Sequence[int], records: int) -> dict[int, float]:
    """The records that each lane may take of a round of this size, which is also the limit for all together.

    Deficits of these lanes need not add up to zero, as lanes that left took theirs along; the difference is spread by
    weight.
    """
    spread = float(records)
    weight = 0
    for lane in lanes:
        spread -= deficits[lane]
        weight += weights[lane]
    return {lane: deficits[lane] + spread * weights[lane] / weight for lane in lanes}


@lru_cache(_REMEMBERED)
def _left_owed(
    weights: tuple[int, ...], deficits: tuple[float, ...], behind: tuple[int, ...], counts: tuple[int, ...]
) -> tuple[float, ...]:
    """The deficits of lanes that still have records, after these were taken."""
    owed = _owed(weights, deficits, behind, sum(counts[lane] for lane in behind))
    after = list(_NONE_OWED)
    for lane in behind:
        # Never more than a round: a lane that cannot be served for long must not get all the polls after that.
        after[lane] = min(max(owed[lane] - counts[lane], -ROUND_RECORDS), ROUND_RECORDS)
    return tuple(after)


@lru_cache(_REMEMBERED)
def _round(
    weights: tuple[int, ...], deficits: tuple[float, ...], waiting: tuple[int, ...], limit: int
) -> tuple[tuple[Take, ...], tuple[float, ...]]:
    """The records each lane takes, and the deficits afterwards."""
    after = list(deficits)
    counts: dict[int, int] = {}
    ready = [lane for lane in range(LANES) if waiting[lane] > 0]
    owed = _owed(weights, after, ready, limit)
    while emptied := [lane for lane in owed if waiting[lane] <= owed[lane]]:
        # These lanes take all they have, and the rest of their quanta goes to the others.
        for lane in emptied:
            counts[lane] = min(waiting[lane], limit)
            after[lane] = owed[lane] - counts[lane]
            limit -= counts[lane]
        owed = _owed(weights, after, [lane for lane in owed if lane not in counts], limit)
    for lane in owed:
        counts[lane] = min(max(int(owed[lane]), 0), limit)
        limit -= counts[lane]
    while limit and owed:
        # Less than one record is left for each: the lanes owed most get a whole record and owe the rest of it.
        lane = max((lane for lane in owed if waiting[lane] > counts[lane]), key=lambda lane: owed[lane] - counts[lane])
        counts[lane] += 1
        limit -= 1
    for lane in owed:
        after[lane] = owed[lane] - counts[lane]
    return tuple(Take(lane, counts[lane]) for lane in ready if counts.get(lane)), tuple(after)
