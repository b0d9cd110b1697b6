"""How far a partition's records may be read: up to the first one that is not yet confirmed."""

from collections import deque

__all__ = ["Pending", "Watermark"]


class Pending:
    """One append under way; until it is confirmed it may still become larger."""

    __slots__ = ("confirmed", "next_offset")

    def __init__(self, next_offset: int) -> None:
        self.next_offset = next_offset
        self.confirmed = False


class Watermark:
    """Appends are confirmed in any order; the watermark moves in theirs."""

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
        """Whether the watermark moved."""
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
        """The append did not happen: those behind it will be refused as well, as their offsets no longer fit."""
        self._pending.remove(pending)
