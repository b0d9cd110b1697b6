"""Ledger of the coordinator: live transactions, transactional ids, and outcomes."""

from goqueue.core.transactions.deadlines import Deadlines
from goqueue.core.transactions.decisions import Decisions
from goqueue.core.transactions.endings import Endings
from goqueue.core.transactions.enlisted import Identities
from goqueue.core.transactions.events import (
    Began,
    CoordinatorEvent,
    Decided,
    Ended,
    Enlisted,
    IdsForgotten,
    Joined,
    KeptCoordinator,
    OffsetsAdded,
    Pledged,
    Prepared,
)
from goqueue.core.transactions.live import LiveTransaction, revived
from goqueue.core.transactions.pledges import PledgedRecords
from goqueue.core.transactions.transaction import Ending, State, Step

__all__ = ["Ledger"]


class Ledger:
    """`apply` is the only writer."""

    def __init__(self) -> None:
        self.next_number = 1
        self._clear()

    def _clear(self) -> None:
        self.live: dict[int, LiveTransaction] = {}
        self.parts: dict[str, set[int]] = {}
        """Live parts by the key under which they are decided."""
        self.identities = Identities()
        self.endings = Endings()
        self.decisions = Decisions()
        self.pledged = PledgedRecords()
        self.deadlines = Deadlines()
        self.prepared = 0

    def ending(self, number: int) -> Ending | None:
        """The outcome of a recently ended transaction, and of the last one of each transactional id."""
        return self.endings.get(number) or self.identities.last_ending(number)

    # Events.

    def apply(self, event: CoordinatorEvent) -> None:
        match event:
            case Enlisted():
                self.identities.enlisted(event)
            case Began() if event.number in self.live:
                # Each of several concurrent operations writes it, so it may be repeated.
                return
            case Began():
                self._begin(event)
            case Decided():
                self.decisions.apply(event)
            case IdsForgotten(transactional_ids):
                self.identities.forget(transactional_ids)
            case _ if event.number not in self.live:
                # Its Began was refused on a full disk; this later event could be written.
                return
            case Joined(number, topic, partition):
                self.live[number].join(topic, partition)
            case Pledged(number, pledge):
                self.live[number].pledge(pledge)
                self.pledged.add(pledge)
            case OffsetsAdded(number, offsets):
                for offset in offsets:
                    self.live[number].add_offset(offset)
            case Prepared(number):
                self.live[number].go(Step.PREPARE)
                self.prepared += 1
            case Ended():
                self._end(event)

    def _begin(self, event: Began) -> None:
        self.next_number = max(self.next_number, event.number + 1)
        self._keep(LiveTransaction(event))
        if event.transactional_id:
            self.identities.began(event)

    def _keep(self, live: LiveTransaction) -> None:
        began = live.began
        self.live[began.number] = live
        self.deadlines.add(began.number, began.deadline)
        if began.key:
            self.parts.setdefault(began.key, set()).add(began.number)

    def _end(self, event: Ended) -> None:
        live = self.live.pop(event.number)
        began = live.began
        self.prepared -= live.state is State.PREPARED
        live.go(Step.ABORT if not event.committed else Step.CHOOSE if live.is_part else Step.COMMIT)
        for pledge in live.pledges:
            self.pledged.remove(pledge)
        ending = Ending(event.number, began.producer_id, began.epoch, event.committed, event.why, event.at)
        self.endings.apply(ending)
        if began.transactional_id:
            self.identities.ended(began.transactional_id, ending)
        if began.key:
            self.parts[began.key].remove(event.number)
            if not self.parts[began.key]:
                del self.parts[began.key]
        self.deadlines.sweep(self.live, len(self.live))

    # Snapshots.

    def snapshot(self) -> KeptCoordinator:
        endings = self.endings
        return KeptCoordinator(
            next_number=self.next_number,
            identities=self.identities.snapshot(),
            live=tuple(live.value() for live in self.live.values()),
            ended=endings.snapshot(),
            decisions=self.decisions.snapshot(),
            committed=endings.committed,
            aborted=endings.aborted,
            timed_out=endings.timed_out,
        )

    def restore(self, kept: KeptCoordinator) -> None:
        self._clear()
        self.next_number = kept.next_number
        self.identities.restore(kept.identities)
        self.endings.restore(kept.ended, committed=kept.committed, aborted=kept.aborted, timed_out=kept.timed_out)
        self.decisions.restore(kept.decisions)
        for one in kept.live:
            self._keep(revived(one))
            self.prepared += one.state is State.PREPARED
            for pledge in one.pledges:
                self.pledged.add(pledge)
