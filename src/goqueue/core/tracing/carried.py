"""Context cache: trace contexts of recently seen records, for code that handles a record without its headers."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from goqueue.model.contexts import PackedContexts
from goqueue.model.log import LogId
from goqueue.model.trace import TraceContext

__all__ = ["Carried"]

PAGE = 1024
"""Offsets that are cached, and evicted, together."""


class Carried:
    """Contexts of traced records; those seen longest ago are evicted first.

    A record that sampling by offset would trace, but whose own context is not sampled, is stored with None. `has` is
    false for partitions in which no record with a context was seen.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._pages: OrderedDict[tuple[LogId, int], _Page] = OrderedDict()
        self._logs: set[LogId] = set()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def see(self, log: LogId) -> None:
        """Note that a record of this partition carries a context."""
        self._logs.add(log)

    def has(self, log: LogId) -> bool:
        return log in self._logs

    def put_aside(self, log: LogId, offsets: Iterable[int]) -> None:
        """Store records whose traces are not sampled. Offsets ascend."""
        for number, here in groupby(offsets, lambda offset: offset // PAGE):
            self._grow(self._page(log, number).put_aside(here))

    def put(self, log: LogId, offset: int, contexts: PackedContexts) -> None:
        """Store the contexts of records from this offset on."""
        rest = contexts
        while rest:
            number = (offset + rest.first_distance) // PAGE
            here, rest = rest.cut((number + 1) * PAGE - offset)
            self._grow(self._page(log, number).put(offset, here))

    def known(self, log: LogId, offsets: Iterable[int]) -> Iterator[tuple[int, TraceContext | None]]:
        """The cached ones of these records."""
        number, known = -1, self._known(log, -1)
        for offset in offsets:
            if number != offset // PAGE:
                number = offset // PAGE
                known = self._known(log, number)
            if offset in known:
                yield offset, known[offset]

    def forget(self, topic: str) -> None:
        """Drop a deleted topic: another one of its name has other records."""
        self._logs = {log for log in self._logs if log.topic != topic}
        for place in [one for one in self._pages if one[0].topic == topic]:
            self._count -= len(self._pages.pop(place))

    def _known(self, log: LogId, number: int) -> Mapping[int, TraceContext | None]:
        page = self._pages.get((log, number))
        if page is None:
            return {}
        before = len(page)
        known = page.known()
        self._count += len(page) - before
        return known

    def _page(self, log: LogId, number: int) -> "_Page":
        place = (log, number)
        page = self._pages.get(place)
        if page is None:
            page = self._pages[place] = _Page()
        self._pages.move_to_end(place)
        return page

    def _grow(self, by: int) -> None:
        self._count += by
        while self._count > self.most and len(self._pages) > 1:
            self._count -= len(self._pages.popitem(last=False)[1])


class _Page:
    """Entries stay packed until the first lookup: most records are evicted without one."""

    __slots__ = ("_known", "_new", "_new_count")

    def __init__(self) -> None:
        self._known: dict[int, TraceContext | None] = {}
        self._new: list[tuple[int, PackedContexts | list[int]]] = []
        self._new_count = 0

    def __len__(self) -> int:
        """Number of entries stored: contexts added twice count twice until the first lookup."""
        return len(self._known) + self._new_count

    def put_aside(self, offsets: Iterable[int]) -> int:
        """Returns the growth in entries."""
        aside = list(offsets)
        self._new.append((0, aside))
        self._new_count += len(aside)
        return self._grown(len(aside))

    def put(self, offset: int, contexts: PackedContexts) -> int:
        """Like `put_aside`."""
        self._new.append((offset, contexts))
        self._new_count += len(contexts)
        return self._grown(len(contexts))

    def _grown(self, by: int) -> int:
        before = len(self) - by
        if self._new_count > 2 * PAGE:
            self.known()
        return len(self) - before

    def known(self) -> dict[int, TraceContext | None]:
        if self._new:
            for offset, put in self._new:
                if isinstance(put, PackedContexts):
                    self._known.update((offset + distance, context) for distance, context in put)
                else:
                    self._known.update(dict.fromkeys(put))
            self._new.clear()
            self._new_count = 0
        return self._known
