"""Checks of transactional writes, and the event written with the first one in a partition."""

from collections.abc import Sequence
from typing import NamedTuple

from goqueue.engine.broker import Broker
from goqueue.engine.partition import ProducerBatch
from goqueue.engine.state_log import Decision, MachineOwner
from goqueue.engine.stream_names import COORDINATOR
from goqueue.errors import InvalidRequest, StateConflict, TransactionEnded
from goqueue.model.log import LogId

__all__ = ["InTransaction", "check", "check_publish", "joined", "transaction_owner"]


class InTransaction(NamedTuple):
    """A transaction, and the producer that refers to it."""

    number: int
    producer_id: int
    epoch: int


def check(broker: Broker, ref: InTransaction) -> None:
    """Raise unless this is the newest instance of the producer and its transaction is open."""
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
            f"a transaction of producer {ref.producer_id} cannot take records of producer {producer.producer_id}",
            hint="publish as the producer that began the transaction",
        )
    if ids is not None and any(ids):
        raise InvalidRequest(
            "a transaction cannot take records with ids",
            hint="leave out the ids: after an abort, a repeated record would count as a duplicate",
        )


def transaction_owner(broker: Broker, number: int) -> MachineOwner:
    """Each transaction is an owner, as transactions change independently of each other."""
    return broker.state_log.owner(COORDINATOR, str(number))


def joined(broker: Broker, ref: InTransaction, log: LogId) -> Decision:
    """The event for the first records of a transaction in a partition, where its end must be marked, too."""
    event = broker.transactions.join(ref.number, *log)
    return () if event is None else ((transaction_owner(broker, ref.number), event),)
