"""Agenda of schedules by due time: a cache beside the state, rebuilt from it after a restart."""

from bisect import bisect_left, bisect_right, insort

from goqueue.model.ids import InstantNs

__all__ = ["Agenda"]


class Agenda:
    """A sorted list: there are at most some thousands of schedules, and moving one takes microseconds."""

    def __init__(self) -> None:
        self._instants: dict[str, InstantNs] = {}
        self._sorted: list[tuple[InstantNs, str]] = []

    def put(self, schedule_id: str, at: InstantNs | None) -> None:
        """Set the due time; None removes the schedule."""
        old = self._instants.pop(schedule_id, None)
        if old is not None:
            del self._sorted[bisect_left(self._sorted, (old, schedule_id))]
        if at is not None:
            self._instants[schedule_id] = at
            insort(self._sorted, (at, schedule_id))

    def at(self, schedule_id: str) -> InstantNs | None:
        return self._instants.get(schedule_id)

    def earliest(self) -> InstantNs | None:
        return self._instants[self._sorted[0][1]] if self._sorted else None

    def due(self, now: InstantNs) -> list[str]:
        """Ids of due schedules by due time."""
        end = bisect_right(self._sorted, now, key=lambda entry: entry[0])
        return [schedule_id for _, schedule_id in self._sorted[:end]]
