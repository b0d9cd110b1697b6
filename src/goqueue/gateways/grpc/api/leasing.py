"""Leases on their way to a consumer: as bytes, or one message for each record."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

from goqueue import codec
from goqueue.core.delivery.delivery import Attempts
from goqueue.engine.broker import Broker
from goqueue.engine.browse import as_given
from goqueue.engine.poll import Poll
from goqueue.engine.queue.positions import give_back_grant
from goqueue.engine.queue.receipts import Receipt
from goqueue.engine.queue.take import Taken
from goqueue.gateways.grpc.forms.showing import stored
from goqueue.wire.grpc.v1 import queue_pb2 as wire

__all__ = ["lease_out", "put_back"]

FIRST_ATTEMPT = Attempts(1, 0)


def lease_out(asked: Poll, taken: Taken, *, typed: bool) -> wire.Lease:
    lease = wire.Lease(
        topic=taken.log.topic,
        partition=taken.log.partition,
        grant=taken.grant,
        token=taken.token,
        deadline_ns=taken.deadline,
        count=taken.number,
    )
    if typed:
        records = list(_typed(asked.group, taken))
        if not asked.in_key_order:
            # They come in the order of the log; within what was taken, the most urgent are first.
            records.sort(key=lambda one: one.record.priority)
        lease.typed.extend(records)
        return lease
    lease.records = bytes(taken.records)
    lease.redelivered.extend(
        wire.Redelivery(offset=offset, deliveries=one.deliveries, failures=one.failures)
        for offset, one in taken.attempts.items()
    )
    return lease


def _typed(group: str, taken: Taken) -> Iterator[wire.LeasedRecord]:
    for record in codec.decode(taken.records):
        attempts = taken.attempts.get(record.offset, FIRST_ATTEMPT)
        receipt = Receipt(taken.log, record.offset, attempts.deliveries, group, taken.grant, taken.token)
        yield wire.LeasedRecord(
            record=stored(taken.log.topic, as_given(taken.log.partition, record)),
            receipt=str(receipt),
            deliveries=attempts.deliveries,
            failures=attempts.failures,
        )


@asynccontextmanager
async def put_back(broker: Broker, group: str, taken: Sequence[Taken]) -> AsyncIterator[None]:
    """What the block could not hand over is for others at once."""
    try:
        yield
    except BaseException:
        for part in taken:
            state = broker.queues.get(group, part.log)
            if state is not None:
                gone = give_back_grant(broker, state, part.grant, "its consumer went away")
                broker.queues.in_background(gone)
        raise
