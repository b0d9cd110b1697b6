"""Pledged records: records that live transactions will acknowledge, each in at most one transaction of a group."""

from pyroaring import BitMap64

from goqueue.core.transactions.transaction import Pledge, Runs
from goqueue.errors import InvalidRequest, StateConflict, TransactionConflict

__all__ = ["MOST_PLEDGED", "PledgedRecords"]

MOST_PLEDGED = 100_000
"""Maximum number of records in one transaction."""

Place = tuple[str, str, int]
"""Group, topic and partition."""


class PledgedRecords:
    """A set of offsets for each group and partition that has any."""

    def __init__(self) -> None:
        self._offsets: dict[Place, BitMap64] = {}

    def check(self, number: int, pledge: Pledge, pledged_before: int) -> None:
        if pledged_before + _count(pledge.offsets) > MOST_PLEDGED:
            raise StateConflict(
                f"transaction {number} would acknowledge more than {MOST_PLEDGED} records",
                hint="commit more often, with fewer records in each transaction",
            )
        found = self._offsets.get((pledge.group, pledge.topic, pledge.partition))
        if found is None:
            return
        taken = found & _bitmap(pledge.offsets)
        if taken:
            raise TransactionConflict(
                f"record {taken.min()} of {pledge.topic}/{pledge.partition} is acknowledged for group {pledge.group} "
                "in a transaction that has not ended",
                hint="acknowledge each record in one transaction only, and once; abort this one if in doubt",
            )

    def add(self, pledge: Pledge) -> None:
        place = (pledge.group, pledge.topic, pledge.partition)
        found = self._offsets.get(place)
        if found is None:
            found = self._offsets[place] = BitMap64()
        for first, count in pledge.offsets:
            found.add_range(first, first + count)

    def remove(self, pledge: Pledge) -> None:
        place = (pledge.group, pledge.topic, pledge.partition)
        found = self._offsets[place]
        for first, count in pledge.offsets:
            found.remove_range(first, first + count)
        if not found:
            del self._offsets[place]

    def of(self, group: str, topic: str, partition: int) -> BitMap64:
        found = self._offsets.get((group, topic, partition))
        return BitMap64() if found is None else found.copy()

    def contains(self, group: str, topic: str, partition: int, offset: int) -> bool:
        found = self._offsets.get((group, topic, partition))
        return found is not None and offset in found


def _count(runs: Runs) -> int:
    """Number of records; refuses runs that are not ascending and disjoint."""
    end = total = 0
    for first, count in runs:
        if first < end or count < 1 or first + count > 2**63 - 1:
            total = 0
            break
        end = first + count
        total += count
    if not total:
        raise InvalidRequest(
            "the records to acknowledge are not given as ascending runs",
            hint="name at least one offset, and each one once",
        )
    return total


def _bitmap(runs: Runs) -> BitMap64:
    """Offsets of runs whose number is known to be small."""
    offsets = BitMap64()
    for first, count in runs:
        offsets.add_range(first, first + count)
    return offsets
