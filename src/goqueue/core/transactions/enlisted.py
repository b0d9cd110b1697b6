"""Transactional ids: each belongs to the producer that enlisted last under it."""

import re
from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice, takewhile

from msgspec.structs import replace

from goqueue.core.transactions.events import Began, Enlisted, KeptIdentity
from goqueue.core.transactions.transaction import Ending
from goqueue.errors import (
    InvalidRequest,
    NotTransactional,
    ProducerFenced,
    StateConflict,
    TransactionConflict,
    UnknownProducer,
)
from goqueue.model.ids import InstantNs

__all__ = ["MOST_TIMEOUT_MS", "MOST_TRANSACTIONAL_IDS", "NAME_PATTERN", "Identities", "check_name", "check_timeout"]

MOST_TRANSACTIONAL_IDS = 100_000
LONGEST_INSTANCE = 100
MOST_TIMEOUT_MS = 15 * 60 * 1000
LONGEST_NAME = 200
_INVISIBLE = r"\x00-\x1f\x7f-\xa0\xad\u200b-\u200f\u2028-\u202e\ufeff"
NAME_PATTERN = rf"^[^{_INVISIBLE}]{{1,{LONGEST_NAME}}}$"
_NAME = re.compile(rf"[^{_INVISIBLE}\ud800-\udfff]{{1,{LONGEST_NAME}}}")
"""The same rule for texts that may contain a lone surrogate."""


class Identities:
    """Ordered by last use, the oldest first."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, KeptIdentity] = OrderedDict()
        self._by_producer: dict[int, str] = {}
        self._by_last: dict[int, str] = {}
        """By the number of the transaction that ended last."""

    def __len__(self) -> int:
        return len(self._known)

    # Commands.

    def enlist(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        timeout_ms: int,
        now: InstantNs,
        instance: str = "",
    ) -> Enlisted:
        check_name(transactional_id, "a transactional id")
        check_timeout(timeout_ms, MOST_TIMEOUT_MS)
        if self._by_producer.get(producer_id, transactional_id) != transactional_id:
            raise StateConflict(
                f"producer {producer_id} has another transactional id already",
                hint="ask for a producer id of its own for each transactional id",
            )
        known = self._known.get(transactional_id)
        if known is None:
            self._check_room()
        elif known.enlisted.producer_id == producer_id and epoch < known.enlisted.epoch:
            raise fenced(known, epoch)
        if len(instance) > LONGEST_INSTANCE:
            raise InvalidRequest(f"an instance of {len(instance)} characters", hint=f"use at most {LONGEST_INSTANCE}")
        return Enlisted(transactional_id, producer_id, epoch, timeout_ms, now, instance)

    def check_may_begin(self, producer_id: int, epoch: int) -> KeptIdentity:
        self.check_epoch(producer_id, epoch)
        known = self.of_producer(producer_id)
        if known is None:
            raise NotTransactional(f"producer {producer_id} has no transactional id")
        if known.open:
            raise TransactionConflict(
                f"producer {producer_id} has transaction {known.open} open",
                hint="commit or abort that one first: a producer has one transaction at a time",
            )
        return known

    def check_epoch(self, producer_id: int, epoch: int) -> None:
        """Refuse an instance that is not the newest. Producers without a transactional id are not known here."""
        known = self.of_producer(producer_id)
        if known is None:
            return
        if epoch < known.enlisted.epoch:
            raise fenced(known, epoch)
        if epoch > known.enlisted.epoch:
            raise UnknownProducer(
                f"producer {producer_id} was never enlisted with epoch {epoch}, it has epoch {known.enlisted.epoch}",
                hint="enlist under the transactional id again",
            )

    def check_owner(self, transactional_id: str, producer_id: int, epoch: int) -> None:
        """Refuse a producer whose transactional id was taken over by another producer."""
        known = self._known.get(transactional_id)
        if known is not None and known.enlisted.producer_id != producer_id:
            raise fenced(known, epoch)

    def _check_room(self) -> None:
        if len(self._known) >= MOST_TRANSACTIONAL_IDS:
            raise StateConflict(
                f"there are {MOST_TRANSACTIONAL_IDS} transactional ids, and there can be no more",
                hint="use the same transactional id again after a restart, instead of a new one each time",
            )

    # Queries.

    def get(self, transactional_id: str) -> KeptIdentity | None:
        return self._known.get(transactional_id)

    def of_producer(self, producer_id: int) -> KeptIdentity | None:
        transactional_id = self._by_producer.get(producer_id)
        return None if transactional_id is None else self._known[transactional_id]

    def idle(self, before: InstantNs, most: int) -> tuple[str, ...]:
        """Transactional ids idle since then that have no open transaction, at most `most`."""
        old = takewhile(lambda one: one.used_at <= before, self._known.values())
        return tuple(islice((one.enlisted.transactional_id for one in old if not one.open), most))

    def last_ending(self, number: int) -> Ending | None:
        """The outcome of this transaction, if it is the last of its transactional id."""
        transactional_id = self._by_last.get(number)
        return None if transactional_id is None else self._known[transactional_id].last

    # Events.

    def enlisted(self, event: Enlisted) -> None:
        old = self._known.get(event.transactional_id)
        if old is None:
            self._use(KeptIdentity(event, event.at))
        else:
            self._by_producer.pop(old.enlisted.producer_id, None)
            self._use(replace(old, enlisted=event, used_at=event.at))
        self._by_producer[event.producer_id] = event.transactional_id

    def forget(self, transactional_ids: Iterable[str]) -> None:
        for transactional_id in transactional_ids:
            gone = self._known.pop(transactional_id, None)
            if gone is None:
                continue
            self._by_producer.pop(gone.enlisted.producer_id, None)
            if gone.last is not None:
                del self._by_last[gone.last.number]

    def began(self, event: Began) -> None:
        self._use(replace(self._known[event.transactional_id], open=event.number, used_at=event.at))

    def ended(self, transactional_id: str, ending: Ending) -> None:
        known = self._known[transactional_id]
        if known.last is not None:
            del self._by_last[known.last.number]
        self._by_last[ending.number] = transactional_id
        self._use(replace(known, open=0, last=ending, used_at=ending.at))

    def _use(self, identity: KeptIdentity) -> None:
        transactional_id = identity.enlisted.transactional_id
        self._known[transactional_id] = identity
        self._known.move_to_end(transactional_id)

    # Snapshots.

    def snapshot(self) -> tuple[KeptIdentity, ...]:
        return tuple(self._known.values())

    def restore(self, identities: tuple[KeptIdentity, ...]) -> None:
        self._known = OrderedDict((one.enlisted.transactional_id, one) for one in identities)
        self._by_producer = {one.enlisted.producer_id: one.enlisted.transactional_id for one in identities}
        self._by_last = {one.last.number: one.enlisted.transactional_id for one in identities if one.last is not None}


def fenced(known: KeptIdentity, epoch: int) -> ProducerFenced:
    now = known.enlisted
    return ProducerFenced(
        f"transactional id {now.transactional_id} belongs to producer {now.producer_id} with epoch {now.epoch} now, "
        f"not to this instance with epoch {epoch}"
    )


def check_name(name: str, what: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidRequest(f"{name[:60]!r} is not {what}", hint=f"it has 1 to {LONGEST_NAME} printable characters")


def check_timeout(timeout_ms: int, most: int) -> None:
    if not 1 <= timeout_ms <= most:
        raise InvalidRequest(
            f"a transaction cannot have {timeout_ms} ms", hint=f"give it from 1 ms to {most // 60_000} minutes"
        )
