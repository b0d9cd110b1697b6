"""Policies of groups, and what there is to see of lanes, over HTTP."""

import pytest

from goqueue.engine.queue.settle import return_overdue


@pytest.fixture
async def topic(http):
    await http.post("/topics", json={"name": "orders", "num_partitions": 1, "retry_backoff_ms": 0})
    return "orders"


async def publish(http, topic, *priorities):
    messages = [{"value": f"v{number}", "priority": priority} for number, priority in enumerate(priorities)]
    assert (await http.post(f"/topics/{topic}/messages", json={"messages": messages})).status_code == 200


async def poll(http, group, topic, **more):
    return (await http.get(f"/groups/{group}/poll", params={"topics": topic, "timeout": 0, **more})).json()["messages"]


async def test_a_group_may_want_other_leases_and_retries_than_its_topic(http, topic, clock, broker):
    await publish(http, topic, 2)
    policy = {"visibility_timeout_ms": 5000, "max_attempts": 1}
    answer = await http.put("/groups/strict/policy", json=policy)
    assert answer.status_code == 200
    assert (await http.get("/groups/strict/policy")).json() == answer.json()
    assert answer.json()["retry_jitter"] is None
    assert len(await poll(http, "strict", topic)) == len(await poll(http, "usual", topic)) == 1
    clock.advance_ms(5000)
    assert await return_overdue(broker) == 1
    letters = (await http.get("/topics/orders.dlq/messages")).json()["messages"]
    assert [letter["value"] for letter in letters] == ["v0"]
    clock.advance_ms(25_000)
    assert await return_overdue(broker) == 1
    (again,) = await poll(http, "usual", topic)
    assert (again["delivery_count"], again["failure_count"]) == (2, 1)


async def test_a_policy_goes_with_its_group_and_wrong_ones_are_refused(http, topic):
    assert (await http.put("/groups/g/policy", json={"max_attempts": 0})).status_code == 400
    assert (await http.put("/groups/g/policy", json={"attempts": 1})).status_code == 400
    assert (await http.get("/groups/g/policy")).status_code == 404
    await http.put("/groups/g/policy", json={"max_attempts": 9})
    assert (await http.delete("/groups/g")).status_code == 200
    await http.put("/groups/g/policy", json={})
    assert (await http.get("/groups/g/policy")).json()["max_attempts"] is None


async def test_a_strict_topic_delivers_the_highest_priority_first(http, topic):
    await http.patch(f"/topics/{topic}", json={"lane_mode": "strict"})
    await publish(http, topic, 4, 3, 0, 4, 1, 0)
    order = [(await poll(http, "g", topic, limit=1))[0]["priority"] for _ in range(6)]
    assert order == [0, 0, 1, 3, 4, 4]


async def test_weights_of_a_topic_decide_the_shares(http, topic):
    await http.patch(f"/topics/{topic}", json={"lane_weights": [1, 1, 1, 1, 96]})
    await publish(http, topic, *[4, 0] * 100)
    found = [message["priority"] for message in await poll(http, "g", topic, limit=97)]
    assert (found.count(4), found.count(0)) == (96, 1)
    assert (await http.patch(f"/topics/{topic}", json={"lane_weights": [0, 1, 1, 1, 1]})).status_code == 400
    assert (await http.patch(f"/topics/{topic}", json={"lane_weights": [1, 1]})).status_code == 400


async def test_the_lanes_of_a_queue_tell_what_is_ready_in_flight_and_waits_longest(http, topic, clock):
    await publish(http, topic, 0, 0, 2)
    clock.advance_ms(1000)
    await publish(http, topic, 4)
    assert len(await poll(http, "g", topic, limit=1)) == 1
    (queue,) = (await http.get("/priority/stats", params={"group": "g"})).json()["queues"]
    lanes = {lane["name"]: lane for lane in queue["lanes"]}
    assert (queue["topic"], queue["partition"]) == (topic, 0)
    assert {name: (lane["ready"], lane["in_flight"]) for name, lane in lanes.items()} == {
        "critical": (1, 1),
        "high": (0, 0),
        "normal": (1, 0),
        "low": (0, 0),
        "background": (1, 0),
    }
    assert lanes["critical"]["last_served"] is not None
    assert lanes["normal"]["last_served"] is None
    assert lanes["critical"]["enqueued_per_second"] > 0
    assert lanes["critical"]["oldest_waiting"] < lanes["background"]["oldest_waiting"]
    assert (await http.get("/priority/stats", params={"group": "other"})).json() == {"queues": []}
