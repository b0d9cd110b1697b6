"""Dead letters over HTTP."""

import pytest


async def dead(http, *messages, topic="orders", group="billing", reason="no such customer"):
    """Publish, poll, reject."""
    if messages:
        await http.post(f"/topics/{topic}/messages", json={"messages": list(messages)})
    polled = (await http.get(f"/groups/{group}/poll?topics={topic}&timeout=0ms&limit=1000")).json()["messages"]
    body = {"receipt_handles": [one["receipt_handle"] for one in polled], "reason": reason}
    answer = await http.post("/messages/reject", json=body)
    assert answer.status_code == 200, answer.text


@pytest.fixture
async def orders(http):
    """Three dead letters."""
    await http.post("/topics", json={"name": "orders", "num_partitions": 1})
    await dead(http, {"key": "k1", "value": {"n": 1}, "headers": {"a": "b"}}, {"key": "k2", "value": "two"})
    await dead(http, {"value": "three", "priority": "high"}, reason="timeout of the bank")


async def listed(http, query="", topic="orders"):
    answer = await http.get(f"/dlq/{topic}{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def records(http, topic="orders"):
    return (await http.get(f"/topics/{topic}/messages?limit=1000")).json()["messages"]


async def test_letters_are_listed_with_where_they_come_from_and_why(http, orders):
    found = await listed(http, "?format=json")
    assert (found["dlq_topic"], found["next_cursor"], len(found["messages"])) == ("orders.dlq", None, 3)
    first = found["messages"][0]
    assert (first["partition"], first["offset"], first["key"], first["value"]) == (0, 0, "k1", {"n": 1})
    assert first["headers"].keys() == {"a", "content-type", "traceparent"}
    origin = first["origin"]
    assert (origin["topic"], origin["partition"], origin["offset"], origin["group"]) == ("orders", 0, 0, "billing")
    assert (first["cause"], first["reason"]) == ("rejected", "no such customer")
    assert (first["delivery_count"], first["failure_count"], first["history"]) == (1, 0, [])


async def test_attempts_are_told_with_their_times_and_reasons(http):
    await http.post("/topics", json={"name": "orders", "num_partitions": 1, "max_attempts": 2, "retry_backoff_ms": 0})
    await http.post("/topics/orders/messages", json={"value": "x"})
    for reason in ("first", "second"):
        polled = (await http.get("/groups/billing/poll?topics=orders&timeout=0ms")).json()["messages"]
        body = {"receipt_handle": polled[0]["receipt_handle"], "reason": reason}
        answer = (await http.post("/messages/nack", json=body)).json()
    assert answer["action"] == "dlq"
    (letter,) = (await listed(http))["messages"]
    assert (letter["cause"], letter["reason"], letter["failure_count"]) == ("failed too often", "second", 2)
    assert [one["reason"] for one in letter["history"]] == ["first"]


@pytest.mark.parametrize(
    ("query", "offsets"),
    [
        ("?reason=BANK", [2]),
        ("?cause=rejected", [0, 1, 2]),
        ("?cause=failed+too+often", []),
        ("?key=k2", [1]),
        ("?key_base64=azE=", [0]),
        ("?group=billing&key=k1", [0]),
        ("?group=audit", []),
        ("?from=2100-01-01T00:00:00Z", []),
        ("?to=2100-01-01T00:00:00Z&limit=2", [0, 1]),
        ("?limit=1&cursor=1.0.0", [1]),
    ],
)
async def test_letters_are_found_by_what_is_known_of_them(http, orders, query, offsets):
    for name in ("orders", "orders.dlq"):
        assert [one["offset"] for one in (await listed(http, query, name))["messages"]] == offsets


async def test_pages_follow_each_other(http, orders):
    found, cursor = [], ""
    while cursor is not None:
        page = await listed(http, f"?limit=1{cursor and '&cursor=' + cursor}")
        found += [one["value"] for one in page["messages"]]
        cursor = page["next_cursor"]
    assert found[1:] == ["two", "three"] and len(found) == 3


async def test_one_letter_is_shown(http, orders):
    assert (await http.get("/dlq/orders/0/1")).json()["value"] == "two"
    assert (await http.get("/dlq/orders/0/1?format=base64")).json()["value"] == {"base64": "dHdv"}
    for path, code in (("0/9", "offset_out_of_range"), ("5/0", "unknown_partition")):
        answer = await http.get(f"/dlq/orders/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, code)


async def test_what_is_unknown_is_said_to_be_so(http):
    for path in ("/dlq/nowhere", "/dlq/nowhere/stats", "/dlq/nowhere/0/0"):
        assert (await http.get(path)).status_code == 404
    for method, path in (("POST", "/dlq/nowhere/redrive"), ("DELETE", "/dlq/nowhere")):
        assert (await http.request(method, path, json={"select": {"all": True}})).status_code == 404


async def test_the_figures(http, orders):
    stats = (await http.get("/dlq/orders/stats")).json()
    assert (stats["dlq_topic"], stats["count"], stats["by_cause"]) == ("orders.dlq", 3, {"rejected": 3})
    assert stats["by_reason"] == {"no such customer": 2, "timeout of the bank": 1}
    assert (stats["by_group"], stats["oldest"] <= stats["newest"]) == ({"billing": 3}, True)


async def test_a_dry_run_and_then_the_redrive_itself(http, orders):
    body = {"select": {"reason": "bank"}}
    would = (await http.post("/dlq/orders/redrive", json=body | {"dry_run": True})).json()
    assert (would["dry_run"], would["matched"], would["redriven"]) == (True, 1, 1)
    assert would["moves"][0]["target_offset"] is None
    assert len((await listed(http))["messages"]) == 3
    did = (await http.post("/dlq/orders/redrive", json=body)).json()
    move = {"partition": 0, "offset": 2, "topic": "orders", "target_partition": 0, "target_offset": 3}
    assert (did["redriven"], did["moves"], did["next_cursor"], did["stopped"]) == (1, [move], None, None)
    assert len((await listed(http))["messages"]) == 2
    last = (await records(http))[-1]
    assert (last["value"], last["priority"]) == ("three", 1)
    assert last["headers"].keys() == {"goqueue-redriven-from", "traceparent"}
    assert last["headers"]["goqueue-redriven-from"] == "orders.dlq/0/2"
    again = (await http.post("/dlq/orders/redrive", json=body)).json()
    assert (again["matched"], again["redriven"]) == (0, 0)


async def test_letters_are_chosen_by_place_and_those_that_are_gone_are_counted(http, orders):
    select = {"offsets": [{"partition": 0, "offset": 0}, {"partition": 0, "offset": 7}, {"partition": 3, "offset": 0}]}
    did = (await http.post("/dlq/orders.dlq/redrive", json={"select": select})).json()
    assert (did["matched"], did["redriven"], did["missing"]) == (1, 1, 2)


async def test_letters_are_changed_on_the_way(http, orders):
    await http.post("/topics", json={"name": "repair", "num_partitions": 2})
    edit = {"value": {"fixed": True}, "key": {"base64": "/w=="}, "headers": {"by": ["me", "you"]}, "topic": "repair"}
    did = (await http.post("/dlq/orders/redrive", json={"select": {"key": "k2"}, "edit": edit})).json()
    assert (did["redriven"], did["moves"][0]["topic"]) == (1, "repair")
    (record,) = (await http.get("/topics/repair/messages?format=json")).json()["messages"]
    assert (record["key"], record["value"]) == ({"base64": "/w=="}, {"fixed": True})
    assert record["headers"]["by"] == ["me", "you"]
    assert record["headers"]["content-type"] == "application/json"


async def test_what_cannot_go_back_is_named(http, orders):
    await http.delete("/topics/orders")
    did = (await http.post("/dlq/orders/redrive", json={"select": {"all": True}})).json()
    assert (did["matched"], did["redriven"], did["failed"]) == (3, 0, 3)
    assert (did["failures"][0]["offset"], did["failures"][0]["code"]) == (0, "unknown_topic")


async def test_a_redrive_goes_on_where_the_last_one_ended(http, orders):
    first = (await http.post("/dlq/orders/redrive", json={"select": {"all": True}, "limit": 2})).json()
    body = {"select": {"all": True}, "cursor": first["next_cursor"]}
    second = (await http.post("/dlq/orders/redrive", json=body)).json()
    assert (first["redriven"], second["redriven"], second["next_cursor"]) == (2, 1, None)


async def test_a_purge_is_for_good(http, orders):
    would = (await http.request("DELETE", "/dlq/orders", json={"select": {"all": True}, "dry_run": True})).json()
    assert (would["purged"], would["dry_run"]) == (3, True)
    did = (await http.request("DELETE", "/dlq/orders", json={"select": {"key": "k1"}})).json()
    assert (did["matched"], did["purged"], did["next_cursor"]) == (1, 1, None)
    assert (await http.request("DELETE", "/dlq/orders", json={"select": {"all": True}})).json()["purged"] == 2
    assert (await listed(http))["messages"] == []
    assert len(await records(http)) == 3


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"select": {}},
        {"select": {"all": False}},
        {"select": {"all": True, "key": "k"}},
        {"select": {"offsets": []}},
        {"select": {"key": "k", "key_base64": "aw=="}},
        {"select": {"from": "yesterday"}},
        {"select": {"all": True}, "limit": 0},
        {"select": {"all": True}, "cursor": "x"},
        {"select": {"all": True}, "extra": 1},
    ],
)
async def test_what_does_not_say_what_it_wants_is_refused_and_changes_nothing(http, orders, body):
    for method, path in (("POST", "/dlq/orders/redrive"), ("DELETE", "/dlq/orders")):
        answer = await http.request(method, path, json=body)
        assert answer.status_code == 400, answer.text
    assert len((await listed(http))["messages"]) == 3


@pytest.mark.parametrize("edit", [{"topic": "orders.dlq"}, {"topic": "a/b"}, {"headers": 1}, {"vlaue": 1}])
async def test_an_edit_that_cannot_be_is_refused(http, orders, edit):
    answer = await http.post("/dlq/orders/redrive", json={"select": {"all": True}, "edit": edit})
    assert answer.status_code == 400
    assert len((await listed(http))["messages"]) == 3


async def test_how_deliveries_fare_is_told_by_group_and_topic(http, orders):
    (stats,) = (await http.get("/reliability/stats")).json()["groups"]
    assert (stats["group"], stats["topic"], stats["rejected"], stats["dead_lettered"]) == ("billing", "orders", 3, 3)
    assert (stats["acked"], stats["in_flight"]) == (0, 0)


async def test_the_breaker_shows_in_the_description_of_the_group(http):
    settings = {"name": "orders", "num_partitions": 1, "dead_letter_breaker_per_minute": 1}
    assert (await http.post("/topics", json=settings)).json()["dead_letter_breaker_per_minute"] == 1
    await dead(http, {"value": "1"}, {"value": "2"})
    group = (await http.get("/groups/billing")).json()
    assert (group["paused"], group["pause_reason"]) == (True, "more than 1 dead letters from orders within a minute")
    await http.post("/groups/billing/resume")
    group = (await http.get("/groups/billing")).json()
    assert (group["paused"], group["pause_reason"]) == (False, None)


async def test_the_group_of_the_workbench_is_refused(http, orders):
    answer = await http.get("/groups/__dlq/poll?topics=orders.dlq&timeout=0ms")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


@pytest.mark.parametrize("name", ["orders", "__letters", "a/b"])
async def test_dead_letters_go_to_another_topic_that_users_may_have(http, name):
    body = {"name": "orders", "dead_letter_topic": name}
    assert (await http.post("/topics", json=body)).status_code == 400
    assert (await http.post("/topics", json={"name": "orders"})).status_code == 201
    assert (await http.patch("/topics/orders", json={"dead_letter_topic": name})).status_code == 400
    assert (await http.patch("/topics/orders", json={"dead_letter_topic": "lost"})).status_code == 200
