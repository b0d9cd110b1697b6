"""Single records of a request, as what is published."""

from goqueue.engine.publish_records import Outgoing
from goqueue.model.delay import due_ns
from goqueue.model.expiry import expires_ns, with_expiry
from goqueue.model.priority import NORMAL
from goqueue.model.record import Record
from goqueue.model.topic import Durability
from goqueue.model.trace import TRACEPARENT, TRACESTATE
from goqueue.wire.grpc.v1 import records_pb2 as wire

__all__ = ["Trace", "outgoing_of"]

Trace = tuple[tuple[str, bytes], ...]
"""Headers for records that carry no trace of their own."""


def outgoing_of(
    given: wire.Record,
    trace: Trace,
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
        tuple((header.name, header.value) for header in given.headers),
        given.priority if has("priority") else NORMAL,
    )
    ttl_ms = given.ttl_ms if has("ttl_ms") else None
    expiry = expires_ns(ttl_ms, given.expires_at_ns if has("expires_at_ns") else None, now_ns=now_ns)
    if expiry is not None:
        record = with_expiry(record, expiry)
    delay_ms = given.delay_ms if has("delay_ms") else None
    return Outgoing(
        _in_trace(record, trace),
        given.partition if has("partition") else partition,
        durability,
        confirmed,
        given.id if has("id") else None,
        due_ns(delay_ms, given.deliver_at_ns if has("deliver_at_ns") else None, now_ns=now_ns),
    )


def _in_trace(record: Record, trace: Trace) -> Record:
    if not trace or any(name.lower() == TRACEPARENT for name, _ in record.headers):
        return record
    others = tuple(one for one in record.headers if one[0].lower() != TRACESTATE)
    return Record(record.value, record.key, (*others, *trace), record.priority)
