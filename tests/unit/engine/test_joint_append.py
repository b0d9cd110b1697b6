"""Batches of many producers that come together are written as one entry, and each producer is told of its own."""

import asyncio

import pytest

from goqueue import codec
from goqueue.engine.partition import ProducerBatch
from goqueue.engine.producers import init_producer
from goqueue.engine.publish import PublishBatch, publish, publish_and_wait
from goqueue.engine.topics import create_topic
from goqueue.errors import CorruptBatch, DiskFull, RecordTooLarge
from goqueue.model.record import Record
from goqueue.model.record_id import with_id
from goqueue.model.topic import Durability, TopicConfig, topic_name
from tests.unit.engine.support import encoded, values_from

TOPIC = topic_name("orders")


@pytest.fixture
async def broker(open_broker):
    async with open_broker() as opened:
        await create_topic(opened, TOPIC, 1, TopicConfig(max_value_bytes=100_000))
        yield opened


def to_publish(records, producer=None, **more):
    return PublishBatch(TOPIC, 0, records, producer=producer, **more)


async def together(broker, *requests):
    """Publish them before anything is written; what each was told."""
    return await asyncio.gather(*(publish_and_wait(broker, one) for one in requests), return_exceptions=True)


def entries_of(broker):
    """How many operations each entry has that is written from here on."""
    seen = []
    real_write = broker.storage.write

    def write(entries):
        seen.extend(len(entry) for entry in entries)
        return real_write(entries)

    broker.storage.write = write
    return seen


async def test_batches_that_come_together_are_one_entry_and_each_producer_learns_its_own_offsets(broker):
    producers = [ProducerBatch(*(await init_producer(broker, None, 0)), 0) for _ in range(3)]
    seen = entries_of(broker)
    batches = (encoded(b"a", b"b"), encoded(b"c"), encoded(b"d", b"e", b"f"))
    told = await together(broker, *map(to_publish, batches, producers))
    assert [(one.base_offset, one.count) for one in told] == [(0, 2), (2, 1), (3, 3)]
    assert values_from(broker.partition(TOPIC, 0)) == [b"a", b"b", b"c", b"d", b"e", b"f"]
    assert seen == [2], "the records of all, and what their producers have sent"


async def test_a_batch_that_is_refused_leaves_those_beside_it_alone(broker):
    torn = encoded(b"torn")
    torn[-1] ^= 1
    requests = map(to_publish, (encoded(b"a"), torn, encoded(b"x" * 100_001), encoded(b"b")))
    first, damaged, large, second = await together(broker, *requests)
    assert (first.base_offset, second.base_offset) == (0, 1)
    assert (type(damaged), type(large)) == (CorruptBatch, RecordTooLarge)
    assert values_from(broker.partition(TOPIC, 0)) == [b"a", b"b"]


async def test_when_the_disk_refuses_the_entry_all_are_told_and_may_send_again(broker):
    first = ProducerBatch(*(await init_producer(broker, None, 0)), 0)
    second = ProducerBatch(*(await init_producer(broker, None, 0)), 0)
    next_of_first = ProducerBatch(first.producer_id, first.epoch, 1)
    wanted = ((b"a", first), (b"b", second), (b"c", next_of_first))
    real_write = broker.storage.write
    broker.storage.write = lambda entries: [DiskFull("no room")] * len(entries)
    told = await together(broker, *(to_publish(encoded(value), producer) for value, producer in wanted))
    assert [type(one) for one in told] == [DiskFull] * 3
    broker.storage.write = real_write
    told = await together(broker, *(to_publish(encoded(value), producer) for value, producer in wanted))
    assert [(one.base_offset, one.duplicate) for one in told] == [(0, False), (1, False), (2, False)]
    assert values_from(broker.partition(TOPIC, 0)) == [b"a", b"b", b"c"]
    assert broker.tally.of(TOPIC).refused == {"disk_full": 3}


async def test_a_batch_of_another_kind_in_between_keeps_the_order_of_all(broker, clock):
    later = clock.now_ns() + 1_000_000_000
    urgent = bytearray(codec.encode([Record(value=b"urgent", priority=0)]))
    told = await together(
        broker,
        to_publish(encoded(b"a")),
        to_publish(encoded(b"delayed"), dues=(later,)),
        to_publish(encoded(b"b")),
        to_publish(urgent),
        to_publish(encoded(b"c")),
    )
    assert [one.base_offset for one in told] == [0, 1, 2, 3, 4]
    assert values_from(broker.partition(TOPIC, 0)) == [b"a", b"delayed", b"b", b"urgent", b"c"]


async def test_what_need_not_be_durable_does_not_wait_for_what_must_be(broker):
    told = []
    requests = [to_publish(encoded(value), durability=how) for value, how in ((b"a", None), (b"b", Durability.MEMORY))]
    for request in (*requests, to_publish(encoded(b"c"))):
        publish(broker, request, lambda result, request=request: told.append((bytes(request.records[-1:]), result)))
    await broker.commit.drain()
    assert [value for value, _ in told] == [b"b", b"a", b"c"]
    assert [result.base_offset for _, result in told] == [1, 0, 2]


async def test_many_large_batches_are_several_entries(broker):
    seen = entries_of(broker)
    told = await together(broker, *(to_publish(encoded(bytes(30_000))) for _ in range(5)))
    assert [one.base_offset for one in told] == [0, 1, 2, 3, 4]
    assert seen == [1, 1, 1]


async def test_after_a_restart_each_producer_of_an_entry_is_known_by_its_own_numbers(open_broker):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, TopicConfig())
        first, second = [await init_producer(broker, None, 0) for _ in range(2)]
        sent = ((b"a", (*first, 0)), (b"b", (*second, 0)), (b"c", (*first, 1)), (b"d", (*second, 1)))
        requests = [(encoded(value), ProducerBatch(*producer)) for value, producer in sent]
        await together(broker, *(to_publish(*request) for request in requests))
    async with open_broker() as broker:
        again = await together(broker, *(to_publish(encoded(value), ProducerBatch(*by)) for value, by in sent))
        assert [(one.base_offset, one.duplicate) for one in again] == [(number, True) for number in range(4)]
        assert values_from(broker.partition(TOPIC, 0)) == [b"a", b"b", b"c", b"d"]
        further = await publish_and_wait(broker, to_publish(encoded(b"e"), ProducerBatch(*second, 2)))
        assert (further.base_offset, further.duplicate) == (4, False)


async def test_after_a_restart_a_producer_goes_on_behind_records_that_were_there_already(open_broker):
    """Those are written as numbers alone, in an entry between the others."""
    known = bytearray(codec.encode([with_id(Record(value=b"known"), "k")]))
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, TopicConfig())
        await publish_and_wait(broker, to_publish(bytearray(known), ids=("k",)))
        number, epoch = await init_producer(broker, None, 0)
        told = await together(
            broker,
            to_publish(encoded(b"a"), ProducerBatch(number, epoch, 0)),
            to_publish(bytearray(known), ProducerBatch(number, epoch, 1), ids=("k",)),
            to_publish(encoded(b"b"), ProducerBatch(number, epoch, 2)),
        )
        assert [one.duplicate for one in told] == [False, True, False]
    async with open_broker() as broker:
        repeated = await publish_and_wait(broker, to_publish(encoded(b"b"), ProducerBatch(number, epoch, 2)))
        assert (repeated.base_offset, repeated.duplicate) == (2, True)
        further = await publish_and_wait(broker, to_publish(encoded(b"c"), ProducerBatch(number, epoch, 3)))
        assert (further.base_offset, further.duplicate) == (3, False)
