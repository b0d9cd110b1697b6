"""How far a partition's records may be read: up to the first one that is not yet confirmed."""

from collections import deque

import msgspec

__all__ = ["Pending", "Watermark"]


class Pending(msgspec.Struct):
    """One append under way; until it is confirmed it may still become larger."""

    next_offset: int
    confirmed: bool = False


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
        while self._pending and self._pending[0].confirmed:
            self.offset = self._pending.popleft().next_offset
            moved = True
        return moved

    def refuse(self, pending: Pending) -> None:
        """The append did not happen: those behind it will be refused as well, as their offsets no longer fit."""
        self._pending.remove(pending)
