"""Producers with transactions, and readers of what they have committed."""

from goqueue import codec
from goqueue.engine.browse import read_page
from goqueue.engine.fetch import FetchFrom, fetch
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.transactions.beginning import begin, enlist
from goqueue.engine.transactions.ending import abort, commit
from goqueue.engine.transactions.joining import InTransaction
from goqueue.model.isolation import Isolation
from goqueue.model.record import Record
from tests.unit.engine.queue_scene import TOPIC


async def begun(broker, transactional_id="shop", timeout_ms=60_000):
    """A transaction of a producer that has just come."""
    enlisted = await enlist(broker, transactional_id, timeout_ms)
    return await next_of(broker, enlisted)


async def next_of(broker, producer):
    began = await begin(broker, producer.producer_id, producer.epoch)
    return InTransaction(began.number, producer.producer_id, producer.epoch)


async def written(broker, ref, *values, topic=TOPIC, partition=0):
    batch = bytearray(codec.encode([Record(value=value) for value in values]))
    return await publish_and_wait(broker, PublishBatch(topic, partition, batch, transaction=ref))


async def committed(broker, ref):
    await commit(broker, *ref)


async def aborted(broker, ref):
    await abort(broker, *ref)


async def seen(broker, *, topic=TOPIC, partition=0, isolation=Isolation.COMMITTED):
    """What a page and a fetch show; they must not differ."""
    page = await read_page(broker, topic, partition, None, 1000, isolation)
    paged = [found.record.value for found in page.found]
    start = broker.partition(topic, partition).log.start_offset
    (part,) = await fetch(
        broker, [FetchFrom(topic, partition, start)], max_bytes=1 << 20, wait_ms=0, isolation=isolation
    )
    skipped = {offset for first, count in part.skip for offset in range(first, first + count)}
    records = [record for chunk in part.chunks for record in codec.decode(chunk.records)]
    fetched = [record.value for record in records if record.offset not in skipped]
    assert paged == fetched
    return paged
