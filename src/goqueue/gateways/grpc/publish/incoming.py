"""Single records of a request, as what is published."""

from goqueue.engine.publish_records import Outgoing
from goqueue.model.delay import due_ns
from goqueue.model.expiry import expires_ns, with_expiry
from goqueue.model.priority import NORMAL
from goqueue.model.record import Record
from goqueue.model.topic import Durability
from goqueue.model.trace import TraceHeaders, in_trace
from goqueue.wire.grpc.v1 import records_pb2 as wire

__all__ = ["outgoing_of"]


def outgoing_of(
    given: wire.Record,
    trace: TraceHeaders,
    partition: int | None,
    durability: Durability | None,
    *,
    confirmed: bool,
    now_ns: int,
) -> Outgoing:
    """`partition` is for a record that has none of its own."""
    has = given.HasField
    record = Record(
        given.value if has("value") else None,
        given.key if has("key") else None,
        in_trace(tuple((header.name, header.value) for header in given.headers), trace),
        given.priority if has("priority") else NORMAL,
    )
    ttl_ms = given.ttl_ms if has("ttl_ms") else None
    expiry = expires_ns(ttl_ms, given.expires_at_ns if has("expires_at_ns") else None, now_ns=now_ns)
    if expiry is not None:
        record = with_expiry(record, expiry)
    delay_ms = given.delay_ms if has("delay_ms") else None
    return Outgoing(
        record,
        given.partition if has("partition") else partition,
        durability,
        confirmed,
        given.id if has("id") else None,
        due_ns(delay_ms, given.deliver_at_ns if has("deliver_at_ns") else None, now_ns=now_ns),
    )
