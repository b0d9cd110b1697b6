"""High watermark: the offset up to which records of a partition are confirmed and may be read."""

from collections import deque

__all__ = ["Pending", "Watermark"]


class Pending:
    """One append in progress; until it is confirmed it may still grow."""

    __slots__ = ("confirmed", "next_offset")

    def __init__(self, next_offset: int) -> None:
        self.next_offset = next_offset
        self.confirmed = False


class Watermark:
    """Appends are confirmed in any order; the high watermark moves in append order."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self._pending: deque[Pending] = deque()

    @property
    def is_idle(self) -> bool:
        return not self._pending

    def begin(self, next_offset: int) -> Pending:
        pending = Pending(next_offset)
        self._pending.append(pending)
        return pending

    def confirm(self, pending: Pending) -> bool:
        """True if the high watermark moved."""
        pending.confirmed = True
        moved = False
        while self._pending:
            first = self._pending[0]
            if not first.confirmed:
                break
            self._pending.popleft()
            self.offset = first.next_offset
            moved = True
        return moved

    def refuse(self, pending: Pending) -> None:
        """The append failed: later ones will be refused as well, as their offsets no longer fit."""
        self._pending.remove(pending)
