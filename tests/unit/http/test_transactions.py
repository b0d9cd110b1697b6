"""Transactions as the JSON API gives and takes them."""

import pytest

from goqueue.engine.firing import fire_due
from goqueue.engine.transactions.ending import abort_overdue


@pytest.fixture
async def topic(http):
    for name in ("t", "other"):
        settings = {"num_partitions": 2, "retention_ms": None, "max_value_bytes": 1000}
        await http.post("/topics", json={"name": name, **settings})
    return "/topics/t"


async def ask(http, path, body=None, status=200):
    answer = await http.post(path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def refusal(http, path, body):
    answer = await http.post(path, json=body)
    content = answer.json()
    assert content["status"] == answer.status_code
    return answer.status_code, content["code"]


async def begun(http, transactional_id="shop", **settings):
    producer = await ask(http, "/producers/init", {"transactional_id": transactional_id, **settings})
    return await next_of(http, producer)


async def next_of(http, producer):
    begun = await ask(http, "/transactions/begin", {name: producer[name] for name in ("producer_id", "epoch")})
    return {name: begun[name] for name in ("transaction", "producer_id", "epoch")}


async def publish(http, ref, *messages, **more):
    return (await ask(http, "/transactions/publish", {**ref, "messages": list(messages), **more}))["results"]


async def seen(http, topic="t", partition=0, **query):
    answer = await http.get(f"/topics/{topic}/partitions/{partition}/messages", params={"format": "json", **query})
    assert answer.status_code == 200, answer.text
    return [one["value"] for one in answer.json()["messages"]]


async def polled(http, group="g", topics="t"):
    answer = await http.get(f"/groups/{group}/poll", params={"topics": topics, "timeout": 0, "format": "json"})
    return answer.json()["messages"]


# Producers.


async def test_whoever_comes_back_gets_the_next_epoch_and_the_one_before_can_do_nothing(http, topic):
    old = await begun(http)
    await publish(http, old, {"topic": "t", "partition": 0, "value": "old"})
    new = await ask(http, "/producers/init", {"transactional_id": "shop"})
    assert new == {"producer_id": old["producer_id"], "epoch": old["epoch"] + 1}
    fenced = (409, "producer_fenced")
    producer = {name: old[name] for name in ("producer_id", "epoch")}
    assert await refusal(http, f"/producers/{old['producer_id']}/heartbeat", {"epoch": old["epoch"]}) == fenced
    assert await refusal(http, "/transactions/begin", producer) == fenced
    for path, more in (
        ("publish", {"topic": "t", "value": 1}),
        ("add-partition", {"topic": "t", "partition": 0}),
        ("add-acks", {"receipts": ["x"]}),
        ("add-offsets", {"group": "g", "offsets": {"t": {"0": 0}}}),
        ("commit", {}),
        ("abort", {}),
    ):
        assert await refusal(http, f"/transactions/{path}", {**old, **more}) == fenced, path
    assert await seen(http) == []


async def test_a_heartbeat_says_which_transaction_is_open(http, topic):
    ref = await begun(http)
    beat = f"/producers/{ref['producer_id']}/heartbeat"
    mine = {name: ref[name] for name in ("producer_id", "epoch")}
    assert await ask(http, beat, {"epoch": ref["epoch"]}) == {**mine, "transaction": ref["transaction"]}
    await ask(http, "/transactions/commit", ref)
    assert await ask(http, beat, {"epoch": ref["epoch"]}) == {**mine, "transaction": None}
    assert await refusal(http, "/producers/99/heartbeat", {"epoch": 0}) == (404, "unknown_producer")


async def test_a_producer_without_a_transactional_id_has_no_transactions(http, topic):
    plain = await ask(http, "/producers/init", {})
    assert plain["epoch"] == 0
    assert await refusal(http, "/transactions/begin", plain) == (409, "not_transactional")


@pytest.mark.parametrize(
    "wrong",
    [
        {"transactional_id": ""},
        {"transactional_id": "a\nb"},
        {"transactional_id": "x" * 201},
        {"transactional_id": "shop", "transaction_timeout_ms": 0},
        {"transactional_id": "shop", "transaction_timeout_ms": 15 * 60_000 + 1},
        {"transactional_id": "shop", "transaction_timeout_ms": 1 << 63},
        {"transactional_id": "shop", "timeout": 5},
        {"transactional_id": 7},
    ],
)
async def test_what_is_no_transactional_id_or_no_timeout_is_refused(http, wrong):
    assert await refusal(http, "/producers/init", wrong) == (400, "invalid_request")


# Records.


async def test_records_are_seen_when_the_transaction_commits_and_not_before(http, topic):
    ref = await begun(http)
    results = await publish(
        http,
        ref,
        {"topic": "t", "partition": 0, "value": 1},
        {"topic": "other", "partition": 1, "value": 2},
        {"partition": 0, "value": 3, "key": "k", "headers": {"a": "b"}, "priority": "high"},
        topic="t",
    )
    assert [(one["partition"], one["offset"]) for one in results] == [(0, 0), (1, 0), (0, 1)]
    await ask(http, "/transactions/publish", {**ref, "topic": "t", "partition": 1, "value": 4})
    everything = [("t", 0, [1, 3]), ("t", 1, [4]), ("other", 1, [2])]
    for name, partition, values in everything:
        assert await seen(http, name, partition) == []
        assert await seen(http, name, partition, isolation="read_uncommitted") == values
    assert await polled(http) == []
    assert (await http.get("/topics/t/messages")).json()["messages"] == []
    uncommitted = (await http.get("/topics/t/messages?isolation=read_uncommitted&format=json")).json()["messages"]
    assert sorted(one["value"] for one in uncommitted) == [1, 3, 4]
    ended = {"transaction": ref["transaction"], "state": "committed"}
    # Twice: the answer may have been lost.
    assert await ask(http, "/transactions/commit", ref) == ended
    assert await ask(http, "/transactions/commit", ref) == ended
    assert await refusal(http, "/transactions/abort", ref) == (409, "transaction_ended")
    for name, partition, values in everything:
        assert await seen(http, name, partition) == values
    assert sorted(one["value"] for one in await polled(http)) == [1, 3, 4]


async def test_records_of_an_aborted_transaction_are_never_seen(http, topic):
    ref = await begun(http)
    await publish(http, ref, {"topic": "t", "partition": 0, "value": 1})
    await http.post(f"{topic}/messages", json={"value": "behind", "partition": 0})
    for _ in range(2):
        assert (await ask(http, "/transactions/abort", ref))["state"] == "aborted"
    assert await refusal(http, "/transactions/commit", ref) == (409, "transaction_ended")
    assert await seen(http) == ["behind"]
    assert [one["value"] for one in await polled(http)] == ["behind"]
    assert await seen(http, isolation="read_uncommitted") == [1, "behind"]


async def test_publishing_with_an_ended_an_unknown_or_anothers_transaction_is_refused(http, topic):
    ref = await begun(http)
    await ask(http, "/transactions/commit", ref)
    other = await begun(http, "other")
    record = {"topic": "t", "value": 1}
    for wrong, expected in (
        (ref, (409, "transaction_ended")),
        ({**ref, "transaction": 99}, (404, "unknown_transaction")),
        ({**ref, "transaction": 0}, (404, "unknown_transaction")),
        ({**ref, "transaction": (1 << 63) - 1}, (404, "unknown_transaction")),
        ({**ref, "transaction": other["transaction"]}, (404, "unknown_transaction")),
        ({**other, "epoch": 5}, (404, "unknown_producer")),
        ({**other, "producer_id": 0}, (404, "unknown_producer")),
        ({**other, "transaction": -1}, (400, "invalid_request")),
        ({"producer_id": other["producer_id"], "epoch": 0}, (400, "invalid_request")),
    ):
        assert await refusal(http, "/transactions/publish", {**wrong, **record}) == expected, wrong
    assert await seen(http, isolation="read_uncommitted") == await seen(http, partition=1) == []


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"value": 1}, (400, "invalid_request")),
        ({"topic": "no such", "value": 1}, (400, "invalid_request")),
        ({"topic": "not", "value": 1}, (404, "unknown_topic")),
        ({"topic": "t", "value": 1, "partition": 7}, (404, "unknown_partition")),
        ({"topic": "t", "value": 1, "id": "x"}, (400, "invalid_request")),
        ({"topic": "t", "value": 1, "delay": "soon"}, (400, "invalid_record")),
        ({"topic": "t", "value": "x" * 1001}, (413, "record_too_large")),
        ({"topic": "t", "value": 1, "more": 1}, (400, "invalid_request")),
    ],
)
async def test_one_record_that_cannot_be_leaves_all_of_its_request_unwritten(http, topic, wrong, expected):
    ref = await begun(http)
    good = {"topic": "t", "partition": 0, "value": "good"}
    assert await refusal(http, "/transactions/publish", {**ref, "messages": [good, wrong]}) == expected
    assert await seen(http, isolation="read_uncommitted") == []
    await publish(http, ref, good)
    await ask(http, "/transactions/commit", ref)
    assert await seen(http) == ["good"]


async def test_a_delayed_record_of_a_transaction_is_seen_when_both_are_over(http, topic, clock, broker):
    ref = await begun(http)
    [result] = await publish(http, ref, {"topic": "t", "partition": 0, "value": 1, "delay": "5s"})
    assert result["delayed"] is True
    await ask(http, "/transactions/commit", ref)
    assert await seen(http) == []
    clock.advance_ms(5000)
    await fire_due(broker)
    assert await seen(http) == [1]


async def test_a_partition_need_not_be_added_but_must_exist_when_it_is(http, topic):
    ref = await begun(http)
    added = {"transaction": ref["transaction"], "success": True}
    place = {"topic": "t", "partition": 1}
    assert await ask(http, "/transactions/add-partition", {**ref, **place}) == added
    wrong = {**ref, "topic": "t", "partition": 2}
    assert await refusal(http, "/transactions/add-partition", wrong) == (404, "unknown_partition")
    assert await refusal(http, "/transactions/add-partition", {**wrong, "topic": "no"}) == (404, "unknown_topic")
    await publish(http, ref, {"topic": "t", "partition": 0, "value": 1})
    await ask(http, "/transactions/commit", ref)
    assert await seen(http) == [1]
    page = (await http.get(f"{topic}/partitions/0/messages")).json()
    assert page["next_offset"] == 2, "the marker is behind the record"


async def test_a_transaction_whose_time_is_up_is_aborted(http, topic, clock, broker):
    ref = await begun(http, transaction_timeout_ms=1000)
    await publish(http, ref, {"topic": "t", "partition": 0, "value": 1})
    clock.advance_ms(1000)
    assert await refusal(http, "/transactions/publish", {**ref, "topic": "t", "value": 2}) == (409, "transaction_ended")
    assert await abort_overdue(broker) == 1
    assert await refusal(http, "/transactions/commit", ref) == (409, "transaction_ended")
    shown = (await http.get(f"/transactions/{ref['transaction']}")).json()
    assert (shown["state"], shown["why"]) == ("aborted", "its time was up")
    assert await seen(http) == []


# Isolation.


async def test_a_topic_shows_up_to_where_its_records_are_certain(http, topic):
    async def ends():
        found = (await http.get(topic)).json()["partitions"][0]
        return found["stable"], found["latest"]

    await http.post(f"{topic}/messages", json={"value": "before", "partition": 0})
    ref = await begun(http)
    await publish(http, ref, {"topic": "t", "partition": 0, "value": 1})
    await http.post(f"{topic}/messages", json={"value": "behind", "partition": 0})
    assert await ends() == (1, 3)
    await ask(http, "/transactions/commit", ref)
    assert await ends() == (4, 4)


@pytest.mark.parametrize("url", ["/topics/t/partitions/0/messages", "/topics/t/messages"])
async def test_an_isolation_that_there_is_not_is_refused_with_those_that_there_are(http, topic, url):
    answer = await http.get(url, params={"isolation": "serializable"})
    assert answer.status_code == 400
    content = answer.json()
    assert (content["code"], content["error"]) == ("invalid_request", "isolation = 'serializable' is no isolation")
    assert content["hint"] == "write read_committed or read_uncommitted"


async def test_a_poll_has_no_isolation(http, topic):
    answer = await http.get("/groups/g/poll?topics=t&timeout=0&isolation=read_uncommitted")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


# Acknowledgements and offsets.


async def test_acknowledgements_count_when_the_transaction_commits(http, topic):
    await http.post(f"{topic}/messages", json={"messages": [{"value": n, "partition": 0} for n in range(4)]})
    taken = [one["receipt_handle"] for one in await polled(http)]
    ref = await begun(http)
    added = await ask(http, "/transactions/add-acks", {**ref, "receipts": taken[:2]})
    assert added == {"transaction": ref["transaction"], "records": 2, "dead_letters": 0, "success": True}
    body = {**ref, "receipts": [taken[2]], "action": "reject", "reason": "broken"}
    assert (await ask(http, "/transactions/add-acks", body))["dead_letters"] == 1
    body = {**ref, "receipts": [taken[3]], "action": "nack", "delay": 0}
    await ask(http, "/transactions/add-acks", body)
    assert (await http.get("/groups/g/offsets")).json()["offsets"].get("t", {}).get("0", 0) == 0
    assert await seen(http, "t.dlq") == []
    await ask(http, "/transactions/commit", ref)
    assert (await http.get("/groups/g/offsets")).json()["offsets"]["t"]["0"] == 3
    assert await seen(http, "t.dlq") == [2]
    assert [one["value"] for one in await polled(http)] == [3]


async def test_a_receipt_that_is_refused_leaves_only_the_abort(http, topic):
    await http.post(f"{topic}/messages", json={"value": 1, "partition": 0})
    [taken] = await polled(http)
    ref = await begun(http)
    body = {**ref, "receipts": [taken["receipt_handle"], taken["receipt_handle"][:-4] + "AAAA"]}
    assert await refusal(http, "/transactions/add-acks", body) == (404, "unknown_receipt")
    assert await refusal(http, "/transactions/commit", ref) == (409, "transaction_conflict")
    await ask(http, "/transactions/abort", ref)
    assert (await http.post("/messages/ack", json={"receipt_handle": taken["receipt_handle"]})).status_code == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"receipts": []},
        {"receipts": ["x"], "action": "eat"},
        {"receipts": ["x"], "action": "ack", "delay": "5s"},
        {"receipts": ["x"], "action": "nack", "delay": "soon"},
    ],
)
async def test_malformed_acknowledgements_are_refused_and_harm_nothing(http, topic, wrong):
    ref = await begun(http)
    assert await refusal(http, "/transactions/add-acks", {**ref, **wrong}) == (400, "invalid_request")
    await ask(http, "/transactions/commit", ref)


async def test_offsets_of_a_group_move_when_the_transaction_commits(http, topic):
    await http.post(f"{topic}/messages", json={"messages": [{"value": n, "partition": 0} for n in range(3)]})
    ref = await begun(http)
    for wrong, expected in (
        ({"group": "g", "offsets": {"t": {"x": 1}}}, (400, "invalid_request")),
        ({"group": "g", "offsets": {}}, (400, "invalid_request")),
        ({"group": "g", "offsets": {"t": {"7": 1}}}, (404, "unknown_partition")),
        ({"group": "g", "offsets": {"t": {"0": 1}}, "member_id": "m", "generation": 1}, (404, "unknown_member")),
    ):
        assert await refusal(http, "/transactions/add-offsets", {**ref, **wrong}) == expected, wrong
    await ask(http, "/transactions/add-offsets", {**ref, "group": "g", "offsets": {"t": {"0": 2}}})
    assert (await http.get("/groups/g/offsets")).json()["offsets"] == {}
    await ask(http, "/transactions/commit", ref)
    assert (await http.get("/groups/g/offsets")).json()["offsets"] == {"t": {"0": 2}}


# Parts.


async def part_of(http, key, value, **settings):
    begun = await ask(http, "/transactions/parts/begin", {"key": key, **settings})
    ref = {name: begun[name] for name in ("transaction", "producer_id", "epoch")}
    await publish(http, ref, {"topic": "t", "partition": 0, "value": value})
    return ref


async def test_parts_are_written_by_many_and_decided_by_one(http, topic):
    first, second, left_out = [await part_of(http, "query/7", value) for value in (1, 2, 3)]
    for ref in (first, second):
        prepared = {"transaction": ref["transaction"], "state": "prepared"}
        assert await ask(http, "/transactions/parts/prepare", ref) == prepared
    assert await refusal(http, "/transactions/commit", first) == (409, "transaction_conflict")
    numbers = [first["transaction"], second["transaction"]]
    unready = {"key": "query/7", "transactions": [*numbers, left_out["transaction"]]}
    assert await refusal(http, "/transactions/decide", unready) == (409, "transaction_conflict")
    assert await seen(http) == []
    for _ in range(2):
        decided = await ask(http, "/transactions/decide", {"key": "query/7", "transactions": numbers})
        assert (decided["committed"], decided["aborted"]) == (numbers, [left_out["transaction"]])
    assert await seen(http) == [1, 2]
    again = {"key": "query/7", "transactions": []}
    assert await refusal(http, "/transactions/decide", again) == (409, "already_decided")
    assert await refusal(http, "/transactions/parts/begin", {"key": "query/7"}) == (409, "already_decided")
    assert await refusal(http, "/transactions/parts/begin", {"key": ""}) == (400, "invalid_request")


# Operators.


async def test_live_transactions_are_listed_with_what_they_hold_back(http, topic, clock):
    await http.post(f"{topic}/messages", json={"messages": [{"value": n, "partition": 0} for n in range(2)]})
    taken = [one["receipt_handle"] for one in await polled(http)]
    old = await begun(http, "old", transaction_timeout_ms=10_000)
    await publish(http, old, {"topic": "t", "partition": 0, "value": 1}, {"topic": "t", "partition": 0, "value": 2})
    await ask(http, "/transactions/add-acks", {**old, "receipts": taken})
    await ask(http, "/transactions/add-offsets", {**old, "group": "readers", "offsets": {"t": {"0": 1}}})
    clock.advance_ms(5001)
    part = await part_of(http, "query/7", 3)
    await ask(http, "/transactions/parts/prepare", part)
    page = (await http.get("/transactions")).json()
    assert (page["total"], page["next_after"]) == (2, None)
    first, second = page["transactions"]
    assert (first["transaction"], first["transactional_id"], first["state"]) == (old["transaction"], "old", "open")
    assert (first["age_ms"], first["timeout_ms"], first["hanging"]) == (5001, 10_000, True)
    assert first["partitions"] == [{"topic": "t", "partition": 0, "records": 2, "first_offset": 2}]
    assert first["pledges"] == [{"group": "g", "topic": "t", "partition": 0, "action": "ack", "records": 2}]
    assert first["offsets"] == [{"group": "readers", "topic": "t", "partition": 0, "offset": 1}]
    assert (second["key"], second["state"], second["hanging"]) == ("query/7", "prepared", False)
    assert "transactional_id" not in second
    hanging = (await http.get("/transactions?hanging=true")).json()["transactions"]
    assert [one["transaction"] for one in hanging] == [old["transaction"]]
    one = (await http.get("/transactions?limit=1")).json()
    assert [each["transaction"] for each in one["transactions"]] == [old["transaction"]]
    rest = (await http.get(f"/transactions?after={one['next_after']}")).json()
    assert [each["transaction"] for each in rest["transactions"]] == [part["transaction"]]
    assert rest["next_after"] is None
    assert (await http.get("/transactions?limit=0")).status_code == 400


async def test_an_operator_aborts_what_hangs_and_its_producer_is_told(http, topic):
    ref = await begun(http)
    await publish(http, ref, {"topic": "t", "partition": 0, "value": 1})
    await http.post(f"{topic}/messages", json={"value": "behind", "partition": 0})
    assert await seen(http) == []
    for _ in range(2):
        aborted = await ask(http, f"/transactions/{ref['transaction']}/abort")
        assert (aborted["state"], aborted["why"]) == ("aborted", "an operator aborted it")
    assert await seen(http) == ["behind"]
    assert await refusal(http, "/transactions/commit", ref) == (409, "transaction_ended")
    done = await next_of(http, ref)
    await ask(http, "/transactions/commit", done)
    assert await refusal(http, f"/transactions/{done['transaction']}/abort", None) == (409, "transaction_ended")
    assert await refusal(http, "/transactions/99/abort", None) == (404, "unknown_transaction")
    shown = (await http.get(f"/transactions/{done['transaction']}")).json()
    assert shown["state"] == "committed"
    assert shown["ended"]
    assert "why" not in shown
    assert (await http.get("/transactions/99")).json()["code"] == "unknown_transaction"
    assert (await http.get("/transactions/x")).status_code == 400


async def test_the_statistics_say_how_far_readers_are_held_back(http, topic, clock, broker):
    nothing = (await http.get("/transactions/stats")).json()
    assert (nothing["open"], nothing["oldest"], nothing["oldest_age_ms"], nothing["topics"]) == (0, None, None, [])
    slow = await begun(http, "slow", transaction_timeout_ms=1000)
    await publish(http, slow, {"topic": "t", "partition": 0, "value": 1})
    clock.advance_ms(1000)
    await abort_overdue(broker)
    ref = await begun(http)
    await publish(http, ref, {"topic": "t", "partition": 0, "value": 1}, {"topic": "t", "partition": 1, "value": 2})
    await http.post(f"{topic}/messages", json={"value": "behind", "partition": 0})
    clock.advance_ms(7)
    stats = (await http.get("/transactions/stats")).json()
    assert stats == {
        "open": 1,
        "prepared": 0,
        "committed": 0,
        "aborted": 1,
        "timed_out": 1,
        "hanging": 0,
        "oldest": ref["transaction"],
        "oldest_age_ms": 7,
        "topics": [{"topic": "t", "behind": 3, "most_behind": 2, "partitions_behind": 2, "aborted_records": 1}],
    }
    await ask(http, "/transactions/commit", ref)
    stats = (await http.get("/transactions/stats")).json()
    assert (stats["open"], stats["committed"], stats["topics"][0]["behind"]) == (0, 1, 0)
