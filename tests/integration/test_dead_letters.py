"""Dead letters of a broker that is killed, and of a group that fails at everything."""

import threading
from collections import Counter

import pytest

from goqueue.client.sync import Admin, Consumer, LetterSelect, Producer, Worker
from goqueue.errors import GoQueueError
from tests.behaviour.serving import eventually

RECORDS = 3000


def die(server, topic: str, count: int, reason: str = "no") -> None:
    """Publish records and reject them all."""
    with Producer(server.native) as producer:
        for number in range(count):
            producer.send(topic, b"%d" % number)
    left = count
    with Worker(topic, group="billing", bootstrap=server.native) as worker:
        while left > 0:
            jobs = worker.take(limit=1000)
            worker.reject(*jobs, reason=reason)
            left -= len(jobs)


def letters_of(admin: Admin, topic: str) -> list[bytes]:
    found, after = [], None
    while True:
        page = admin.dead_letters(topic, limit=1000, after=after)
        found += [letter.value for letter in page.letters]
        after = page.next
        if after is None:
            return found


def values_of(server, topic: str) -> list[bytes]:
    with Consumer(topic, bootstrap=server.native) as consumer:
        ends = consumer.offsets_at(consumer.assigned, "latest")
        found = []
        while any(consumer.position(log) < end for log, end in ends.items()):
            found += [message.value for message in consumer.poll(limit=100_000)]
        return found


@pytest.mark.parametrize("after_ms", [5, 20, 60])
def test_a_broker_killed_during_a_redrive_has_each_letter_in_one_place(server, after_ms):
    with Admin(server.native) as admin:
        admin.create_topic("orders", 2)
    die(server, "orders", RECORDS)
    everything = LetterSelect()
    with Admin(server.native) as admin:
        killer = threading.Timer(after_ms / 1000, server.kill)
        killer.start()
        try:
            for _ in range(RECORDS):
                admin.redrive_dead_letters("orders", everything, limit=50)
        except GoQueueError:
            pass
        killer.join()
    server.start()
    sent = {b"%d" % number for number in range(RECORDS)}
    with Admin(server.native) as admin:
        left, there = letters_of(admin, "orders"), Counter(values_of(server, "orders"))
        assert len(left) == len(set(left))
        assert set(there) == sent
        assert {value for value, count in there.items() if count == 1} == set(left)
        assert max(there.values()) <= 2
        assert admin.redrive_dead_letters("orders", everything, limit=10_000).done == len(left)
        assert admin.dead_letter_stats("orders").count == 0
    assert Counter(values_of(server, "orders")) == dict.fromkeys(sent, 2)


def test_a_group_that_fails_at_everything_is_paused_and_the_log_says_so(server, client):
    client.post("/topics", json={"name": "orders", "num_partitions": 1, "dead_letter_breaker_per_minute": 10})
    die(server, "orders", 11, reason="the bank does not answer")
    group = client.get("/groups/billing").json()
    assert (group["paused"], group["pause_reason"]) == (
        True,
        "more than 10 dead letters from orders within a minute",
    )
    said = "group paused by its dead-letter breaker"
    eventually(lambda: any(line.get("event") == said and line["group"] == "billing" for line in server.log()))
    assert "goqueue_consumer_tripped_breakers_total 1.0" in client.get("/metrics").text
    with Producer(server.native) as producer:
        producer.send("orders", b"next").result()
    polled = client.get("/groups/billing/poll", params={"topics": "orders", "timeout": "200ms"}).json()
    assert polled["messages"] == []
    client.post("/groups/billing/resume")
    polled = client.get("/groups/billing/poll", params={"topics": "orders", "timeout": "5s"}).json()
    assert [one["value"] for one in polled["messages"]] == ["next"]
