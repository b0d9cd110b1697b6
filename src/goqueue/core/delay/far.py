"""Far delays: due times beyond the span of the timer wheel, in pages as wide as a slot of its top level.

They make delays of any length possible: a page enters the wheel in one step when it is near enough.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from pyroaring import BitMap64

from goqueue.core.delay.wheel import PAGE_NS

__all__ = ["FarPages"]


class FarPages:
    """Offsets by page; pages are numbered like those of the wheel."""

    def __init__(self) -> None:
        self._pages: dict[int, BitMap64] = {}
        self.first: int | None = None
        """The first page."""

    def __len__(self) -> int:
        return sum(map(len, self._pages.values()))

    def start(self) -> int | None:
        """An instant at or before the first due time."""
        return None if self.first is None else self.first * PAGE_NS

    def add(self, entries: Iterable[tuple[int, int]]) -> None:
        """Add offsets with their due times."""
        by_page: defaultdict[int, list[int]] = defaultdict(list)
        for offset, due in entries:
            by_page[due // PAGE_NS].append(offset)
        for page, offsets in by_page.items():
            known = self._pages.get(page)
            if known is not None:
                known.update(offsets)
                continue
            self._pages[page] = BitMap64(offsets)
            if self.first is None or page < self.first:
                self.first = page

    def remove(self, offset: int, due: int) -> None:
        page = due // PAGE_NS
        self._pages[page].remove(offset)
        if not self._pages[page]:
            self._drop(page)

    def take(self, page: int) -> BitMap64:
        """Remove a page and return it."""
        offsets = self._pages[page]
        self._drop(page)
        return offsets

    def groups(self) -> Iterator[BitMap64]:
        """All pages in order."""
        for page in sorted(self._pages):
            yield self._pages[page]

    def _drop(self, page: int) -> None:
        del self._pages[page]
        if page == self.first:
            self.first = min(self._pages, default=None)
