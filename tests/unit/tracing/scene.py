"""Records that are published, taken and settled, and the spans of it."""

from goqueue import codec
from goqueue.core.tracing.search import order
from goqueue.engine.poll import Poll, poll
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.queue import settle
from goqueue.engine.topics import create_topic
from goqueue.model.record import Record
from goqueue.model.span import spans_of
from goqueue.model.topic import TopicConfig, topic_name

ORDERS = topic_name("orders")
GROUP = "billing"
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
CONTEXT = ("traceparent", f"00-{TRACE}-{PARENT}-01".encode())


async def made(broker, name=ORDERS, partitions=1, **config):
    return await create_topic(broker, topic_name(name), partitions, TopicConfig(**config))


def records(*values, headers=()):
    return [Record(value=value, key=b"k", headers=headers) for value in values]


async def publish(broker, *some, name=ORDERS, partition=0, **more):
    return await publish_and_wait(
        broker, PublishBatch(topic_name(name), partition, bytearray(codec.encode(some)), **more)
    )


async def take(broker, limit=100, *, group=GROUP, consumer="worker", topics=(ORDERS,)):
    return await poll(broker, Poll(group, consumer, None, topics, limit, wait_ms=0))


def lease(part, *offsets, group=GROUP):
    wanted = offsets or [record.offset for record in codec.decode(part.records)]
    return settle.Lease(group, part.log, part.grant, part.token, wanted)


def spans(broker, **fields):
    """Those with these values, in the order in which they happened."""
    found = order(span for run in broker.tracing.ring for span in spans_of(run))
    return [span for span in found if all(getattr(span.run, name) == value for name, value in fields.items())]


def story(broker, **fields):
    return [str(span.run.operation) for span in spans(broker, **fields)]
