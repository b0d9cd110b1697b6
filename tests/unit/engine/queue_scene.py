"""A topic, a group, and workers that take from one for the other."""

import asyncio

from goqueue import codec
from goqueue.engine.poll import Poll, poll
from goqueue.engine.queue import settle
from goqueue.engine.topics import create_topic
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.topic import TopicConfig, topic_name

TOPIC = topic_name("orders")
GROUP = "billing"
LOG = LogId(TOPIC, 0)


async def made_topic(broker, *values, partitions=1, **config):
    """A topic with these records in its first partition."""
    await create_topic(broker, TOPIC, partitions, TopicConfig(**config))
    await published(broker, *[Record(value=value) for value in values])


async def published(broker, *records, partition=0):
    if records:
        reply = asyncio.get_running_loop().create_future()
        batch = bytearray(codec.encode(records))
        broker.partition(TOPIC, partition).append(batch, reply.set_result, durable=True)
        assert await reply is None


async def take(broker, limit=100, *, group=GROUP, consumer="worker", topics=(TOPIC,), wait_ms=0, **options):
    return await poll(broker, Poll(group, consumer, None, topics, limit, wait_ms=wait_ms, **options))


def values(taken):
    return [record.value for part in taken for record in codec.decode(part.records)]


def lease(part, *offsets, group=GROUP):
    """These records of what was taken, or all of them."""
    wanted = offsets or [record.offset for record in codec.decode(part.records)]
    return settle.Lease(group, part.log, part.grant, part.token, wanted)


async def steps(count):
    """Let the loop go round so many times."""
    for _ in range(count):
        await asyncio.sleep(0)


async def still_waiting(task):
    """Whether the task waits for something that does not happen by itself."""
    done, _ = await asyncio.wait([task], timeout=0.05)
    return not done
