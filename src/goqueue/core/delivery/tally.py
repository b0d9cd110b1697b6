"""Delivery counters of one group in one partition, since the broker started."""

from goqueue.core.delivery.events import DeliveryEvent, Returned, Settled

__all__ = ["OVERDUE", "Tally"]

OVERDUE = "the visibility timeout ended before it was acknowledged"
"""The failure reason of an expired lease."""


class Tally:
    """Fed with every written event, and with dead letters when they are made.

    Everything is also counted in each of `totals`.
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
        """Count an event that ended this many leases: unpacking its records again would be slower."""
        match event:
            case Settled():
                for one in self._all:
                    one.settled += ended
            case Returned(is_failure=True):
                self.failed(len(event.offsets), event.reason)
            case _:
                pass

    def dead(self, count: int) -> None:
        """Called in addition to the event that settles the records."""
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
