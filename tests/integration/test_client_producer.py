"""The producer against a real broker: what leaves when, what is promised, and what is refused."""

import asyncio
import time

import pytest

from goqueue import codec
from goqueue.client import Admin, Consumer, LogId, Producer, TopicConfig
from goqueue.client.link import Link
from goqueue.errors import (
    BufferFull,
    ClientClosed,
    GoQueueError,
    InvalidRecord,
    InvalidRequest,
    OutOfOrderSequence,
    ProducerFenced,
    RecordTooLarge,
    RequestTimeout,
    UnknownPartition,
    UnknownProducer,
    UnknownTopic,
)
from goqueue.model.partitioning import KeyRanges
from goqueue.model.record import Flag, Record
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode
from tests.behaviour.serving import name_of

MIB = 1024 * 1024


@pytest.fixture
def broker(shared_server):
    return shared_server.native


@pytest.fixture
async def topic(broker, request):
    name = name_of(request.node.nodeid)
    async with Admin(broker) as admin:
        await admin.create_topic(name, 3)
    return name


async def read_all(broker, topic):
    """Every record, by partition."""
    found = {}
    async with Consumer(topic, bootstrap=broker) as consumer:
        while some := await consumer.poll(wait_ms=0, limit=10_000):
            for one in some:
                found.setdefault(one.partition, []).append(one)
    return found


async def batches(broker, topic, partition=0):
    """How many records each batch had: those written together have one timestamp."""
    sizes = {}
    for one in (await read_all(broker, topic)).get(partition, []):
        sizes[one.timestamp_ns] = sizes.get(one.timestamp_ns, 0) + 1
    return list(sizes.values())


# When a batch leaves.


async def test_a_batch_leaves_with_a_hundred_records(broker, topic):
    async with Producer(broker, linger_ms=60_000) as producer:
        sent = [await producer.send(topic, b"%d" % number, partition=0) for number in range(250)]
        places = await asyncio.gather(*sent[:200])
        assert [one.offset for one in places] == list(range(200))
        assert not any(one.done() for one in sent[200:])
    assert [one.result().offset for one in sent[200:]] == list(range(200, 250))
    assert await batches(broker, topic) == [100, 100, 50]


async def test_a_batch_leaves_with_64_kib(broker, topic):
    async with Producer(broker, linger_ms=60_000) as producer:
        sent = [await producer.send(topic, b"x" * 20_000, partition=0) for _ in range(7)]
        await asyncio.gather(*sent[:4])
        assert not sent[4].done()
    assert await batches(broker, topic) == [4, 3]


async def test_a_batch_leaves_when_it_has_lingered(broker, topic):
    async with Producer(broker, linger_ms=30) as producer:
        await producer.flush()
        first = await producer.send(topic, b"1", partition=0)
        began = time.monotonic()
        second = await producer.send(topic, b"2", partition=0)
        await first
        assert second.done()
        assert time.monotonic() - began >= 0.025
    assert await batches(broker, topic) == [2]


async def test_without_linger_a_record_leaves_at_once(broker, topic):
    async with Producer(broker, linger_ms=0) as producer:
        for number in range(5):
            assert (await (await producer.send(topic, b"value", partition=0))).offset == number
    assert await batches(broker, topic) == [1] * 5


async def test_leaving_the_producer_sends_what_is_left(broker, topic):
    async with Producer(broker, linger_ms=60_000) as producer:
        delivery = await producer.send(topic, b"last", partition=1)
    assert delivery.result()[:3] == (topic, 1, 0)


async def test_leaving_the_producer_with_an_error_does_not_wait_for_what_is_left(broker, topic):
    with pytest.raises(KeyError):
        async with Producer(broker, linger_ms=60_000) as producer:
            delivery = await producer.send(topic, b"last", partition=1)
            raise KeyError
    with pytest.raises(ClientClosed):
        await delivery
    with pytest.raises(ClientClosed):
        await producer.send(topic, b"later")
    with pytest.raises(ClientClosed):
        await producer.send_many(topic, [b"later"])
    assert await read_all(broker, topic) == {}


# The order of things.


async def test_a_list_comes_behind_what_was_sent_singly_before(broker, topic):
    async with Producer(broker, linger_ms=60_000) as producer:
        first = await producer.send(topic, b"1", partition=0)
        places = await producer.send_many(topic, [b"2", b"3"], partition=0)
        encoded = await producer.send_batch(topic, 0, codec.encode([Record(b"4"), Record(b"5")]), 2)
        assert ((await first).offset, [one.offset for one in places], (await encoded).offset) == (0, [1, 2], 3)
    assert [one.value for one in (await read_all(broker, topic))[0]] == [b"1", b"2", b"3", b"4", b"5"]


async def test_a_list_keeps_the_order_of_each_key_and_says_where_each_record_is(broker, topic):
    keys = [b"key %d" % (number % 7) for number in range(5000)]
    values = [b"%d" % number for number in range(5000)]
    async with Producer(broker) as producer:
        places = await producer.send_many(topic, values, keys=keys)
    found = await read_all(broker, topic)
    assert sum(map(len, found.values())) == 5000
    for value, key, place in zip(values, keys, places, strict=True):
        record = found[place.partition][place.offset]
        assert (record.value, record.key, record.timestamp_ns) == (value, key, place.timestamp_ns)


async def test_a_list_that_is_larger_than_a_frame_goes_in_pieces(broker, topic):
    values = [bytes([number]) * (2 * MIB) for number in range(20)]
    async with Producer(broker) as producer:
        places = await producer.send_many(topic, values, partition=0)
    assert [one.offset for one in places] == list(range(20))
    assert [one.value for one in (await read_all(broker, topic))[0]] == values


async def test_many_tasks_may_send_at_the_same_time(broker, topic):
    async with Producer(broker) as producer:

        async def send(task):
            return [await (await producer.send(topic, b"%d/%d" % (task, number))) for number in range(20)]

        sent = await asyncio.gather(*(send(task) for task in range(30)))
    places = {(one.partition, one.offset) for some in sent for one in some}
    assert len(places) == 600
    assert sum(map(len, (await read_all(broker, topic)).values())) == 600


async def test_records_without_a_key_go_round_when_they_come_slowly(broker, topic):
    async with Producer(broker, linger_ms=0) as producer:
        places = [await (await producer.send(topic, b"value")) for _ in range(9)]
    assert sorted(one.partition for one in places) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


# A buffer with an end.


async def test_a_full_buffer_makes_senders_wait(shared_server, topic):
    async with Producer(shared_server.native, buffer_records=10, batch_records=5) as producer:
        await (await producer.send(topic, b"first", partition=0))
        with shared_server.frozen():
            for _ in range(10):
                await producer.send(topic, b"value", partition=0)
            waiting = asyncio.create_task(producer.send(topic, b"one too many", partition=0))
            done, _ = await asyncio.wait([waiting], timeout=0.2)
            assert not done
        delivery = await waiting
        assert (await delivery).offset == 11


async def test_a_full_buffer_refuses_when_told_to(shared_server, topic):
    settings = {"buffer_records": 10, "batch_records": 5, "when_full": "error"}
    async with Producer(shared_server.native, **settings) as producer:
        await (await producer.send(topic, b"first"))
        with shared_server.frozen():
            sent = [await producer.send(topic, b"value") for _ in range(10)]
            with pytest.raises(BufferFull):
                await producer.send(topic, b"one too many")
        await asyncio.gather(*sent)
        await (await producer.send(topic, b"fits again"))


async def test_closing_wakes_those_who_wait_for_room(broker, topic):
    producer = Producer(broker, buffer_records=3, linger_ms=60_000)
    for _ in range(3):
        await producer.send(topic, b"value", partition=0)
    waiting = asyncio.create_task(producer.send(topic, b"too many", partition=0))
    await asyncio.sleep(0.01)
    await producer.close(flush=False)
    with pytest.raises(ClientClosed):
        await waiting


async def test_a_list_waits_for_room_even_if_single_records_would_be_refused(broker, topic):
    async with Producer(broker, buffer_records=1500, when_full="error") as producer:
        places = await producer.send_many(topic, [b"value"] * 5000, partition=0)
    assert [one.offset for one in places] == list(range(5000))


# What is promised.


@pytest.mark.parametrize("acks", ["leader", "all"])
async def test_a_confirmed_record_has_a_place(broker, topic, acks):
    async with Producer(broker, acks=acks) as producer:
        sent = await (await producer.send(topic, b"value", partition=2))
    (record,) = (await read_all(broker, topic))[2]
    assert sent == (topic, 2, 0, record.timestamp_ns, False)


async def test_without_acknowledgements_nobody_knows_the_offset_but_the_records_arrive(broker, topic):
    async with Producer(broker, acks="none") as producer:
        sent = [await (await producer.send(topic, b"%d" % number, partition=0)) for number in range(300)]
        many = await producer.send_many(topic, [b"many"], partition=0)
    assert {one.offset for one in (*sent, *many)} == {-1}

    async def arrived():
        return len((await read_all(broker, topic)).get(0, []))

    async with asyncio.timeout(5):
        while await arrived() < 301:
            await asyncio.sleep(0.01)


async def test_without_acknowledgements_a_slow_broker_slows_the_sender_down(shared_server, topic):
    async with Producer(shared_server.native, acks="none", buffer_records=100, batch_records=10) as producer:
        await producer.send(topic, b"first", partition=0)
        await producer.flush()

        async def flood():
            for _ in range(200):
                await producer.send(topic, b"x" * 100_000, partition=0)

        with shared_server.frozen():
            flooding = asyncio.create_task(flood())
            done, _ = await asyncio.wait([flooding], timeout=0.5)
            assert not done
        await flooding
    async with Admin(shared_server.native) as admin:
        log = LogId(topic, 0)
        async with asyncio.timeout(10):
            while (await admin.offsets_at([log], "latest"))[log] < 201:
                await asyncio.sleep(0.02)


@pytest.mark.parametrize("durability", ["memory", "fsync"])
async def test_the_durability_of_a_topic_can_be_overridden(broker, topic, durability):
    async with Producer(broker, durability=durability) as producer:
        assert (await (await producer.send(topic, b"value", partition=0))).offset == 0


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
async def test_compressed_values_come_back_as_they_were(broker, topic, compression):
    values = [b"x" * 10_000, b"short", b"", None, bytes(range(256)) * 400, b"y" * 64]
    async with Producer(broker, compression=compression) as producer:
        sent = [await (await producer.send(topic, value, partition=0)) for value in values]
        await producer.send_many(topic, values, partition=0)
    assert [one.offset for one in sent] == list(range(6))
    assert [one.value for one in (await read_all(broker, topic))[0]] == values * 2
    async with Consumer(topic, bootstrap=broker) as consumer:
        (raw,) = await consumer.poll_raw()
    records = codec.decode(raw.records)
    assert len(raw.records) < 5000
    assert [bool(one.flags & Flag.COMPRESSED) for one in records[:6]] == [True, False, False, False, True, True]


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
async def test_a_value_that_no_consumer_could_take_is_refused_however_small_it_becomes(broker, topic, compression):
    async with Producer(broker, compression=compression) as producer:
        with pytest.raises(RecordTooLarge):
            await producer.send(topic, bytes(codec.MAX_VALUE + 1))
        with pytest.raises(RecordTooLarge):
            await producer.send_many(topic, [bytes(codec.MAX_VALUE + 1)])


# What is refused.


@pytest.mark.parametrize(
    "settings",
    [
        {"batch_records": 0},
        {"batch_bytes": 0},
        {"linger_ms": -1},
        {"buffer_records": 0},
        {"delivery_timeout_ms": 0},
        {"when_full": "panic"},
        {"acks": "most"},
        {"compression": "rar"},
        {"durability": "stone"},
        {"partitioner": "dice"},
        {"lingerms": 5},
    ],
    ids=str,
)
def test_a_setting_that_does_not_exist_or_cannot_be_is_refused(settings):
    (name,) = settings
    with pytest.raises(InvalidRequest) as refused:
        Producer(**settings)
    assert name in refused.value.message + refused.value.hint


@pytest.mark.parametrize("address", ["nonsense", ":7171", "localhost:", "localhost:70000"])
async def test_what_is_not_an_address_is_refused_at_once(address):
    async with Producer(address) as producer:
        with pytest.raises(InvalidRequest, match="address"):
            await producer.send("orders", b"value")


async def test_a_bad_record_takes_no_neighbour_along(broker, topic):
    async with Producer(broker, linger_ms=60_000) as producer:
        good = await producer.send(topic, b"good", partition=0)
        for wrong in (
            {"value": b"x", "key": b"k" * 70_000},
            {"value": b"x", "headers": (("name", 5),)},
            {"value": b"x", "priority": 5},
            {"value": 5},
            {"value": b"x", "key": 5},
            {"value": b"x", "json": {}},
            {"json": {1j}},
            {},
        ):
            with pytest.raises(InvalidRecord):
                await producer.send(topic, **wrong, partition=0)
        await producer.flush()
        assert (await good).offset == 0


async def test_a_batch_that_the_broker_refuses_does_not_stop_those_behind_it(broker, request):
    name = name_of(request.node.nodeid)
    async with Admin(broker) as admin, Producer(broker, batch_records=1) as producer:
        await admin.create_topic(name, 1)
        await (await producer.send(name, b"small"))
        await admin.alter_topic(name, TopicConfig(max_value_bytes=10))
        outcomes = [await producer.send(name, b"%d" % number * (20 if number == 3 else 1)) for number in range(9)]
        results = await asyncio.gather(*outcomes, return_exceptions=True)
    assert isinstance(results.pop(3), RecordTooLarge)
    assert [one.offset for one in results] == list(range(1, 9))


async def test_a_first_batch_that_the_broker_refuses_does_not_stop_those_behind_it(broker, request):
    name = name_of(request.node.nodeid)
    async with Admin(broker) as admin, Producer(broker, batch_records=1) as producer:
        await admin.create_topic(name, 1)
        await producer._load_topic(name)
        await admin.alter_topic(name, TopicConfig(max_value_bytes=10))
        outcomes = [await producer.send(name, b"%d" % number * (1 if number else 20)) for number in range(9)]
        results = await asyncio.gather(*outcomes, return_exceptions=True)
    assert isinstance(results.pop(0), RecordTooLarge)
    assert [one.offset for one in results] == list(range(8))


async def test_a_topic_that_was_deleted_and_made_anew_is_asked_for_anew(broker, topic):
    async with Admin(broker) as admin, Producer(broker, linger_ms=0) as producer:
        await (await producer.send(topic, b"old", partition=2))
        await admin.delete_topic(topic)
        with pytest.raises(UnknownTopic):
            await (await producer.send(topic, b"lost", partition=2))
        await admin.create_topic(topic, 8)
        places = [await (await producer.send(topic, b"new", partition=number)) for number in range(8)]
    assert [(one.partition, one.offset) for one in places] == [(number, 0) for number in range(8)]


async def test_keys_are_not_spread_by_the_partitions_of_a_topic_that_was_made_anew(broker, topic):
    keys = [b"key %d" % number for number in range(40)]
    async with Admin(broker) as admin, Producer(broker, linger_ms=0) as producer, Producer(broker) as other:
        await asyncio.gather(*[await producer.send(topic, b"old", key=key) for key in keys])
        await other.send_many(topic, [b"old"] * 40, keys=keys)
        await admin.delete_topic(topic)
        found = await admin.create_topic(topic, 8)
        with pytest.raises(UnknownPartition, match="has 8 partitions, not 3"):
            await (await producer.send(topic, b"lost", key=keys[0]))
        with pytest.raises(UnknownPartition):
            await other.send_many(topic, [b"lost"], keys=keys[:1])
        places = await asyncio.gather(*[await producer.send(topic, b"new", key=key) for key in keys])
        places += await other.send_many(topic, [b"new"] * 40, keys=keys)
    ranges = KeyRanges(found.ranges)
    assert [one.partition for one in places] == [ranges.partition_of(key) for key in keys] * 2
    assert {one.value for some in (await read_all(broker, topic)).values() for one in some} == {b"new"}


async def test_a_batch_begun_for_the_old_topic_takes_no_record_of_the_new_one_along(broker, request):
    name = name_of(request.node.nodeid)
    async with Admin(broker) as admin, Producer(broker, linger_ms=60_000) as producer:
        await admin.create_topic(name, 1)
        old = await producer.send(name, b"old", key=b"key")
        await admin.delete_topic(name)
        ranges = KeyRanges((await admin.create_topic(name, 2)).ranges)
        producer._topics.pop(name)
        key = next(b"%d" % number for number in range(99) if ranges.partition_of(b"%d" % number) == 0)
        new = await producer.send(name, b"new", key=key)
        with pytest.raises(UnknownPartition):
            await producer.flush()
        assert isinstance((await asyncio.gather(old, return_exceptions=True))[0], UnknownPartition)
        assert (await new).partition == 0


async def test_records_that_no_key_has_placed_go_on_in_a_topic_that_was_made_anew(broker, topic):
    async with (
        Admin(broker) as admin,
        Producer(broker) as producer,
        Producer(broker, partitioner="round_robin") as turns,
    ):
        for one in (producer, turns):
            await one.send_many(topic, [b"old"])
        await admin.delete_topic(topic)
        await admin.create_topic(topic, 8)
        await (await producer.send(topic, b"new"))
        await (await producer.send(topic, b"new", key=b"key", partition=1))
        await producer.send_many(topic, [b"new"])
        await (await turns.send(topic, b"new", key=b"key"))
    assert sum(map(len, (await read_all(broker, topic)).values())) == 4


async def test_flush_tells_of_a_failure_once_and_only_if_nobody_was_told(broker, request):
    name = name_of(request.node.nodeid)
    async with Admin(broker) as admin, Producer(broker, batch_records=1) as producer:
        await admin.create_topic(name, 1)
        await (await producer.send(name, b"small"))
        await admin.alter_topic(name, TopicConfig(max_value_bytes=10))
        await producer.send(name, b"nobody looks at this one")
        with pytest.raises(RecordTooLarge):
            await producer.flush()
        await producer.flush()
        delivery = await producer.send(name, b"somebody looks at this one")
        with pytest.raises(RecordTooLarge):
            await delivery
        await producer.flush()


async def test_flush_waits_for_what_was_sent_before_and_not_for_what_others_send_meanwhile(broker, topic):
    async with Producer(broker, linger_ms=1) as producer:

        async def go_on_sending():
            while True:
                await producer.send(topic, b"more")
                await asyncio.sleep(0)

        sending = asyncio.create_task(go_on_sending())
        async with asyncio.timeout(10):
            for _ in range(5):
                delivery = await producer.send(topic, b"value")
                await producer.flush()
                assert delivery.done()
        sending.cancel()
        await asyncio.wait([sending])


async def test_a_cancelled_waiter_loses_nothing(broker, topic):
    async with Producer(broker, linger_ms=50) as producer:
        deliveries = [await producer.send(topic, b"%d" % number, partition=0) for number in range(10)]
        waiters = [asyncio.create_task(_wait(one)) for one in deliveries]
        await asyncio.sleep(0)
        for waiter in waiters[::2]:
            waiter.cancel()
        results = await asyncio.gather(*waiters, return_exceptions=True)
        assert [one.offset for one in results[1::2]] == [1, 3, 5, 7, 9]
        assert all(isinstance(one, asyncio.CancelledError) for one in results[::2])
        assert [(await one).offset for one in deliveries] == list(range(10))
    assert len((await read_all(broker, topic))[0]) == 10


async def _wait(delivery):
    return await delivery


async def test_a_broker_that_does_not_answer_fails_the_delivery_in_time(shared_server, topic):
    async with Producer(shared_server.native, delivery_timeout_ms=400) as producer:
        await (await producer.send(topic, b"first", partition=0))
        with shared_server.frozen():
            began = time.monotonic()
            delivery = await producer.send(topic, b"lost?", partition=0)
            with pytest.raises(RequestTimeout, match="may have been written") as failed:
                await delivery
            assert 0.3 < time.monotonic() - began < 4
            assert failed.value.hint is not None
        await (await producer.send(topic, b"works again"))


async def test_closing_does_not_wait_for_a_broker_that_takes_nothing(shared_server, topic):
    producer = Producer(shared_server.native)
    await (await producer.send(topic, b"first", partition=0))
    with shared_server.frozen():
        for _ in range(100):
            await producer.send(topic, b"x" * 100_000, partition=0)
        began = time.monotonic()
        await producer.close(flush=False)
        assert time.monotonic() - began < 8


async def test_a_broker_that_is_gone_fails_the_delivery_in_time(broker, topic):
    async with Producer(broker, delivery_timeout_ms=300) as producer:
        await (await producer.send(topic, b"first", partition=0))
        producer._link._addresses = ("127.0.0.1:1",)
        producer._link.live.hang_up("for this test")
        began = time.monotonic()
        delivery = await producer.send(topic, b"value", partition=0)
        with pytest.raises(RequestTimeout):
            await delivery
        assert time.monotonic() - began < 4


# Numbers of idempotent producers, request by request.


class Requests:
    def __init__(self, link, topic):
        self._link = link
        self._topic = topic

    async def identity(self, producer_id=None, epoch=0):
        request = messages.InitProducer(producer_id, epoch)
        return await self._link.ask(Opcode.INIT_PRODUCER, request, messages.ProducerIdentity)

    async def publish(self, identity, sequence, count=2):
        connection = await self._link.connection()
        head = messages.Publish(self._topic, 0, None, identity.producer_id, identity.epoch, sequence)
        tail = codec.encode([Record(b"%d" % (sequence + step)) for step in range(count)])
        return (await connection.request(Opcode.PUBLISH, head, messages.Published, tail))[0]


@pytest.fixture
async def requests(broker, topic):
    link = Link(broker)
    yield Requests(link, topic)
    await link.close()


async def test_a_batch_sent_again_is_answered_with_its_first_offset(requests):
    me = await requests.identity()
    first = [await requests.publish(me, sequence) for sequence in (0, 2, 4, 6, 8)]
    assert [one.base_offset for one in first] == [0, 2, 4, 6, 8]
    for number, sequence in enumerate((0, 2, 4, 6, 8)):
        again = await requests.publish(me, sequence)
        assert (again.base_offset, again.timestamp_ns) == (first[number].base_offset, first[number].timestamp_ns)
        assert (first[number].duplicate, again.duplicate) == (False, True)
    assert (await requests.publish(me, 10)).base_offset == 10


async def test_a_batch_sent_again_while_the_first_is_under_way_has_the_same_offset(requests):
    me = await requests.identity()
    answers = await asyncio.gather(*(requests.publish(me, sequence) for sequence in (0, 0, 2, 2, 0)))
    assert [one.base_offset for one in answers] == [0, 0, 2, 2, 0]
    assert [one.duplicate for one in answers] == [False, True, False, True, True]


async def test_a_number_out_of_order_is_refused(requests):
    me = await requests.identity()
    await requests.publish(me, 0)
    for wrong in (1, 3, 100):
        with pytest.raises(OutOfOrderSequence):
            await requests.publish(me, wrong)
    assert (await requests.publish(me, 2)).base_offset == 2


async def test_one_older_than_the_last_five_batches_is_refused(requests):
    me = await requests.identity()
    for sequence in range(0, 12, 2):
        await requests.publish(me, sequence)
    with pytest.raises(OutOfOrderSequence):
        await requests.publish(me, 0)


async def test_an_old_epoch_is_fenced(requests):
    old = await requests.identity()
    await requests.publish(old, 0)
    new = await requests.identity(old.producer_id, old.epoch)
    assert (new.producer_id, new.epoch) == (old.producer_id, old.epoch + 1)
    with pytest.raises(ProducerFenced):
        await requests.publish(old, 2)
    assert (await requests.publish(new, 0)).base_offset == 2
    with pytest.raises(ProducerFenced):
        await requests.identity(old.producer_id, old.epoch)


async def test_an_identity_that_was_never_given_out_is_refused(requests):
    nobody = messages.ProducerIdentity(10**12, 0)
    me = await requests.identity()
    later = messages.ProducerIdentity(me.producer_id, me.epoch + 1)
    for wrong in (nobody, messages.ProducerIdentity(0, 0), messages.ProducerIdentity(-5, 0), later):
        with pytest.raises(UnknownProducer):
            await requests.publish(wrong, 0)
    with pytest.raises(UnknownProducer):
        await requests.identity(me.producer_id, me.epoch + 1)
    assert (await requests.publish(me, 0)).base_offset == 0
    with pytest.raises(GoQueueError):
        await requests.identity(10**12, 0)
