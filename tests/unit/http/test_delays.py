"""Delayed records as the JSON API gives and takes them."""

import pytest


@pytest.fixture
async def topic(http):
    await http.post("/topics", json={"name": "t", "num_partitions": 1, "retention_ms": None})
    return "/topics/t"


async def publish(http, topic, *messages):
    return (await http.post(f"{topic}/messages", json={"messages": list(messages)})).json()["results"]


async def test_the_result_says_until_when_a_record_is_delayed(http, topic):
    results = await publish(
        http,
        topic,
        {"value": 1},
        {"value": 2, "deliverAt": "2099-01-01T00:00:00Z"},
        {"value": 3, "deliver_at": "2099-01-01T01:00:00+01:00"},
        {"value": 4, "delay": 0},
        {"value": 5, "deliverAt": "2001-01-01T00:00:00Z"},
    )
    later = {"delayed": True, "deliverAt": "2099-01-01T00:00:00.000000000Z"}
    place = {"partition": 0, "priority": 2}
    assert results == [{**place, "offset": n, **(later if n in (1, 2) else {})} for n in range(5)]
    page = (await http.get(f"{topic}/partitions/0/messages?format=json")).json()
    assert [one["value"] for one in page["messages"]] == [1, 4, 5]
    assert page["next_offset"] == 5


@pytest.mark.parametrize("delay", ["5s", "5000ms", 5000])
async def test_a_delay_is_written_like_any_duration(http, topic, delay):
    [result] = await publish(http, topic, {"value": 1, "delay": delay})
    assert result["delayed"] is True
    assert (await http.get(f"{topic}/delayed/0/0")).json()["deliverAt"] == result["deliverAt"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"delay": "soon"},
        {"delay": "60"},
        {"deliverAt": "60"},
        {"deliverAt": 1_767_225_600_000},
        {"delay": -5},
        {"delay": 1 << 62},
        {"deliverAt": "tomorrow"},
        {"delay": "5s", "deliverAt": "2099-01-01T00:00:00Z"},
        {"deliver_at": "2099-01-01T00:00:00Z", "deliverAt": "2099-01-01T00:00:00Z"},
    ],
)
async def test_a_wrong_delay_fails_its_own_record_and_no_other(http, topic, wrong):
    answer = await http.post(f"{topic}/messages", json={"messages": [{"value": 1, **wrong}, {"value": 2}]})
    assert answer.status_code == 207
    failed, written = answer.json()["results"]
    assert (failed["code"], failed["status"]) == ("invalid_record", 400)
    assert failed["hint"]
    assert written["offset"] == 0


async def test_a_delay_without_a_unit_is_refused_and_the_hint_says_how_to_write_it(http, topic):
    [result] = await publish(http, topic, {"value": 1, "delay": "60"})
    assert result["error"] == "delay: the duration '60' has no unit"
    assert result["hint"] == "write 60s for seconds, 60ms for milliseconds; other units are m, h, d and w"


@pytest.mark.parametrize("at", ["30s", 30_000, "2023-11-14T22:13:50Z", "1700000030000"])
async def test_deliver_at_takes_the_forms_that_expires_takes(http, topic, at):
    """The clock of the test is at 2023-11-14T22:13:20Z."""
    [result] = await publish(http, topic, {"value": 1, "deliverAt": at})
    assert result["deliverAt"] == "2023-11-14T22:13:50.000000000Z"
    [expired] = await publish(http, topic, {"value": 1, "expires": at})
    assert "error" not in expired


async def test_a_wait_without_a_unit_is_refused(http, topic):
    answer = await http.get("/groups/g/poll", params={"topics": "t", "timeout": "30"})
    assert (answer.status_code, answer.json()["error"]) == (400, "timeout: the duration '30' has no unit")


async def test_a_delay_beside_messages_is_refused(http, topic):
    body = {"messages": [{"value": 1}], "delay": "5s"}
    answer = (await http.post(f"{topic}/messages", json=body)).json()
    assert (answer["code"], answer["error"]) == ("invalid_request", "a delay beside messages")


async def test_a_delayed_record_is_listed_shown_moved_and_cancelled(http, topic):
    await publish(http, topic, {"value": {"a": 1}, "key": "k", "delay": "1h"}, {"value": 2, "delay": "2h"})
    listed = (await http.get(f"{topic}/delayed?limit=1")).json()
    assert listed["total"] == 2
    assert [(one["partition"], one["offset"], one["state"]) for one in listed["delayed"]] == [(0, 0, "pending")]
    shown = (await http.get(f"{topic}/delayed/0/0?format=json")).json()
    assert (shown["message"]["key"], shown["message"]["value"]) == ("k", {"a": 1})
    moved = (await http.patch(f"{topic}/delayed/0/0", json={"deliverAt": "2099-01-01T00:00:00Z"})).json()
    assert moved["deliverAt"] == "2099-01-01T00:00:00.000000000Z"
    assert [one["offset"] for one in (await http.get(f"{topic}/delayed")).json()["delayed"]] == [1, 0]
    for _ in range(2):
        cancelled = (await http.delete(f"{topic}/delayed/0/0")).json()
        assert cancelled == {"partition": 0, "offset": 0, "state": "cancelled", "cancelled": True, "canceled": True}
    stats = (await http.get("/delay/stats")).json()
    assert (stats["pending"], stats["delivered"], stats["cancelled"]) == (1, 0, 1)
    assert [(one["topic"], one["pending"]) for one in stats["topics"]] == [("t", 1)]


async def test_what_there_is_not_is_404_and_what_is_over_is_409(http, topic):
    await publish(http, topic, {"value": 1}, {"value": 2, "delay": "1h"})
    await http.delete(f"{topic}/delayed/0/1")
    later = {"delay": "5s"}
    for answer, status, code in (
        (await http.get(f"{topic}/delayed/0/0"), 404, "unknown_delay"),
        (await http.delete(f"{topic}/delayed/0/9"), 404, "unknown_delay"),
        (await http.patch(f"{topic}/delayed/0/9223372036854775807", json=later), 404, "unknown_delay"),
        (await http.get(f"{topic}/delayed/7/0"), 404, "unknown_partition"),
        (await http.get("/topics/not/delayed"), 404, "unknown_topic"),
        (await http.patch(f"{topic}/delayed/0/1", json=later), 409, "delay_is_over"),
        (await http.patch(f"{topic}/delayed/0/1", json={}), 400, "invalid_request"),
        (await http.patch(f"{topic}/delayed/0/1", json={"delay": "soon"}), 400, "invalid_record"),
        (await http.get(f"{topic}/delayed?limit=1001"), 400, "invalid_request"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


def places(*offsets, partition=0):
    return {"records": [{"partition": partition, "offset": offset} for offset in offsets]}


async def test_many_are_cancelled_in_one_request_and_the_answer_says_of_each_what_became_of_it(http, topic):
    await publish(http, topic, {"value": 0}, *[{"value": number, "delay": "1h"} for number in range(1, 6)])
    answer = await http.post(f"{topic}/delayed/cancel", json=places(3, 1, 2, 1))
    assert answer.status_code == 200
    assert answer.json() == {"cancelled": places(1, 2, 3)["records"], "not_cancelled": []}
    answer = await http.post(f"{topic}/delayed/cancel", json=places(9, 4, 0, 3))
    assert answer.status_code == 207
    why = {
        "error": "the record is not delayed",
        "code": "unknown_delay",
        "status": 404,
        "hint": "look for it in the list of the topic's delayed records",
    }
    assert answer.json() == {
        "cancelled": places(3, 4)["records"],
        "not_cancelled": [{**place, **why} for place in places(0, 9)["records"]],
    }
    assert [one["offset"] for one in (await http.get(f"{topic}/delayed")).json()["delayed"]] == [5]


async def test_when_none_can_be_cancelled_the_answer_is_the_first_error_with_all_of_them(http, topic):
    await publish(http, topic, {"value": 0})
    answer = await http.post(f"{topic}/delayed/cancel", json=places(0, 1))
    content = answer.json()
    assert (answer.status_code, content["status"], content["code"]) == (404, 404, "unknown_delay")
    assert content["cancelled"] == []
    assert [one["offset"] for one in content["not_cancelled"]] == [0, 1]
    answer = await http.post(f"{topic}/delayed/cancel", json=places(0, partition=5))
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_partition")


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"records": []},
        {"records": [{"partition": 0}]},
        {"records": [{"partition": 0, "offset": -1}]},
        {"records": [{"partition": 0, "offset": 1 << 63}]},
        {"records": [{"partition": 0, "offset": 0, "more": 1}]},
        {"records": [{"partition": 0, "offset": number} for number in range(10_001)]},
    ],
    ids=["nothing", "none", "half a place", "negative", "too large", "unknown field", "too many"],
)
async def test_a_malformed_list_of_records_cancels_nothing(http, topic, wrong):
    await publish(http, topic, {"value": 0, "delay": "1h"})
    answer = await http.post(f"{topic}/delayed/cancel", json=wrong)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert (await http.get(f"{topic}/delayed")).json()["total"] == 1
