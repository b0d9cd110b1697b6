"""Values, times and addresses as users of the client give them: text, JSON, dictionaries, timedelta, lists."""

import socket
import time
from datetime import UTC, datetime, timedelta

import pytest

from goqueue import Admin, Consumer, Producer, Worker
from goqueue.client import Admin as AsyncAdmin
from goqueue.client import Producer as AsyncProducer
from goqueue.client.direct import Publisher
from goqueue.errors import BrokerUnreachable, DecodingLimit, InvalidRecord, InvalidRequest, RequestTimeout, TopicExists
from tests.behaviour.serving import free_port, name_of, running_server

VALUES = [b"bytes", "text, é", None]
STORED = [b"bytes", "text, é".encode(), None]


@pytest.fixture
def broker(shared_server):
    return shared_server.native


@pytest.fixture
def topic(broker, request):
    name = name_of(request.node.nodeid)
    with Admin(bootstrap=broker) as admin:
        admin.create_topic(name, 1)
    return name


def read(broker, topic, count):
    found = []
    with Consumer(topic, bootstrap=broker) as consumer:
        while len(found) < count:
            found += consumer.poll()
    return found


# Values.


def test_a_value_and_a_key_may_be_text(broker, topic):
    with Producer(bootstrap=broker) as producer:
        for value in VALUES:
            producer.send(topic, value, key="customer-1")
        producer.send_many(topic, VALUES, keys=["customer-1", b"customer-1", None])
    found = read(broker, topic, 6)
    assert [one.value for one in found] == STORED * 2
    assert [one.key for one in found] == [b"customer-1"] * 5 + [None]
    assert [one.text for one in found[:3]] == ["bytes", "text, é", None]


def test_json_is_anything_that_json_can_express(broker, topic):
    given = [{"id": 5, "paid": True}, [1, None], "text", 7, None]
    with Producer(bootstrap=broker) as producer:
        for one in given:
            producer.send(topic, json=one)
        producer.send_many(topic, json=given)
        with pytest.raises(InvalidRecord, match="JSON"):
            producer.send(topic, json={1j})
        with pytest.raises(InvalidRecord, match="both"):
            producer.send(topic, b"value", json={})
        with pytest.raises(InvalidRecord, match="must have a value"):
            producer.send(topic)
    found = read(broker, topic, 10)
    assert [one.json() for one in found] == given * 2
    assert found[0].value == b'{"id":5,"paid":true}'
    with Producer(bootstrap=broker) as producer:
        producer.send(topic, b"no JSON")
    with pytest.raises(InvalidRecord, match=f"{topic}/0 at offset 10 is not JSON"):
        read(broker, topic, 11)[10].json()
    with Producer(bootstrap=broker) as producer:
        producer.send(topic, b"[" * 100_000 + b"]" * 100_000)
    with pytest.raises(DecodingLimit, match=f"{topic}/0 at offset 11: objects and arrays are nested"):
        read(broker, topic, 12)[11].json()


def test_headers_may_be_a_dictionary_and_their_values_text(broker, topic):
    with Producer(bootstrap=broker) as producer:
        producer.send(topic, b"1", headers={"source": "web", "trace": b"\xff"})
        producer.send(topic, b"2", headers=[("source", "web"), ("source", b"app")])
    one, two = read(broker, topic, 2)
    assert one.headers == (("source", b"web"), ("trace", b"\xff"))
    assert two.headers == (("source", b"web"), ("source", b"app"))


async def test_a_producer_of_asyncio_and_a_publisher_take_the_same(broker, topic):
    async with AsyncProducer(bootstrap=broker) as producer:
        await (await producer.send(topic, "text", key="k", headers={"a": "b"}))
        await producer.send_many(topic, json=[{"id": 1}], keys=["k"])
    with Publisher(bootstrap=broker) as publisher:
        publisher.publish(topic, json={"id": 2}, key="k", headers={"a": "b"})
        publisher.publish_many(topic, ["three", "four"], key="k")
    found = read(broker, topic, 5)
    assert [one.text for one in found] == ["text", '{"id":1}', '{"id":2}', "three", "four"]
    assert {one.key for one in found} == {b"k"}
    assert found[0].headers == found[2].headers == (("a", b"b"),)


def test_a_job_has_its_text_and_json(broker, topic):
    with Producer(bootstrap=broker) as producer, Worker(topic, group=topic, bootstrap=broker) as worker:
        producer.send(topic, json=[1]).result()
        (job,) = worker.take()
        assert (job.text, job.json()) == ("[1]", [1])
        worker.ack(job)


# Times.


def test_a_delay_and_a_time_to_live_are_timedeltas_and_instants_are_datetimes(broker, topic):
    hour = timedelta(hours=1)
    at = datetime(2030, 1, 1, tzinfo=UTC)
    with Producer(bootstrap=broker) as producer, Admin(bootstrap=broker) as admin:
        began = time.time_ns()
        sent = producer.send(topic, b"1", delay=hour, ttl=2 * hour).result()
        record, message = admin.describe_delayed(topic, 0, sent.offset)
        assert began + 3600 * 10**9 <= record.deliver_at_ns <= time.time_ns() + 3600 * 10**9
        (expires,) = (int(value) for name, value in message.headers if name == "goqueue-expires")
        assert began + 7200 * 10**9 <= expires <= time.time_ns() + 7200 * 10**9
        due = datetime.now(UTC) + hour
        (sent,) = producer.send_many(topic, [b"2"], deliver_at=due)
        record, _ = admin.describe_delayed(topic, 0, sent.offset)
        assert abs(record.deliver_at_ns - due.timestamp() * 10**9) < 10_000
        moved = admin.reschedule_delayed(topic, 0, sent.offset, delay=2 * hour)
        assert moved.deliver_at_ns - record.deliver_at_ns > 3000 * 10**9
        producer.send(topic, b"3", expires_at=at)


def test_a_worker_and_a_consumer_take_timedeltas(broker, topic):
    second = timedelta(seconds=1)
    with (
        Producer(bootstrap=broker, linger=timedelta(0), delivery_timeout=30 * second) as producer,
        Worker(topic, group=topic, bootstrap=broker, visibility=60 * second) as worker,
        Consumer(topic, group="readers", bootstrap=broker, session=20 * second, auto_commit=None) as consumer,
    ):
        producer.send(topic, b"1").result()
        (job,) = worker.take(wait=second)
        assert job.deadline_ns - time.time_ns() > 50 * 10**9
        assert worker.extend(job, visibility=120 * second).deadline_ns - time.time_ns() > 110 * 10**9
        worker.nack(job, delay=timedelta(0))
        assert worker.take(wait=10 * second)
        assert [one.value for one in consumer.poll(wait=10 * second)] == [b"1"]


def test_offsets_are_found_by_datetime(broker, topic):
    with Producer(bootstrap=broker) as producer, Admin(bootstrap=broker) as admin:
        producer.send_many(topic, [b"1", b"2"])
        with Consumer(topic, bootstrap=broker) as consumer:
            (log,) = consumer.assigned
            assert consumer.offsets_at([log], datetime(2000, 1, 1, tzinfo=UTC)) == {log: 0}
        assert admin.offsets_at([log], datetime.now(UTC) + timedelta(days=1)) == {log: 2}
        (change,) = admin.reset_offsets("resets", "timestamp", datetime(2000, 1, 1, tzinfo=UTC), topics=[topic])
        assert change.after == 0


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"delay": 5}, "delay must be a timedelta, got 5"),
        ({"delay": timedelta(1), "delay_ms": 5}, "both given"),
        ({"deliver_at": 5}, "deliver_at must be a datetime, got 5"),
        ({"deliver_at": datetime(2030, 1, 1)}, "must have a time zone"),
        ({"ttl": timedelta(1), "ttl_ms": 5}, "both given"),
        ({"expires_at": datetime(2030, 1, 1)}, "must have a time zone"),
    ],
)
def test_a_time_that_is_none_is_refused_with_the_rule_and_the_value(broker, topic, given, complaint):
    with Producer(bootstrap=broker) as producer, pytest.raises(InvalidRequest, match=complaint):
        producer.send(topic, b"", **given)


def test_a_schedule_takes_json_text_and_timedeltas(broker, topic):
    with Admin(bootstrap=broker) as admin:
        made = admin.create_schedule(
            topic,
            topic,
            every=timedelta(hours=1),
            json={"report": "daily"},
            key="reports",
            headers={"by": "clock"},
            start=datetime(2040, 1, 1, tzinfo=UTC),
            misfire_after=timedelta(minutes=5),
        )
        assert (made.value, made.key, made.headers) == (b'{"report":"daily"}', b"reports", (("by", b"clock"),))
        assert (made.every_s, made.misfire_after_ms) == (3600, 300_000)
        assert made.start == int(datetime(2040, 1, 1, tzinfo=UTC).timestamp()) * 10**9
        assert admin.alter_schedule(topic, paused=True, value="text").value == b"text"
        assert topic in {one.id for one in admin.list_schedules()}
        admin.delete_schedule(topic)


def test_a_group_policy_takes_timedeltas(broker, topic):
    with Admin(bootstrap=broker) as admin:
        policy = admin.set_group_policy(topic, visibility_timeout=timedelta(minutes=2), retry_backoff_ms=5)
        assert (policy.visibility_timeout_ms, policy.retry_backoff_ms) == (120_000, 5)


# Topics.


async def test_a_topic_that_exists_is_no_error_when_it_is_to_be_created_only_if_it_does_not_exist(broker, topic):
    with Admin(bootstrap=broker) as admin:
        before = admin.describe_topic(topic)
        assert admin.create_topic(topic, 5, if_not_exists=True) == before
        with pytest.raises(TopicExists):
            admin.create_topic(topic)
        assert topic in {one.name for one in admin.list_topics()}
    async with AsyncAdmin(bootstrap=broker) as admin:
        assert await admin.create_topic(topic, if_not_exists=True) == before
        assert (await admin.create_topic(f"{topic}-new", 2, if_not_exists=True)).partitions == 2


# Addresses.


def dead():
    return f"127.0.0.1:{free_port()}"


@pytest.fixture
def silent():
    """It takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize("joined", [True, False], ids=["text", "list"])
def test_the_first_address_that_answers_is_used(broker, topic, joined):
    addresses = [dead(), broker, dead()]
    where = " , ".join(addresses) if joined else addresses
    with Producer(bootstrap=where) as producer, Admin(bootstrap=where) as admin:
        producer.send(topic, b"1").result()
        assert admin.describe_topic(topic).partitions == 1
    with Consumer(topic, bootstrap=where) as consumer, Worker(topic, group=topic, bootstrap=where) as worker:
        assert [one.value for one in consumer.poll()] == [b"1"]
        worker.ack(*worker.take())
    with Publisher(bootstrap=where) as publisher:
        assert publisher.publish(topic, b"2").offset == 1


def test_an_address_that_is_silent_leaves_time_for_the_others(broker, topic, silent):
    where = [silent, broker]
    with Producer(bootstrap=where, connect_timeout_ms=1000) as producer:
        assert producer.send(topic, b"1").result(10).offset == 0
    with Publisher(bootstrap=where, connect_timeout=timedelta(seconds=1)) as publisher:
        assert publisher.publish(topic, b"2").offset == 1


def test_a_client_goes_to_another_address_when_the_connection_is_lost(tmp_path, broker, topic):
    with running_server(tmp_path / "first") as first:
        with Admin(bootstrap=first.native) as admin:
            admin.create_topic(topic, 1)
        where = f"{first.native},{broker}"
        with Producer(bootstrap=where) as producer, Publisher(bootstrap=where) as publisher:
            producer.send(topic, b"first").result()
            publisher.publish(topic, b"first")
            first.kill()
            producer.send(topic, b"second").result(30)
            with pytest.raises(RequestTimeout, match="may have been written"):
                # It went to the broker that was lost, so it must not be written by the other one.
                publisher.publish(topic, b"in doubt")
            publisher.publish(topic, b"third")
    assert [one.value for one in read(broker, topic, 2)] == [b"second", b"third"]


@pytest.mark.parametrize("kind", ["Producer", "Publisher", "Admin", "Consumer", "Worker"])
def test_when_none_answers_each_address_is_named_with_its_reason(silent, kind):
    refused = dead()
    settings = {"bootstrap": [refused, silent], "connect_timeout_ms": 600}
    began = time.monotonic()
    with pytest.raises(BrokerUnreachable) as failure:
        if kind == "Producer":
            with Producer(**settings) as producer:
                producer.send("orders", b"")
        elif kind == "Publisher":
            with Publisher(**settings) as publisher:
                publisher.publish("orders", b"")
        elif kind == "Admin":
            with Admin(**settings):
                pass
        elif kind == "Consumer":
            with Consumer("orders", **settings):
                pass
        else:
            with Worker("orders", group="billing", **settings):
                pass
    assert time.monotonic() - began < 5
    said = failure.value.message
    assert said.count("no broker answers") == 1
    assert f"{refused}: Connection refused" in said
    assert f"{silent}: no answer within" in said


async def test_a_producer_on_a_dead_port_fails_within_its_connect_timeout():
    began = time.monotonic()
    with pytest.raises(BrokerUnreachable, match="Connection refused"), Producer(bootstrap=dead()) as producer:
        producer.send("orders", b"")
    assert time.monotonic() - began < 7
    began = time.monotonic()
    with pytest.raises(BrokerUnreachable, match="Connection refused"), Publisher(bootstrap=dead()) as publisher:
        publisher.publish("orders", b"")
    assert time.monotonic() - began < 7
    with pytest.raises(BrokerUnreachable, match="Connection refused"):
        async with AsyncProducer(bootstrap=dead(), connect_timeout_ms=200) as producer:
            await producer.send("orders", b"")


def test_a_transaction_on_an_address_that_is_silent_fails_within_the_connect_timeout(silent):
    began = time.monotonic()
    producer = Producer(bootstrap=silent, transactional_id="tx", connect_timeout_ms=2000)
    with producer, pytest.raises(BrokerUnreachable, match="no answer within 2 s"), producer.transaction():
        producer.send("orders", b"")
    assert time.monotonic() - began < 3.5


def test_a_list_without_an_address_is_refused():
    with pytest.raises(InvalidRequest, match="at least one address"):
        Producer(bootstrap=[])
