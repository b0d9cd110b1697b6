"""Contexts of records that were met lately, for those who hear of a record again and do not have it at hand."""

from collections import OrderedDict
from collections.abc import Mapping

from goqueue.model.log import LogId
from goqueue.model.trace import TraceContext

__all__ = ["Carried"]


class Carried:
    """Of records that are traced; those met longest ago are forgotten first.

    A record that would be traced by its offset, if it did not carry the context of a trace that is not, is kept with
    None. Of partitions in which no record with a context was ever met, `has` says so.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._contexts: OrderedDict[tuple[LogId, int], TraceContext | None] = OrderedDict()
        self._logs: set[LogId] = set()

    def __len__(self) -> int:
        return len(self._contexts)

    def see(self, log: LogId) -> None:
        """A record of this partition carries a context."""
        self._logs.add(log)

    def has(self, log: LogId) -> bool:
        return log in self._logs

    def put_aside(self, log: LogId, offset: int) -> None:
        """It carries the context of a trace that does not count."""
        self._contexts[log, offset] = None
        self._contexts.move_to_end((log, offset))
        if len(self._contexts) > self.most:
            self._contexts.popitem(last=False)

    def put_all(self, log: LogId, contexts: Mapping[int, TraceContext]) -> None:
        """By their offsets."""
        kept = self._contexts
        for offset, context in contexts.items():
            place = (log, offset)
            if place in kept:
                kept.move_to_end(place)
            kept[place] = context
        while len(kept) > self.most:
            kept.popitem(last=False)

    def knows(self, log: LogId, offset: int) -> bool:
        return (log, offset) in self._contexts

    def get(self, log: LogId, offset: int) -> TraceContext | None:
        return self._contexts.get((log, offset))

    def forget(self, topic: str) -> None:
        """It was deleted: another one of its name has other records."""
        self._logs = {log for log in self._logs if log.topic != topic}
        for place in [one for one in self._contexts if one[0].topic == topic]:
            del self._contexts[place]
