"""The breakers of all groups: who sends dead letters how fast, and which groups were paused for it."""

from collections import deque
from typing import NamedTuple

from goqueue.core.delivery.breaker import Breaker
from goqueue.model.ids import InstantNs

__all__ = ["Breakers", "Tripped"]

MOST_NEWS = 1000


class Tripped(NamedTuple):
    """A group that was paused, for the operator to learn of."""

    group: str
    topic: str
    limit: int

    @property
    def reason(self) -> str:
        return f"more than {self.limit} dead letters from {self.topic} within a minute"


class Breakers:
    """Nothing is kept of topics that have no limit."""

    def __init__(self) -> None:
        self._breakers: dict[tuple[str, str], Breaker] = {}
        self.tripped: deque[Tripped] = deque()
        """Groups that are to be paused."""
        self.news: deque[Tripped] = deque(maxlen=MOST_NEWS)
        """Groups that were paused, until somebody has told the operator."""

    def add(self, group: str, topic: str, count: int, limit: int | None, *, now: InstantNs) -> None:
        """So many dead letters more."""
        if limit is None:
            self._breakers.pop((group, topic), None)
            return
        breaker = self._breakers.setdefault((group, topic), Breaker())
        if breaker.add(count, limit, now=now):
            del self._breakers[group, topic]
            self.tripped.append(Tripped(group, topic, limit))

    def forget(self, group: str) -> None:
        """The group is deleted."""
        for key in [one for one in self._breakers if one[0] == group]:
            del self._breakers[key]
