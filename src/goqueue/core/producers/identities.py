"""Producer identities: ids are given out once, and the newest epoch of an id fences the older ones."""

from collections import OrderedDict

import msgspec

from goqueue.errors import ProducerFenced, UnknownProducer

__all__ = ["IdentityGiven", "KnownIdentities", "ProducerIdentities"]

EPOCHS_REMEMBERED = 100_000
"""Ids with an epoch above 0; the one bumped longest ago is forgotten, its partitions still have its last epoch."""


class IdentityGiven(msgspec.Struct, frozen=True, array_like=True):
    """The producer has this epoch from now on."""

    producer_id: int
    epoch: int


class KnownIdentities(msgspec.Struct, frozen=True):
    """Snapshot."""

    next_id: int
    epochs: tuple[IdentityGiven, ...]


class ProducerIdentities:
    """Commands return an event and change nothing; `apply` is the only writer."""

    def __init__(self) -> None:
        self._next_id = 1
        self._epochs: OrderedDict[int, int] = OrderedDict()

    def __len__(self) -> int:
        """Number of remembered identities."""
        return len(self._epochs)

    def next(self) -> IdentityGiven:
        return IdentityGiven(self._next_id, 0)

    def bump(self, producer_id: int, epoch: int) -> IdentityGiven:
        """The next epoch for a producer that presents its current epoch."""
        self.check(producer_id, epoch)
        return IdentityGiven(producer_id, epoch + 1)

    def renew(self, producer_id: int, epoch: int) -> IdentityGiven:
        """The next epoch for a producer that is taken over by a process that presents any of its earlier epochs."""
        return IdentityGiven(producer_id, max(epoch, self._epochs.get(producer_id, 0)) + 1)

    def check(self, producer_id: int, epoch: int) -> None:
        """Refuse an identity that was never given out or has been taken over."""
        if not 0 < producer_id < self._next_id:
            raise UnknownProducer(f"there is no producer {producer_id}")
        current = self._epochs.get(producer_id, 0) if self._epochs else 0
        if epoch < current:
            raise ProducerFenced(f"producer {producer_id} has epoch {current} now, not {epoch}")
        if epoch > current and not self._may_have_forgotten(producer_id):
            raise UnknownProducer(
                f"producer {producer_id} was never given epoch {epoch}, it has epoch {current}",
                hint="ask for a new producer id",
            )

    def _may_have_forgotten(self, producer_id: int) -> bool:
        """Whether the producer may have had epochs that were forgotten."""
        return producer_id not in self._epochs and len(self._epochs) >= EPOCHS_REMEMBERED

    def apply(self, event: IdentityGiven) -> None:
        self._next_id = max(self._next_id, event.producer_id + 1)
        if event.epoch:
            self._epochs[event.producer_id] = event.epoch
            self._epochs.move_to_end(event.producer_id)
            if len(self._epochs) > EPOCHS_REMEMBERED:
                self._epochs.popitem(last=False)

    def snapshot(self) -> KnownIdentities:
        return KnownIdentities(self._next_id, tuple(IdentityGiven(*known) for known in self._epochs.items()))

    def restore(self, known: KnownIdentities) -> None:
        self._next_id = known.next_id
        self._epochs = OrderedDict((one.producer_id, one.epoch) for one in known.epochs)
