"""Traces over HTTP: what is asked for, and how the answers look."""

import pytest

from goqueue.engine.tracing.policy import TracingSettings
from goqueue.engine.tracing.tracing import Tracing

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


@pytest.fixture
async def orders(http, broker):
    """A topic of a broker that traces everything."""
    broker.tracing = Tracing(broker.clock, TracingSettings(rate=1.0))
    await http.post("/topics", json={"name": "orders", "num_partitions": 1})


async def published(http, *messages, **headers):
    return await http.post("/topics/orders/messages", json={"messages": messages}, headers=headers)


async def answer(http, path, **params):
    found = await http.get(path, params=params)
    assert found.status_code == 200, found.text
    return found.json()


async def polled(http):
    return (await answer(http, "/groups/billing/poll", topics="orders", timeout="0"))["messages"]


async def test_the_records_of_a_request_belong_to_its_trace_unless_they_have_one(http, orders):
    own = f"00-{'1' * 32}-b7ad6b7169203331-01"
    reply = await published(
        http,
        {"value": "a"},
        {"value": "b", "headers": {"traceparent": own}},
        traceparent=PARENT,
        tracestate="vendor=1",
    )
    assert reply.headers["traceparent"] == PARENT
    first, second = await polled(http)
    assert (first["headers"]["traceparent"], first["headers"]["tracestate"]) == (PARENT, "vendor=1")
    assert second["headers"] == {"traceparent": own}
    trace = await answer(http, f"/traces/{TRACE}")
    assert [(one["operation"], one["offset"]) for one in trace["spans"]] == [("publish", 0), ("consume", 0)]
    assert trace["spans"][0]["parent_id"] == "b7ad6b7169203331"
    assert trace["spans"][1]["parent_id"] == trace["spans"][0]["span_id"]
    assert trace["status"] == "ok"


async def test_spans_show_the_trace_state_of_the_request_and_where_the_record_was_created(http, orders):
    """Also when the state comes in several headers, which are one list."""
    headers = [("traceparent", PARENT), ("tracestate", "a=1"), ("tracestate", "b=2")]
    messages = {
        "messages": [{"value": "a"}, {"value": "b", "headers": {"traceparent": PARENT, "tracestate": "no list"}}]
    }
    await http.post("/topics/orders/messages", json=messages, headers=headers)
    own, _ = await polled(http)
    assert own["headers"]["tracestate"] == "a=1,b=2"
    await http.post("/messages/reject", json={"receipt_handle": own["receipt_handle"], "reason": "no"})
    spans = (await answer(http, f"/traces/{TRACE}"))["spans"]
    first = [one for one in spans if one["offset"] == 0]
    assert sorted(one["operation"] for one in first) == ["consume", "dlq", "publish", "publish", "reject"]
    assert {one["tracestate"] for one in first} == {"a=1,b=2"}
    sender = {"trace_id": TRACE, "span_id": "b7ad6b7169203331"}
    consumes = {one["offset"]: one["links"] for one in spans if one["operation"] == "consume"}
    assert consumes == {0: [sender | {"tracestate": "a=1,b=2"}], 1: [sender]}
    assert not [one for one in spans if one["offset"] == 1 and "tracestate" in one]
    assert {one["operation"]: one["error_type"] for one in spans if "error_type" in one} == {
        "reject": "rejected",
        "dlq": "rejected",
    }


@pytest.mark.parametrize("value", ["", "nonsense", PARENT.upper(), f"00-{'0' * 32}-b7ad6b7169203331-01"])
async def test_a_context_that_is_none_is_disregarded(http, orders, value):
    reply = await published(http, {"value": "a"}, traceparent=value, tracestate="vendor=1")
    assert reply.status_code == 200
    assert "traceparent" not in reply.headers
    assert (await polled(http))[0]["headers"] == {}


async def test_recent_traces_have_the_newest_first_with_all_that_happened_in_them(http, orders):
    await published(http, {"value": "a", "key": "k1", "id": "o-1"})
    await published(http, {"value": "b"})
    (first, _) = await polled(http)
    await http.post("/messages/nack", json={"receipt_handle": first["receipt_handle"], "reason": "busy"})
    traces = (await answer(http, "/traces"))["traces"]
    assert [(one["first"]["offset"], one["status"], one["operations"]) for one in traces] == [
        (0, "error", ["publish", "consume", "nack"]),
        (1, "ok", ["publish", "consume"]),
    ]
    assert (traces[0]["spans"], traces[0]["errors"]) == (3, 1)
    assert (traces[0]["first"]["key"], traces[0]["first"]["id"]) == ("k1", "o-1")
    assert len((await answer(http, "/traces", limit="1"))["traces"]) == 1


async def test_spans_are_searched_by_what_they_have_in_common(http, orders, clock):
    await published(http, {"value": "a", "key": "k1", "id": "o-1"})
    clock.advance_ms(1000)
    later = clock.now_ns() // 1_000_000
    await published(http, {"value": "b", "key": "k2"})
    for message in await polled(http):
        await http.post("/messages/reject", json={"receipt_handle": message["receipt_handle"], "reason": "no"})

    async def found(**params):
        return [
            (one["operation"], one.get("offset")) for one in (await answer(http, "/traces/search", **params))["spans"]
        ]

    assert await found(key="k1", operation="publish", topic="orders") == [("publish", 0)]
    assert await found(id="o-1", topic="orders", operation="dlq") == [("dlq", 0)]
    assert {name for name, _ in await found(consumer_group="billing", status="error")} == {"reject", "dlq"}
    assert {name for name, _ in await found(consumer_group="billing", status="ok")} == {"consume"}
    assert await found(topic="orders", operation="publish", start=str(later)) == [("publish", 1)]
    assert await found(topic="orders", operation="publish", end=str(later)) == [("publish", 0)]
    assert await found(topic="nowhere") == []
    assert await found(partition="1") == []
    assert len(await found(limit="3")) == 3


async def test_refusals_are_there_without_an_offset(http, orders):
    await http.patch("/topics/orders", json={"max_value_bytes": 1})
    await published(http, {"value": "too long"})
    await http.post("/topics/nowhere/messages", json={"value": "a"})
    await published(http, {"value": {"base64": "!"}})
    spans = (await answer(http, "/traces/search", status="error"))["spans"]
    assert {one["error"] for one in spans} == {"record_too_large", "unknown_topic", "invalid_record"}
    assert all("offset" not in one and one["operation"] == "publish" for one in spans)


async def test_statistics_count_and_tell_how_long_it_takes(http, orders):
    await published(http, *({"value": "a"} for _ in range(10)))
    stats = await answer(http, "/traces/stats")
    assert (stats["enabled"], stats["rate"], stats["capacity"]) == (True, 1.0, 10_000)
    assert (stats["spans_in_memory"], stats["spans_recorded"], stats["spans_dropped"]) == (10, 10, 0)
    (publish,) = stats["operations"]
    assert (publish["operation"], publish["spans"], publish["errors"]) == ("publish", 10, 0)
    assert publish["p99_ns"] >= publish["p50_ns"] >= 0


async def test_a_journey_tells_where_a_record_is(http, orders):
    await published(http, {"value": "a", "key": "k1", "id": "o-1", "headers": {"x": "y"}, "expires": "1h"})
    (message,) = await polled(http)
    await http.post("/messages/reject", json={"receipt_handle": message["receipt_handle"], "reason": "no"})
    asked = [{"partition": "0", "offset": "0"}, {"id": "o-1"}, {"key": "k1"}, {"key_base64": "azE="}]
    answers = [await answer(http, "/traces/journey", topic="orders", **one) for one in asked]
    assert all(one == answers[0] for one in answers)
    journey = answers[0]
    assert (journey["found"], journey["key"], journey["headers"]["x"]) == ("there", "k1", "y")
    assert (journey["expired"], journey["traced"]) == (False, True)
    (group,) = journey["groups"]
    assert (group["group"], group["state"], group["dead_letter"]) == ("billing", "dead_lettered", "orders.dlq/0/0")
    operations = [one["operation"] for one in journey["spans"]]
    assert sorted(operations) == ["consume", "dlq", "publish", "publish", "reject"]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/traces/nonsense", 400, "invalid_request"),
        (f"/traces/{'0' * 32}", 404, "unknown_trace"),
        ("/traces?limit=0", 400, "invalid_request"),
        ("/traces/search?status=odd", 400, "invalid_request"),
        ("/traces/search?start=yesterday", 400, "invalid_request"),
        ("/traces/search?key=a&key_base64=YQ==", 400, "invalid_request"),
        ("/traces/search?what=x", 400, "invalid_request"),
        ("/traces/search?topic=", 400, "invalid_request"),
        ("/traces/journey", 400, "invalid_request"),
        ("/traces/journey?topic=orders", 400, "invalid_request"),
        ("/traces/journey?topic=orders&offset=0", 400, "invalid_request"),
        ("/traces/journey?topic=orders&offset=0&partition=0&id=x", 400, "invalid_request"),
        ("/traces/journey?topic=orders&partition=0&offset=7", 404, "unknown_record"),
        ("/traces/journey?topic=orders&partition=9&offset=7", 404, "unknown_partition"),
        ("/traces/journey?topic=orders&id=x", 404, "unknown_record"),
        ("/traces/journey?topic=orders&key=x", 404, "unknown_record"),
        ("/traces/journey?topic=nowhere&id=x", 404, "unknown_topic"),
    ],
)
async def test_what_cannot_be_answered_is_refused_and_says_why(http, orders, path, status, code):
    reply = await http.get(path)
    assert (reply.status_code, reply.json()["code"]) == (status, code)


async def test_a_topic_says_when_it_was_made_and_how_much_of_it_is_traced(http, orders, clock):
    before = (await http.get("/topics/orders")).json()
    assert before["trace_rate"] is None
    assert before["created"].startswith("2")
    after = (await http.patch("/topics/orders", json={"trace_rate": 0.5})).json()
    assert (after["trace_rate"], after["created"]) == (0.5, before["created"])
    assert (await http.patch("/topics/orders", json={"trace_rate": 1.5})).status_code == 400
    assert (await http.patch("/topics/orders", json={"trace_rate": None})).json()["trace_rate"] is None
