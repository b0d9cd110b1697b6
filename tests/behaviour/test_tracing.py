"""What happens to a record is one trace, whichever way it is published and taken."""

from zlib import crc32

import httpx
import pytest

from tests.behaviour.path import Ability, Out
from tests.behaviour.paths import over, refused

over_queue = over(Ability.TOPICS, Ability.RECORDS, Ability.GROUPS, Ability.QUEUE)
over_transactions = over(Ability.TOPICS, Ability.RECORDS, Ability.QUEUE, Ability.TRANSACTIONS)
SENDER = "b7ad6b7169203331"


@pytest.fixture
def ask(shared_broker):
    with httpx.Client(base_url=f"http://{shared_broker.http}", timeout=60) as client:

        def get(path, **params):
            found = client.get(path, params=params)
            assert found.status_code == 200, found.text
            return found.json()

        get.post = client.post
        yield get


def context(name, low="0000000000000001"):
    """Of a trace that no other test has."""
    trace = f"{crc32(name.encode()) | 1:016x}{low}"
    return trace, (("traceparent", f"00-{trace}-{SENDER}-01".encode()),)


async def whole_life(path, name, ask, headers=()):
    """Published, taken, given back, taken, rejected, sent back, taken, acknowledged."""
    await path.create_topic(name, 1, trace_rate=1.0, retry_backoff_ms=1)
    await path.publish(name, [Out(b"x", b"key", headers)])
    async with path.worker(name, name) as worker:
        (lent,) = await worker.take(wait_ms=5000)
        await worker.nack(lent, reason="busy")
        (lent,) = await worker.take(wait_ms=5000)
        await worker.reject(lent, reason="no such customer")
        assert ask.post(f"/dlq/{name}/redrive", json={"select": {"reason": "customer"}}).json()["redriven"] == 1
        (lent,) = await worker.take(wait_ms=5000)
        await worker.ack(lent)
    return ask("/traces/journey", topic=name, partition=0, offset=0)


@over_queue
async def test_the_whole_life_of_a_record_is_one_trace(path, name, ask):
    journey = await whole_life(path, name, ask)
    spans = journey["spans"]
    assert {one["trace_id"] for one in spans} == {journey["trace_id"]}
    by_place = {}
    for one in spans:
        by_place.setdefault((one["topic"], one["operation"]), []).append(one)
    published, again = by_place[name, "publish"]
    first, second, third = by_place[name, "consume"]
    (letter,) = by_place[f"{name}.dlq", "publish"]
    ((nack,), (reject,), (dead,)) = (by_place[name, what] for what in ("nack", "reject", "dlq"))
    ((back,), (ack,)) = by_place[f"{name}.dlq", "redrive"], by_place[name, "ack"]
    assert len(spans) == 11
    assert published["parent_id"] is None
    parents = {
        first["span_id"]: published,
        second["span_id"]: published,
        nack["span_id"]: first,
        reject["span_id"]: second,
        dead["span_id"]: second,
        letter["span_id"]: dead,
        back["span_id"]: letter,
        again["span_id"]: dead,
        third["span_id"]: again,
        ack["span_id"]: third,
    }
    assert {one["span_id"]: one["parent_id"] for one in spans[1:] if one is not published} == {
        span: parent["span_id"] for span, parent in parents.items()
    }
    assert (nack["error"], reject["error"], nack["status"]) == ("busy", "no such customer", "error")
    assert (dead["target"], back["target"]) == (f"{name}.dlq/0/0", f"{name}/0/1")
    assert [one["delivery"] for one in (first, second, third)] == [1, 2, 1]
    assert ask(f"/traces/{journey['trace_id']}")["spans"] == spans
    assert journey["groups"][0]["state"] == "dead_lettered"
    assert ask("/traces/journey", topic=name, partition=0, offset=1)["groups"][0]["state"] == "done"


@over_queue
async def test_a_record_that_carries_a_context_stays_in_its_trace(path, name, ask):
    trace, headers = context(name)
    journey = await whole_life(path, name, ask, headers)
    assert journey["trace_id"] == trace
    assert {one["trace_id"] for one in journey["spans"]} == {trace}
    assert len(journey["spans"]) == 11
    assert journey["spans"][0]["parent_id"] == SENDER


@over_queue
async def test_failures_are_there_at_rate_0_and_the_rest_is_not(path, name, ask):
    await path.create_topic(name, 1, trace_rate=0.0, schema_validation="on", max_attempts=1)
    with refused("schema_violation"):
        await path.publish(name, [Out(b"x")])
    await path.alter_topic(name, schema_validation="off")
    await path.publish(name, [Out(b"a"), Out(b"b"), Out(b"c")])
    async with path.worker(name, name) as worker:
        one, two, three = await worker.take(wait_ms=5000)
        await worker.nack(one, reason="broken")
        await worker.reject(two, reason="never")
        await worker.ack(three)
    spans = ask("/traces/search", topic=name)["spans"]
    assert sorted((one["operation"], one.get("offset", -1), one["error"]) for one in spans) == [
        ("dlq", 0, "broken"),
        ("dlq", 1, "never"),
        ("nack", 0, "broken"),
        ("publish", -1, "schema_violation"),
        ("reject", 1, "never"),
    ]


@over_queue
async def test_one_in_ten_is_one_in_ten(path, name, ask):
    await path.create_topic(name, 1, trace_rate=0.1)
    for _ in range(5):
        await path.publish(name, [Out(b"x", partition=0)] * 40)
    async with path.worker(name, name) as worker:
        while lent := await worker.take(33):
            await worker.ack(*lent)
    found = {
        what: sorted(one["offset"] for one in ask("/traces/search", topic=name, operation=what)["spans"])
        for what in ("publish", "consume", "ack")
    }
    assert found["publish"] == found["consume"] == found["ack"]
    assert len(found["publish"]) == 20
    assert {offset % 10 for offset in found["publish"]} == {found["publish"][0] % 10}


@over_transactions
async def test_what_belongs_to_a_transaction_has_its_number(path, name, ask):
    await path.create_topic(name, 1, trace_rate=1.0)
    handle = await path.begin_transaction(name)
    await path.publish_in(handle, name, 0, [b"a", b"b"])
    journey = ask("/traces/journey", topic=name, partition=0, offset=1)
    assert journey["transaction"] == "open"
    await path.abort_transaction(handle)
    journey = ask("/traces/journey", topic=name, partition=0, offset=1)
    assert journey["transaction"] == "aborted"
    (publish,) = journey["spans"]
    number = publish["transaction"]
    ended = ask("/traces/search", operation="transaction", status="error", limit=1000)["spans"]
    assert number in [one["transaction"] for one in ended]
