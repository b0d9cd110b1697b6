"""What a write in a transaction has to pass, and what is written with the first one in a partition."""

from collections.abc import Sequence
from typing import NamedTuple

from goqueue.engine.broker import COORDINATOR, Broker
from goqueue.engine.partition import ProducerBatch
from goqueue.engine.ports import Operation
from goqueue.errors import InvalidRequest, StateConflict, TransactionEnded
from goqueue.model.log import LogId

__all__ = ["InTransaction", "check", "check_publish", "join_operations"]


class InTransaction(NamedTuple):
    """A transaction, and who says so."""

    number: int
    producer_id: int
    epoch: int


def check(broker: Broker, ref: InTransaction) -> None:
    """Whether this is the newest instance of the producer, and its transaction open."""
    broker.producer_ids.check(ref.producer_id, ref.epoch)
    broker.transactions.check(*ref)
    broker.endings.check(ref.number)
    if broker.transactions.deadline_of(ref.number) <= broker.clock.now_ns():
        raise TransactionEnded(f"transaction {ref.number} has run out of time, and is aborted")


def check_publish(
    broker: Broker, ref: InTransaction, producer: ProducerBatch | None, ids: Sequence[str | None] | None
) -> None:
    check(broker, ref)
    if producer is not None and (producer.producer_id, producer.epoch) != ref[1:]:
        raise StateConflict(
            f"records of producer {producer.producer_id} in a transaction of producer {ref.producer_id}",
            hint="publish as the producer that began the transaction",
        )
    if ids is not None and any(ids):
        raise InvalidRequest(
            "records with ids in a transaction",
            hint="leave out the ids: an aborted record would stand for one that is sent again",
        )


def join_operations(broker: Broker, ref: InTransaction, log: LogId) -> tuple[Operation, ...]:
    """What is to be written with the first records of a transaction in a partition: after it, markers belong there."""
    before = broker.endings.unwritten(ref.number, broker.streams)
    joined = broker.transactions.join(ref.number, *log)
    if joined is None:
        return tuple(before)
    # Should the records be refused, there will be a marker too many, which harms nobody; and should others follow that
    # are not, a restart finds them without this note.
    broker.transactions.apply(joined)
    return (*before, broker.streams.event(COORDINATOR, joined))
