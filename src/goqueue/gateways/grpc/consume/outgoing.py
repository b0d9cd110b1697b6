"""Records on their way to readers: bytes as they lie in the log, or one message for each."""

from goqueue import codec
from goqueue.engine.browse import as_given
from goqueue.engine.fetch import Fetched, FetchFrom
from goqueue.gateways.grpc.answering import detail_of
from goqueue.gateways.grpc.forms.showing import stored
from goqueue.model.record import Flag, Record
from goqueue.model.runs import offsets_of
from goqueue.wire.grpc.v1 import consume_pb2, places_pb2, records_pb2

__all__ = ["consumed_batch", "stored_record"]


def consumed_batch(part: FetchFrom, answer: Fetched, *, typed: bool, most_bytes: int) -> consume_pb2.ConsumedBatch:
    """What one partition gave."""
    if answer.refusal is not None:
        return consume_pb2.ConsumedBatch(
            topic=part.topic, partition=part.partition, next_offset=part.offset, error=detail_of(answer.refusal)
        )
    chunks = [chunk.records for chunk in answer.chunks]
    payload = bytes(chunks[0]) if len(chunks) == 1 else b"".join(chunks)
    batch = consume_pb2.ConsumedBatch(
        topic=part.topic,
        partition=part.partition,
        next_offset=answer.next_offset,
        high_watermark=answer.high_watermark,
        start_offset=answer.start_offset,
        stable_offset=answer.stable_offset,
    )
    if typed:
        _add_records(batch, payload, set(offsets_of(answer.skip)), most_bytes)
    else:
        batch.batch.records = payload
        batch.skip.extend(places_pb2.OffsetRun(first=first, count=count) for first, count in answer.skip)
    return batch


def _add_records(batch: consume_pb2.ConsumedBatch, payload: bytes, skipped: set[int], most_bytes: int) -> None:
    """Values grow when they are decompressed, so there may be room for the first of them only."""
    size = 0
    for record in codec.decode(payload):
        if record.flags & Flag.CONTROL or record.offset in skipped:
            continue
        made = stored_record(batch.topic, batch.partition, record)
        size += len(made.value)
        if size > most_bytes and batch.records:
            batch.next_offset = record.offset
            return
        batch.records.append(made)


def stored_record(topic: str, partition: int, record: Record) -> records_pb2.StoredRecord:
    """As its producer gave it; when its value cannot be decompressed, as it lies there, and why."""
    return stored(topic, as_given(partition, record))
