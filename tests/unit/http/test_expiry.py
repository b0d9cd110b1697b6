"""Records with a time to live, over HTTP."""

import pytest


@pytest.fixture
async def topic(http):
    await http.post("/topics", json={"name": "orders", "num_partitions": 1})
    return "orders"


async def publish(http, topic, *messages):
    return await http.post(f"/topics/{topic}/messages", json={"messages": list(messages)})


async def poll(http, topic, **more):
    answer = await http.get("/groups/g/poll", params={"topics": topic, "timeout": 0, **more})
    return [message["value"] for message in answer.json()["messages"]]


async def test_a_record_whose_time_is_over_is_not_delivered_by_the_queue(http, topic, clock):
    await publish(
        http, topic, {"value": "short", "expires": "5s"}, {"value": "long", "expires": "1h"}, {"value": "ever"}
    )
    clock.advance_ms(5000)
    assert await poll(http, topic) == ["long", "ever"]
    listed = (await http.get(f"/topics/{topic}/messages")).json()["messages"]
    assert [message["value"] for message in listed] == ["short", "long", "ever"], "a plain read is complete"
    offsets = (await http.get("/groups/g/offsets")).json()["offsets"]
    assert offsets == {topic: {"0": 1}}, "what was skipped is done with"


async def test_a_topic_may_want_them_among_the_dead_letters(http, topic, clock):
    await http.patch(f"/topics/{topic}", json={"expired": "dead_letter"})
    await publish(http, topic, {"value": "late", "expires": 1000, "key": "k"}, {"value": "in time"})
    clock.advance_ms(1000)
    assert await poll(http, topic) == ["in time"]
    (letter,) = (await http.get(f"/dlq/{topic}")).json()["messages"]
    assert (letter["value"], letter["key"], letter["cause"]) == ("late", "k", "expired")
    assert await poll(http, topic) == []


async def test_only_expired_records_do_not_stop_a_poll(http, topic, clock):
    await publish(http, topic, *[{"value": "old", "expires": "1s"}] * 50, {"value": "new"})
    clock.advance_ms(2000)
    assert await poll(http, topic, limit=1) == ["new"]


async def test_an_expiry_in_key_order_lets_the_next_of_the_key_go(http, topic, clock):
    await publish(http, topic, {"value": "a", "key": "k", "expires": "1s"}, {"value": "b", "key": "k"})
    clock.advance_ms(2000)
    assert await poll(http, topic, order="key") == ["b"]


@pytest.mark.parametrize("expires", ["0s", 0, -1, "soon", "2026-13-01T00:00:00Z"])
async def test_an_expiry_that_cannot_be_is_refused_for_that_record_alone(http, topic, expires):
    answer = await publish(http, topic, {"value": "wrong", "expires": expires}, {"value": "right"})
    assert answer.status_code == 207
    wrong, right = answer.json()["results"]
    assert (wrong["code"], right["offset"]) == ("invalid_record", 0)
