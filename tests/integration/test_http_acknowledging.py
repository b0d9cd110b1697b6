"""What HTTP says about receipts: statuses, one answer or one for each, and what is in them."""

import base64

import pytest


@pytest.fixture
def polled(http, topic):
    """Four records of one partition, taken by a worker."""
    assert (
        http.post(
            f"/topics/{topic}/messages",
            json={"messages": [{"value": str(number), "partition": 0} for number in range(4)]},
        ).status_code
        == 200
    )
    return poll(http, topic)


def poll(http, topic, **query):
    answer = http.get(f"/groups/{topic}/poll", params={"topics": topic, "timeout": 0, **query})
    assert answer.status_code == 200, answer.text
    return answer.json()["messages"]


def say(http, what, **body):
    return http.post(f"/messages/{what}", json=body)


def test_a_receipt_can_be_read(polled, topic):
    place, _, nonce = polled[1]["receipt_handle"].rpartition(":")
    assert place == f"{topic}:0:1:1"
    group, grant, token = nonce.split("/")
    assert group == topic
    assert int(grant) > 0
    assert len(base64.urlsafe_b64decode(token)) == 12


def test_an_ack_says_where_the_group_stands(http, polled):
    handles = [message["receipt_handle"] for message in polled]
    behind = say(http, "ack", receipt_handle=handles[1]).json()
    assert (behind["success"], behind["committed_offset"], behind["offset_advanced"], behind["in_flight_count"]) == (
        True,
        0,
        False,
        3,
    )
    first = say(http, "ack", receipt_handle=handles[0]).json()
    assert (first["offset"], first["committed_offset"], first["offset_advanced"], first["in_flight_count"]) == (
        0,
        2,
        True,
        2,
    )
    both = say(http, "ack", receipt_handles=handles[2:])
    assert both.status_code == 200
    assert [(one["offset"], one["committed_offset"]) for one in both.json()["results"]] == [(2, 4), (3, 4)]


def test_a_nack_says_when_the_record_comes_again_and_a_reject_where_it_is(http, polled, topic):
    handles = [message["receipt_handle"] for message in polled]
    requeued = say(http, "nack", receipt_handle=handles[0], delay="0s").json()
    assert (requeued["action"], requeued["delivery_count"]) == ("requeued", 1)
    assert requeued["next_visible_at"].endswith("Z")
    rejected = say(http, "reject", receipt_handle=handles[1], reason="bad").json()
    assert rejected["dlq_topic"] == f"{topic}.dlq"
    for failures in (1, 2):
        (again,) = poll(http, topic)
        assert (again["delivery_count"], again["failure_count"]) == (failures + 1, failures)
        became = say(http, "nack", receipt_handle=again["receipt_handle"], delay=0).json()
    assert (became["action"], became["dlq_topic"]) == ("dlq", f"{topic}.dlq")
    extended = say(http, "visibility", receipt_handle=handles[2], extension_seconds=90.5).json()
    assert extended["new_deadline"] > polled[2]["visible_until"]


@pytest.mark.parametrize("what", ["ack", "nack", "reject", "visibility"])
def test_an_unknown_receipt_is_a_404_and_some_among_many_are_a_207(http, polled, what):
    more = {"extension_seconds": 5} if what == "visibility" else {}
    good, wrong = polled[0]["receipt_handle"], polled[1]["receipt_handle"][:-3] + "AAA"
    one = say(http, what, receipt_handle=wrong, **more)
    assert (one.status_code, one.json()["code"], one.json()["status"]) == (404, "unknown_receipt", 404)
    none = say(http, what, receipt_handles=[wrong, "x", "a:b:c:d:e/f/g"], **more)
    assert none.status_code == 404
    assert [result["code"] for result in none.json()["results"]] == ["unknown_receipt"] * 3
    some = say(http, what, receipt_handles=[wrong, good, "x"], **more)
    assert some.status_code == 207
    assert [result["success"] for result in some.json()["results"]] == [False, True, False]


@pytest.mark.parametrize(
    "handle",
    [
        "",
        ":",
        "::::",
        "a:0:0:1:g/1/t",
        "a:-1:0:1:g/1/t",
        "a:0:9e9:1:g/1/t",
        "a:0:0:1:g//",
        "\u0000:0:0:1:g/1/é",
        "9" * 900,
    ],
)
def test_no_text_makes_the_broker_fail(http, polled, handle):
    answer = say(http, "ack", receipt_handle=handle)
    assert answer.status_code == (400 if not handle else 404)


def test_a_request_without_a_receipt_or_with_two_kinds_of_them_is_refused(http, polled):
    handle = polled[0]["receipt_handle"]
    for body in ({}, {"receipt_handle": handle, "receipt_handles": [handle]}, {"receipt_handles": []}):
        assert say(http, "ack", **body).status_code == 400
    for wrong in ({"delay": "-1s"}, {"delay": "13h"}, {"delay": True}, {"unknown": 1}):
        assert say(http, "nack", receipt_handle=handle, **wrong).status_code == 400
    assert say(http, "ack", receipt_handle=handle).status_code == 200


def test_the_same_receipt_twice_in_a_request_counts_once(http, polled, topic):
    handle = polled[0]["receipt_handle"]
    answer = say(http, "nack", receipt_handles=[handle, handle], delay=0)
    assert [result["success"] for result in answer.json()["results"]] == [True, True]
    (again,) = poll(http, topic)
    assert (again["delivery_count"], again["failure_count"]) == (2, 1)
