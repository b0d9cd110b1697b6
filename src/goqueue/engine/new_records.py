"""Deduplication filter: the records of a batch whose ids are new to the topic."""

from collections.abc import Sequence
from typing import NamedTuple

from goqueue import codec
from goqueue.core.ids.batch import carries, digests_of, divide
from goqueue.engine.broker import Broker
from goqueue.engine.remembered_ids import UniqueBatch
from goqueue.errors import InvalidRequest
from goqueue.model.record_id import ID_HEADER, encoded_ids
from goqueue.model.topic import Topic

__all__ = ["NewRecords", "Unsettled", "choose_new"]

NS_PER_MS = 1_000_000


class NewRecords(NamedTuple):
    """The records to write, which may be none, and their ids."""

    records: bytearray
    ids: UniqueBatch
    repeats: bool
    steps: Sequence[int] | None = None
    """Indexes of these records in the request; None if all of them."""


class Unsettled(NamedTuple):
    """It is undecided: the event with this number must first be written or refused."""

    number: int


def choose_new(broker: Broker, topic: Topic, records: bytearray, ids: Sequence[str | None]) -> NewRecords | Unsettled:
    encoded = encoded_ids(ids)
    if not carries(records, encoded):
        raise InvalidRequest(
            "the ids differ from those in the headers of the records",
            hint=f"give one id, or null, for each record, and the same id in its header {ID_HEADER}",
        )
    digests = digests_of(encoded)
    horizon_ns = broker.clock.now_ns() - topic.config.dedup_window_ms * NS_PER_MS
    known = broker.ids.find(topic.name, digests, horizon_ns)
    if known.unsettled is not None:
        return Unsettled(known.unsettled)
    division = divide(digests, known.places)
    batch = UniqueBatch(broker.ids, topic.name, digests, division)
    if not division.repetitions:
        return NewRecords(records, batch, repeats=False)
    if not division.new:
        return NewRecords(bytearray(), batch, repeats=True, steps=())
    given = codec.decode(records)
    chosen = bytearray(codec.encode(given[step] for step in division.new))
    return NewRecords(chosen, batch, repeats=True, steps=division.new)
