"""The blocking clients against a real broker."""

import threading
import time

import pytest

from goqueue import codec
from goqueue.client.sync import Admin, Consumer, LogId, Producer
from goqueue.errors import (
    BrokerUnreachable,
    BufferFull,
    ClientClosed,
    InvalidRecord,
    RecordTooLarge,
    RequestTimeout,
    UnknownPartition,
    UnknownTopic,
)
from goqueue.model.record import Record
from tests.behaviour.serving import name_of


@pytest.fixture
def broker(shared_server):
    return shared_server.native


@pytest.fixture
def topic(broker, request):
    name = name_of(request.node.nodeid)
    with Admin(broker) as admin:
        admin.create_topic(name, 3)
    return name


@pytest.fixture(autouse=True)
def nothing_left_behind():
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name == "goqueue-client"] == []


def test_ten_lines_are_enough(broker, topic):
    with Producer(broker) as producer:
        sent = producer.send(topic, b"hello", key=b"customer-1").result()
    with Consumer(topic, bootstrap=broker, group=topic) as consumer:
        for message in consumer:
            assert (message.value, message.offset) == (b"hello", sent.offset)
            break


def test_deliveries_are_promises_that_can_be_waited_for(shared_server, topic):
    with Producer(shared_server.native) as producer:
        assert producer.send(topic, b"first", partition=0).result(10).offset == 0
        with shared_server.frozen():
            delivery = producer.send(topic, b"second", partition=0)
            assert not delivery.done()
            began = time.monotonic()
            with pytest.raises(RequestTimeout):
                delivery.result(0.2)
            assert 0.15 < time.monotonic() - began < 3
        assert delivery.result(10).offset == 1
        assert delivery.done()
        assert delivery.result().offset == 1


def test_threads_may_share_a_producer(broker, topic):
    with Producer(broker) as producer:
        outcomes = []

        def send(number):
            deliveries = [producer.send(topic, b"%d" % step, key=b"thread %d" % number) for step in range(300)]
            outcomes.append((number, [one.result(30) for one in deliveries]))

        threads = [threading.Thread(target=send, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len({(one.partition, one.offset) for _, sent in outcomes for one in sent}) == 2400
    with Consumer(topic, bootstrap=broker) as consumer:
        found = []
        while some := consumer.poll(wait_ms=0):
            found += some
    for number in range(8):
        mine = [one.value for one in found if one.key == b"thread %d" % number]
        assert mine == [b"%d" % step for step in range(300)]


def test_what_is_wrong_with_a_record_is_said_at_once(broker, topic):
    with Producer(broker) as producer:
        with pytest.raises(UnknownTopic):
            producer.send("there-is-no-such-topic", b"value")
        with pytest.raises(UnknownPartition):
            producer.send(topic, b"value", partition=3)
        with pytest.raises(RecordTooLarge):
            producer.send(topic, b"value", key=b"k" * 70_000)
        with pytest.raises(InvalidRecord):
            producer.send(topic, 5)
        assert producer.send(topic, b"fine", partition=0).result(10).offset == 0


def test_lists_batches_and_single_records_keep_their_order(broker, topic):
    with Producer(broker, linger_ms=60_000) as producer:
        producer.send(topic, b"1", partition=0)
        producer.send_many(topic, [b"2", b"3"], partition=0)
        producer.send(topic, b"4", partition=0)
        batch = producer.send_batch(topic, 0, codec.encode([Record(b"5")]), 1)
        assert batch.result(10).offset == 4
        last = producer.send(topic, b"6", partition=0)
        producer.flush()
        assert last.done()
    with Consumer(topic, bootstrap=broker) as consumer:
        assert [one.value for one in consumer.poll()] == [b"1", b"2", b"3", b"4", b"5", b"6"]


def test_a_full_buffer_makes_senders_wait(shared_server, topic):
    with Producer(shared_server.native, buffer_records=10, batch_records=5) as producer:
        producer.send(topic, b"first", partition=0).result(10)
        with shared_server.frozen():
            for _ in range(10):
                producer.send(topic, b"value", partition=0)
            sent = []
            waiting = threading.Thread(target=lambda: sent.append(producer.send(topic, b"late", partition=0)))
            waiting.start()
            waiting.join(0.3)
            assert waiting.is_alive()
        waiting.join(10)
        assert sent[0].result(10).offset == 11


def test_a_full_buffer_refuses_when_told_to(shared_server, topic):
    settings = {"buffer_records": 10, "batch_records": 5, "when_full": "error"}
    with Producer(shared_server.native, **settings) as producer:
        producer.send(topic, b"first", partition=0).result(10)
        with shared_server.frozen():
            for _ in range(10):
                producer.send(topic, b"value", partition=0)
            with pytest.raises(BufferFull):
                producer.send(topic, b"one too many", partition=0)


def test_leaving_sends_what_is_left_and_leaving_with_an_error_does_not(broker, topic):
    with Producer(broker, linger_ms=60_000) as producer:
        delivery = producer.send(topic, b"sent", partition=0)
    assert delivery.result().offset == 0
    with pytest.raises(KeyError), Producer(broker, linger_ms=60_000) as producer:
        delivery = producer.send(topic, b"not sent", partition=0)
        raise KeyError
    with pytest.raises(ClientClosed):
        delivery.result()
    with pytest.raises(ClientClosed):
        producer.send(topic, b"later")
    with pytest.raises(ClientClosed):
        producer.flush()


def test_a_loop_that_is_left_has_done_what_it_was_given_and_nothing_more(broker, topic):
    with Producer(broker) as producer:
        producer.send_many(topic, [b"%d" % number for number in range(20)], partition=0)
    with Consumer(topic, bootstrap=broker, group=topic) as consumer:
        for message in consumer:
            if message.offset == 6:
                break
    with Admin(broker) as admin:
        assert admin.committed_offsets(topic) == {LogId(topic, 0): 7}
    with pytest.raises(ZeroDivisionError), Consumer(topic, bootstrap=broker, group=topic) as consumer:
        for message in consumer:
            if message.offset == 9:
                raise ZeroDivisionError
    with Consumer(topic, bootstrap=broker, group=topic) as consumer:
        assert next(iter(consumer)).offset == 9


def test_a_consumer_can_do_all_that_the_other_one_can(broker, topic):
    log = LogId(topic, 1)
    with Producer(broker) as producer:
        producer.send_many(topic, [b"%d" % number for number in range(10)], partition=1)
    with Consumer(topic, bootstrap=broker, group=topic, auto_commit_ms=None) as consumer:
        assert log in consumer.assigned
        assert [one.offset for one in consumer.poll(wait_ms=5000, limit=4)] == [0, 1, 2, 3]
        assert consumer.position(log) == 4
        consumer.commit()
        consumer.seek(log, 8)
        assert [one.offset for one in consumer.poll()] == [8, 9]
        consumer.pause(log)
        consumer.seek(log, 0)
        assert consumer.poll(wait_ms=50) == []
        consumer.resume(log)
        assert len(consumer.poll()) == 10
        consumer.seek(log, 5)
        (raw,) = consumer.poll_raw()
        assert [record.offset for record in codec.decode(raw.records)] == [5, 6, 7, 8, 9]
        assert consumer.offsets_at([log], "latest") == {log: 10}
        consumer.commit({log: 6})
    with Admin(broker) as admin:
        assert admin.committed_offsets(topic) == {log: 6}


def test_closing_from_another_thread_ends_a_poll(broker, topic):
    consumer = Consumer(topic, bootstrap=broker, group=topic)
    with consumer:
        answers = []
        polling = threading.Thread(target=lambda: answers.append(consumer.poll(wait_ms=30_000)))
        polling.start()
        time.sleep(0.1)
        began = time.monotonic()
        consumer.close()
        polling.join(10)
        assert answers == [[]]
        assert time.monotonic() - began < 5
    with pytest.raises(ClientClosed):
        consumer.poll()


def test_several_clients_share_one_thread(broker, topic):
    with Producer(broker) as producer, Admin(broker) as admin, Consumer(topic, bootstrap=broker) as consumer:
        producer.send(topic, b"value").result(10)
        assert topic in {one.name for one in admin.topics()}
        assert len(consumer.poll(wait_ms=5000)) == 1
        assert [thread.name for thread in threading.enumerate()].count("goqueue-client") == 1


def test_a_broker_that_is_not_there_is_said_so():
    with pytest.raises(BrokerUnreachable) as failed, Admin("127.0.0.1:1"):
        pass
    assert "goqueue server" in failed.value.hint
