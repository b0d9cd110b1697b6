"""Records that cannot be processed, and what there is to see afterwards."""

from goqueue import codec
from goqueue.engine.poll import Poll, poll
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.queue import settle
from goqueue.engine.topics import create_topic
from goqueue.engine.workbench.desk import desk_of
from goqueue.engine.workbench.search import Wanted, find
from goqueue.model.record import Record
from goqueue.model.topic import TopicConfig, topic_name

ORDERS = topic_name("orders")
LETTERS = topic_name("orders.dlq")


async def made(broker, name=ORDERS, partitions=1, **config):
    return await create_topic(broker, topic_name(name), partitions, TopicConfig(**config))


async def published(broker, *records, topic=ORDERS, partition=0):
    given = [one if isinstance(one, Record) else Record(value=one) for one in records]
    return await publish_and_wait(broker, PublishBatch(topic, partition, bytearray(codec.encode(given))))


async def rejected(broker, *, reason="no", group="billing", topic=ORDERS, limit=1000):
    """Take what there is and reject all of it."""
    taken = await poll(broker, Poll(group, "worker", topics=[topic], limit=limit, wait_ms=0))
    for part in taken:
        offsets = [record.offset for record in codec.decode(part.records)]
        await settle.reject(broker, settle.Lease(group, part.log, part.grant, part.token, offsets), reason=reason)
    return sum(len(codec.decode(part.records)) for part in taken)


async def dead(broker, *records, reason="no", group="billing", topic=ORDERS, partition=0):
    await published(broker, *records, topic=topic, partition=partition)
    return await rejected(broker, reason=reason, group=group, topic=topic)


async def letters(broker, name=ORDERS, wanted=None, limit=1000):
    """All letters that are wanted, page after page."""
    found, last = [], None
    while True:
        page = await find(desk_of(broker, topic_name(name)), wanted or Wanted(), limit, last)
        found += page.letters
        last = page.last
        if last is None:
            return found


async def values(broker, name=ORDERS, wanted=None, limit=1000):
    return [letter.record.value for letter in await letters(broker, name, wanted, limit)]


def records_of(broker, name=ORDERS):
    found = []
    for partition in broker.partitions(topic_name(name)):
        at = partition.log.start_offset
        while at < partition.stable_offset:
            chunk = partition.read(at, 1 << 20, partition.stable_offset)
            found += codec.decode(chunk.records)
            at = chunk.next_offset
    return found


def values_of(broker, name=ORDERS):
    return [record.value for record in records_of(broker, name)]
