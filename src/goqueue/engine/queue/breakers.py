"""Circuit breakers of all groups: their rates of dead letters, and the groups that were paused for them."""

from collections import deque
from typing import NamedTuple

from goqueue.core.delivery.breaker import Breaker
from goqueue.model.ids import InstantNs

__all__ = ["Breakers", "Tripped"]

MOST_NEWS = 1000


class Tripped(NamedTuple):
    """A group whose breaker tripped, for the operator."""

    group: str
    topic: str
    limit: int

    @property
    def reason(self) -> str:
        return f"more than {self.limit} dead letters from {self.topic} within a minute"


class Breakers:
    """Topics without a limit have no breaker."""

    def __init__(self) -> None:
        self._breakers: dict[tuple[str, str], Breaker] = {}
        self.tripped: deque[Tripped] = deque()
        """Groups to pause."""
        self.news: deque[Tripped] = deque(maxlen=MOST_NEWS)
        """Groups that were paused and that the observer does not know yet."""

    def add(self, group: str, topic: str, count: int, limit: int | None, *, now: InstantNs) -> None:
        """Count dead letters."""
        if limit is None:
            self._breakers.pop((group, topic), None)
            return
        breaker = self._breakers.setdefault((group, topic), Breaker())
        if breaker.add(count, limit, now=now):
            del self._breakers[group, topic]
            self.tripped.append(Tripped(group, topic, limit))

    def forget(self, group: str) -> None:
        """Forget a group that was deleted."""
        for key in [one for one in self._breakers if one[0] == group]:
            del self._breakers[key]
