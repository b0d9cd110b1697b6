"""Metrics: the same traffic moves the same counters, whichever way it takes."""

import time

import pytest

from tests.behaviour.exposed import exposed
from tests.behaviour.path import Ability, Out
from tests.behaviour.paths import over, refused
from tests.behaviour.serving import eventually

over_queue = over(Ability.TOPICS, Ability.RECORDS, Ability.GROUPS, Ability.QUEUE)
over_delays = over(Ability.TOPICS, Ability.RECORDS, Ability.DELAYS)
over_records = over(Ability.TOPICS, Ability.RECORDS)


def counted(broker, topic: str, *names: str) -> list[float]:
    """The counters of a topic, by the middle of their names."""
    seen = exposed(broker)
    return [seen.value(f"goqueue_{name}_records_total", topic=topic) for name in names]


@over_records
async def test_records_are_counted_when_they_are_published_and_read(path, shared_broker, name):
    await path.create_topic(name, 1)
    await path.publish(name, [Out(b"%d" % number) for number in range(5)])
    await path.publish(name, [Out(b"last")])
    assert counted(shared_broker, name, "broker_published", "consumer_fetched", "consumer_delivered") == [6, 0, 0]
    assert len(await path.read(name, 0)) == 6
    seen = exposed(shared_broker)
    assert seen.value("goqueue_consumer_fetched_records_total", topic=name) >= 6
    for what in ("broker_published", "consumer_fetched"):
        assert seen.value(f"goqueue_{what}_bytes_total", topic=name) >= 6
    assert seen.value("goqueue_storage_topic_records", topic=name) == 6


@pytest.mark.parametrize("path", ["native", "http"], indirect=True)  # The clients look at the size before they send.
async def test_records_that_are_refused_are_counted_by_the_reason(path, shared_broker, name):
    await path.create_topic(name, 1, max_value_bytes=100)
    await path.publish(name, [Out(b"fits")])
    with refused("record_too_large"):
        await path.publish(name, [Out(bytes(200))])
    seen = exposed(shared_broker)
    assert seen.value("goqueue_broker_refused_records_total", topic=name, code="record_too_large") == 1
    assert seen.sum("goqueue_broker_refused_records_total", topic=name) == 1
    assert seen.value("goqueue_broker_published_records_total", topic=name) == 1


@over_queue
async def test_what_becomes_of_deliveries_is_counted(path, shared_broker, name):
    await path.create_topic(name, 1, max_attempts=2)
    await path.publish(name, [Out(b"%d" % number) for number in range(4)])
    async with path.worker(name, name) as worker:
        done, bad, again, gone = await worker.take()
        await worker.ack(done)
        await worker.reject(bad, reason="never")
        await worker.nack(again, reason="later", delay_ms=0)
        await worker.nack(gone, reason="later", delay_ms=0)
        seen = exposed(shared_broker)
        assert seen.sum("goqueue_consumer_ready_records", group=name) == 2
        assert seen.value("goqueue_consumer_lag_records", group=name, topic=name) == 2
        assert seen.value("goqueue_consumer_oldest_waiting_seconds", group=name, topic=name) > 0
        again, gone = await worker.take()
        await worker.ack(again)
        await worker.nack(gone, reason="still not")
    names = ("delivered", "acked", "nacked", "rejected", "timed_out", "dead_lettered", "expired", "redriven")
    assert counted(shared_broker, name, *(f"consumer_{one}" for one in names)) == [6, 2, 3, 1, 0, 2, 0, 0]
    assert counted(shared_broker, f"{name}.dlq", "broker_published") == [2]
    seen = exposed(shared_broker)
    assert seen.value("goqueue_consumer_settled_records_total", group=name, topic=name) == 4
    for gauge in ("in_flight_records", "retrying_records", "lag_records", "oldest_waiting_seconds"):
        assert seen.value(f"goqueue_consumer_{gauge}", group=name, topic=name) == 0


@over_queue
async def test_a_delivery_that_is_not_acknowledged_in_time_is_counted(path, shared_broker, name):
    await path.create_topic(name, 1)
    await path.publish(name, [Out(b"slow")])
    async with path.worker(name, name, visibility_ms=50) as worker:
        assert len(await worker.take()) == 1
        eventually(lambda: counted(shared_broker, name, "consumer_timed_out") == [1])


@over_delays
async def test_delayed_records_are_counted_while_they_wait_and_when_they_fall_due(path, shared_broker, name):
    await path.create_topic(name, 1)
    soon = time.time_ns() + 3_000_000_000
    await path.publish(name, [Out(b"later", deliver_at_ns=soon), Out(b"much later", delay_ms=3_600_000)])
    assert exposed(shared_broker).value("goqueue_broker_delayed_records", topic=name) == 2
    eventually(lambda: counted(shared_broker, name, "broker_due") == [1], within_s=30)
    assert exposed(shared_broker).value("goqueue_broker_delayed_records", topic=name) == 1
