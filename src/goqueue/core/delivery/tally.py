"""What became of the records of one partition in one group, counted since the broker started."""

from goqueue.core.delivery.events import DeliveryEvent, Returned, Settled

__all__ = ["OVERDUE", "Tally"]

OVERDUE = "the visibility timeout ended before it was acknowledged"
"""The reason of a failure that nobody reported."""


class Tally:
    """Told of every event once it is written, and of dead letters by whoever makes them.

    What it counts, each of `totals` counts as well.
    """

    __slots__ = ("_all", "dead_lettered", "expired", "nacked", "rejected", "settled")

    def __init__(self, *totals: "Tally") -> None:
        self._all = (self, *totals)
        self.settled = 0
        self.nacked = 0
        self.expired = 0
        self.rejected = 0
        self.dead_lettered = 0

    @property
    def acked(self) -> int:
        return self.settled - self.dead_lettered

    def note(self, event: DeliveryEvent, ended: int) -> None:
        """So many leases ended with it: to count the records of the event again would mean to unpack them."""
        match event:
            case Settled():
                for one in self._all:
                    one.settled += ended
            case Returned(is_failure=True):
                self.failed(len(event.offsets), event.reason)
            case _:
                pass

    def dead(self, count: int) -> None:
        """Told beside the event that settles them."""
        for one in self._all:
            one.dead_lettered += count

    def reject(self, count: int) -> None:
        for one in self._all:
            one.rejected += count

    def failed(self, count: int, reason: str) -> None:
        for one in self._all:
            if reason == OVERDUE:
                one.expired += count
            else:
                one.nacked += count
