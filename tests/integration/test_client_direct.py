"""The client without an event loop against a real broker: what is published is written once, or it is said why not."""

import asyncio
import multiprocessing
import os
import signal
import time

import pytest

from goqueue.client.direct import Publisher
from goqueue.client.sync import Admin, Consumer, Producer, TopicConfig
from goqueue.errors import (
    BrokerUnreachable,
    ClientClosed,
    InvalidRecord,
    InvalidRequest,
    RecordTooLarge,
    RequestTimeout,
    UnknownPartition,
    UnknownTopic,
)
from goqueue.wire.native.frames import Opcode
from tests.behaviour.serving import free_port, name_of, running_server
from tests.integration.cutting import cutter

PARTITIONS = 3


@pytest.fixture
def broker(shared_server):
    return shared_server.native


@pytest.fixture
def topic(broker, request):
    name = name_of(request.node.nodeid)
    with Admin(broker) as admin:
        admin.create_topic(name, PARTITIONS, TopicConfig(max_value_bytes=1000))
    return name


@pytest.fixture(scope="module")
def own_server(tmp_path_factory):
    """One that may be killed and frozen."""
    with running_server(tmp_path_factory.mktemp("direct") / "broker") as running:
        yield running


@pytest.fixture
def own_topic(own_server, request):
    name = name_of(request.node.nodeid)
    with Admin(own_server.native) as admin:
        admin.create_topic(name, 1)
    return name


def read_all(broker, topic):
    found = []
    with Consumer(topic, bootstrap=broker) as consumer:
        while some := consumer.poll(wait_ms=0, limit=10_000):
            found += some
    return found


def test_a_record_is_where_it_is_said_to_be_with_all_that_it_was_given(broker, topic):
    with Publisher(broker) as publisher:
        sent = publisher.publish(topic, b"hello", key=b"customer-1", headers=[("a", b"b")], priority=1)
    (found,) = read_all(broker, topic)
    assert (found.partition, found.offset, found.timestamp_ns) == sent[1:4]
    assert (found.value, found.key, found.headers, found.priority) == (b"hello", b"customer-1", (("a", b"b"),), 1)


def test_keys_go_where_a_producer_sends_them(broker, topic):
    keys = [b"%d" % number for number in range(40)]
    with Publisher(broker) as publisher, Producer(broker) as producer:
        ours = [publisher.publish(topic, b"", key=key).partition for key in keys]
        theirs = [producer.send(topic, b"", key=key).result().partition for key in keys]
    assert ours == theirs
    assert len(set(ours)) == PARTITIONS


def test_records_without_a_key_take_turns(broker, topic):
    with Publisher(broker) as publisher:
        assert {publisher.publish(topic, b"").partition for _ in range(PARTITIONS)} == set(range(PARTITIONS))


def test_a_list_is_one_batch_and_each_has_its_place(broker, topic):
    values = [b"%d" % number for number in range(500)]
    with Publisher(broker) as publisher:
        publisher.publish(topic, b"before", partition=1)
        places = publisher.publish_many(topic, values, partition=1, priority=0)
        assert publisher.publish_many(topic, []) == ()
    assert [place.offset for place in places] == list(range(1, 501))
    assert places[-1].offset == 500
    assert [place.offset for place in places[2:4]] == [3, 4]
    assert [one.value for one in read_all(broker, topic)] == [b"before", *values]


def test_a_record_with_a_known_id_is_not_written_again(broker, topic):
    with Publisher(broker) as publisher:
        first = publisher.publish(topic, b"one", partition=0, id="order-1")
        again = publisher.publish(topic, b"two", partition=2, id="order-1")
    assert not first.duplicate
    assert again == first._replace(duplicate=True)
    assert [one.value for one in read_all(broker, topic)] == [b"one"]


def test_a_delayed_record_is_hidden_until_it_is_due(broker, topic):
    with Publisher(broker) as publisher, Admin(broker) as admin:
        sent = publisher.publish(topic, b"later", delay_ms=60_000)
        assert [(one.partition, one.offset) for one in admin.list_delayed(topic).records] == [sent[1:3]]
    assert read_all(broker, topic) == []


def test_what_is_refused_is_told_and_the_next_one_is_written(broker, topic):
    with Publisher(broker) as publisher:
        with pytest.raises(RecordTooLarge, match="1000"):
            publisher.publish(topic, b"x" * 1001, partition=0)
        with pytest.raises(RecordTooLarge, match="the broker takes"):
            publisher.publish_many(topic, [b"x" * 900] * 30_000, partition=0)
        with pytest.raises(InvalidRecord):
            publisher.publish(topic, 5, partition=0)
        with pytest.raises(UnknownPartition):
            publisher.publish(topic, b"", partition=PARTITIONS)
        assert publisher.publish(topic, b"x" * 1000, partition=0).offset == 0
    assert len(read_all(broker, topic)) == 1


def test_a_topic_may_come_and_go(broker, topic):
    name = f"{topic}-2"
    with Publisher(broker) as publisher, Admin(broker) as admin:
        for _ in range(2):
            with pytest.raises(UnknownTopic, match=name):
                publisher.publish(name, b"")
            admin.create_topic(name, 1)
            assert publisher.publish(name, b"").offset == 0
            admin.delete_topic(name)


def test_threads_may_share_one(broker, topic):
    from concurrent.futures import ThreadPoolExecutor

    with Publisher(broker) as publisher, ThreadPoolExecutor(8) as pool:
        places = list(pool.map(lambda number: publisher.publish(topic, b"%d" % number, partition=0), range(200)))
    assert sorted(place.offset for place in places) == list(range(200))
    found = {one.offset: one.value for one in read_all(broker, topic)}
    assert [found[place.offset] for place in places] == [b"%d" % number for number in range(200)]


# What may happen on the way.


@pytest.mark.parametrize("where", ["asked", "answered"])
@pytest.mark.parametrize("opcode", [Opcode.METADATA, Opcode.INIT_PRODUCER, Opcode.PUBLISH], ids=lambda one: one.name)
async def test_what_is_cut_off_is_sent_again_and_written_once(broker, topic, where, opcode):
    async with cutter(broker) as way:
        way.cut(where, opcode)

        def publish():
            with Publisher(way.address) as publisher:
                return [publisher.publish(topic, b"%d" % number, partition=0) for number in range(3)]

        places = await asyncio.to_thread(publish)
        assert way.happened == 1
    assert [place.offset for place in places] == [0, 1, 2]
    assert [place.duplicate for place in places] == [opcode is Opcode.PUBLISH and where == "answered", False, False]
    assert [one.value for one in await asyncio.to_thread(read_all, broker, topic)] == [b"0", b"1", b"2"]


def test_it_goes_on_when_the_broker_was_killed_in_between(own_server, own_topic):
    with Publisher(own_server.native) as publisher:
        for number in range(6):
            if number in (2, 4):
                own_server.crash_and_restart()
            assert publisher.publish(own_topic, b"%d" % number).offset == number
    assert [one.value for one in read_all(own_server.native, own_topic)] == [b"%d" % number for number in range(6)]


def test_a_record_that_an_interrupted_call_may_have_written_is_not_taken_for_the_next_one(own_server, own_topic):
    class Interrupted(Exception):
        pass

    def interrupt(*_):
        raise Interrupted

    with Publisher(own_server.native) as publisher:
        publisher.publish(own_topic, b"first")
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            with own_server.frozen():
                signal.setitimer(signal.ITIMER_REAL, 0.2)
                with pytest.raises(Interrupted):
                    publisher.publish(own_topic, b"interrupted")
        finally:
            signal.signal(signal.SIGALRM, before)
        sent = publisher.publish(own_topic, b"next")
    assert not sent.duplicate
    assert [one.value for one in read_all(own_server.native, own_topic)] == [b"first", b"interrupted", b"next"]


def test_a_broker_that_is_not_there_is_waited_for_only_so_long(own_server, own_topic):
    nobody = f"127.0.0.1:{free_port()}"
    with Publisher(nobody, delivery_timeout_ms=200) as publisher, pytest.raises(BrokerUnreachable, match=nobody):
        publisher.publish(own_topic, b"")
    with Publisher(own_server.native, delivery_timeout_ms=300) as publisher:
        publisher.publish(own_topic, b"0")
        own_server.kill()
        began = time.monotonic()
        with pytest.raises(RequestTimeout, match="may have been written"):
            publisher.publish(own_topic, b"1")
        with pytest.raises(RequestTimeout, match="was not written"):
            publisher.publish(own_topic, b"2")
        assert time.monotonic() - began < 5
        own_server.start()
        assert publisher.publish(own_topic, b"3").offset == 1


# Its end.


def test_a_closed_one_refuses(broker, topic):
    publisher = Publisher(broker)
    publisher.publish(topic, b"")
    publisher.close()
    publisher.close()
    with pytest.raises(ClientClosed):
        publisher.publish(topic, b"")


def _publish_in_fork(publisher, topic, answer):
    try:
        publisher.publish(topic, b"")
    except ClientClosed as error:
        answer.put(error.hint)


def test_a_fork_has_to_make_its_own(broker, topic):
    context = multiprocessing.get_context("fork")
    answer = context.SimpleQueue()
    with Publisher(broker) as publisher:
        publisher.publish(topic, b"", partition=0)
        fork = context.Process(target=_publish_in_fork, args=(publisher, topic, answer))
        fork.start()
        assert "after the fork" in answer.get()
        fork.join()
        assert publisher.publish(topic, b"", partition=0).offset == 1
    assert os.getpid() != fork.pid


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [({"linger_ms": 5}, "linger_ms"), ({"delivery_timeout_ms": 0}, "at least 1"), ({"durability": "maybe"}, "maybe")],
)
def test_settings_are_checked(settings, complaint):
    with pytest.raises(InvalidRequest) as refused:
        Publisher(**settings)
    assert complaint in f"{refused.value.message} {refused.value.hint}"


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:99999"])
def test_an_address_that_is_none_is_refused(address):
    with Publisher(address) as publisher, pytest.raises(InvalidRequest, match="not an address"):
        publisher.publish("orders", b"")
