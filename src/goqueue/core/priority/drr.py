"""From which lane a poll takes how many: deficit round robin, or strict order, with a bound on starvation.

A round gives every lane that has records a quantum, its share by weight of the records the round may take. What a lane
could not take of it, because records are whole and a poll may ask for one only, is its deficit and is carried to the
next poll; a lane that took more owes it. The quantum follows the size of the poll, so a poll of one works as well as
one of a thousand, and over any stretch of polls a lane is within a few records of its share. A lane that runs empty
loses what it was owed: it saves nothing up for later.

`plan` decides and changes nothing, `served` is the only writer. All of it is in memory only: after a restart every
lane begins at zero.
"""

from collections.abc import Iterable, MutableSequence, Sequence
from typing import NamedTuple

from goqueue.core.priority.policy import LanePolicy
from goqueue.model.ids import InstantNs
from goqueue.model.priority import LANES

__all__ = ["MOST_OWED", "LaneScheduler", "Take"]

ROUND_RECORDS = 100
"""A larger poll is several rounds, so that one cut short, by its bytes perhaps, has served all lanes by then."""
MOST_OWED = 6 * ROUND_RECORDS
"""More than a lane can be owed in a round, whatever all of them carry over: a longer backlog changes nothing."""

_NS_PER_MS = 1_000_000


class Take(NamedTuple):
    """So many records of this lane."""

    priority: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody calls on a result


class LaneScheduler:
    """One for each group and partition, or group and topic. `waiting` is how many are ready in each lane."""

    def __init__(self, policy: LanePolicy) -> None:
        self._policy = policy
        self._deficits = [0.0] * LANES
        """In records; what a lane is owed, or owes when negative."""
        self._passed_over_since: list[InstantNs | None] = [None] * LANES
        """When a lane that has records was last served, or first seen to have some; None for an empty one."""

    def use(self, policy: LanePolicy) -> None:
        """From now on; what lanes are owed stays."""
        self._policy = policy

    def plan(self, waiting: Sequence[int], limit: int, *, now: InstantNs) -> list[Take]:
        """What to take, in this order; a lane may come more than once.

        Together as many as there are, `limit` at most. `served` has to follow, also when less was taken or nothing.
        """
        lanes = [lane for lane in range(LANES) if waiting[lane] > 0]
        if len(lanes) == 1 and limit > 0:
            return [Take(lanes[0], min(waiting[lanes[0]], limit))]
        left, deficits, takes = list(waiting), self._deficits.copy(), []
        for lane in self.starved(waiting, now=now)[: max(limit, 0)]:
            # One record ends the starvation; it counts like any other, so the weights hold in the long run.
            takes.append(Take(lane, 1))
            left[lane] -= 1
            deficits[lane] -= 1
            limit -= 1
        while limit > 0 and (ready := [lane for lane in range(LANES) if left[lane] > 0]):
            if self._policy.strict or len(ready) == 1:
                counts = {ready[0]: min(left[ready[0]], limit)}
            else:
                counts = _round(self._policy.weights, deficits, left, ready, min(limit, ROUND_RECORDS))
            for lane, count in counts.items():
                left[lane] -= count
                limit -= count
            takes += [Take(lane, counts[lane]) for lane in ready if counts.get(lane)]
        return takes

    def served(self, waiting: Sequence[int], taken: Iterable[Take], *, now: InstantNs) -> None:
        """Note what was really taken of what was waiting when the poll was planned."""
        counts = [0] * LANES
        for lane, count in taken:
            counts[lane] += count
        behind = [lane for lane in range(LANES) if waiting[lane] > counts[lane]]
        owed = _owed(self._policy.weights, self._deficits, behind, sum(counts[lane] for lane in behind))
        self._deficits = [0.0] * LANES
        since, self._passed_over_since = self._passed_over_since, [None] * LANES
        for lane in behind:
            # Never more than a round: a lane that cannot be served for long must not have all the polls after that.
            self._deficits[lane] = min(max(owed[lane] - counts[lane], -ROUND_RECORDS), ROUND_RECORDS)
            before = since[lane]
            # The time of a clock that was set back since would never come to be long ago.
            self._passed_over_since[lane] = now if before is None or counts[lane] else min(before, now)

    def starved(self, waiting: Sequence[int], *, now: InstantNs) -> list[int]:
        """Lanes that have been passed over for too long, the longest first."""
        latest = now - self._policy.starvation_ms * _NS_PER_MS
        late = [
            (since, lane)
            for lane, since in enumerate(self._passed_over_since)
            if since is not None and since <= latest and waiting[lane] > 0
        ]
        return [lane for _, lane in sorted(late)]


def _owed(weights: Sequence[int], deficits: Sequence[float], lanes: Sequence[int], records: int) -> dict[int, float]:
    """What each lane may take of so many records, which is also what all may take together.

    Deficits of these lanes need not add up to zero, as others left with theirs; the difference is spread by weight.
    """
    spread = float(records)
    weight = 0
    for lane in lanes:
        spread -= deficits[lane]
        weight += weights[lane]
    return {lane: deficits[lane] + spread * weights[lane] / weight for lane in lanes}


def _round(
    weights: Sequence[int], deficits: MutableSequence[float], waiting: Sequence[int], ready: Sequence[int], limit: int
) -> dict[int, int]:
    """How many each lane takes; the deficits are those after it."""
    counts: dict[int, int] = {}
    owed = _owed(weights, deficits, ready, limit)
    while emptied := [lane for lane in owed if waiting[lane] <= owed[lane]]:
        # These take all they have, and what they leave of their quanta is for the others.
        for lane in emptied:
            counts[lane] = min(waiting[lane], limit)
            deficits[lane] = owed[lane] - counts[lane]
            limit -= counts[lane]
        owed = _owed(weights, deficits, [lane for lane in owed if lane not in counts], limit)
    for lane in owed:
        counts[lane] = min(max(int(owed[lane]), 0), limit)
        limit -= counts[lane]
    while limit and owed:
        # Less than one is left for each: the lanes that are owed most get a whole record and owe the rest of it.
        lane = max((lane for lane in owed if waiting[lane] > counts[lane]), key=lambda lane: owed[lane] - counts[lane])
        counts[lane] += 1
        limit -= 1
    for lane in owed:
        deficits[lane] = owed[lane] - counts[lane]
    return counts
