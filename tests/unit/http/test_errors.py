import asyncio

import httpx
import pytest

from goqueue.engine.stream_names import CATALOG
from goqueue.errors import ERRORS_BY_CODE
from goqueue.gateways.http.responses import STATUS_BY_CODE
from goqueue.model.topic import TopicConfig


def test_every_error_code_has_a_status():
    assert ERRORS_BY_CODE.keys() <= STATUS_BY_CODE.keys()


def test_no_status_stands_for_a_code_that_is_gone():
    assert STATUS_BY_CODE.keys() <= ERRORS_BY_CODE.keys()


def test_only_a_bug_is_a_500():
    assert [code for code, status in STATUS_BY_CODE.items() if status == 500] == ["internal"]


@pytest.mark.parametrize(
    ("method", "url", "body", "status", "code", "says"),
    [
        ("GET", "/nowhere", None, 404, "unknown_route", "/nowhere"),
        ("GET", "/v1/nowhere", None, 404, "unknown_route", "/v1/nowhere"),
        ("GET", "/topics/", None, 404, "unknown_route", "/topics/"),
        ("PUT", "/topics", None, 405, "method_not_allowed", "PUT"),
        ("POST", "/topics", "", 400, "invalid_request", "empty"),
        ("POST", "/topics", "{", 400, "invalid_request", "truncated"),
        ("POST", "/topics", "[]", 400, "invalid_request", "Expected `object`"),
        ("POST", "/topics/there/messages", '{"value": ' + "[" * 100_000, 400, "invalid_request", "nested"),
        ("POST", "/topics", b'{"name": "\xff"}', 400, "invalid_request", "utf-8"),
        ("POST", "/topics", '{"name": 5}', 400, "invalid_request", "$.name"),
        ("POST", "/topics", '{"num_partitions": 1}', 400, "invalid_request", "name"),
        ("POST", "/topics", '{"name": "t", "num_partitions": 0}', 400, "invalid_request", "$.num_partitions"),
        ("POST", "/topics", '{"name": "t", "num_partitions": 10001}', 400, "invalid_request", "$.num_partitions"),
        ("POST", "/topics", '{"name": "t", "colour": 1}', 400, "invalid_request", "colour"),
        ("POST", "/topics", '{"name": ".."}', 400, "invalid_request", "'..' is not a topic name"),
        ("POST", "/topics", '{"name": "t", "retention_ms": 1, "retention_hours": 1}', 400, "invalid_request", "both"),
        ("POST", "/topics", '{"name": "there"}', 409, "topic_exists", "there"),
        ("GET", "/topics/missing", None, 404, "unknown_topic", "missing"),
        ("GET", "/topics/..%2F..%2Fesc", None, 400, "invalid_request", "'../../esc' is not a topic name"),
        ("GET", "/topics/%2e%2e", None, 400, "invalid_request", "'..' is not a topic name"),
        ("GET", "/topics/%ff", None, 400, "invalid_request", "utf-8"),
        ("GET", "/topics?x=1", None, 400, "invalid_request", "unknown query parameter 'x'"),
        ("GET", "/topics/there/messages?limit=1001", None, 400, "invalid_request", "$.limit"),
        ("GET", "/topics/there/messages?limit=1&limit=2", None, 400, "invalid_request", "more than once"),
        ("GET", "/topics/there/messages?limit=%ff", None, 400, "invalid_request", "utf-8"),
        ("GET", "/topics/there/messages?from=yesterday", None, 400, "invalid_request", "from = 'yesterday'"),
        ("GET", "/topics/there/messages?cursor=7", None, 400, "invalid_request", "'7' is not a cursor"),
        ("GET", "/topics/there/messages?key=a&key_base64=YQ==", None, 400, "invalid_request", "both"),
        (
            "GET",
            "/topics/there/messages?" + "&".join(f"a{n}" for n in range(101)),
            None,
            400,
            "invalid_request",
            "query",
        ),
        ("GET", "/topics/there/partitions/x/messages", None, 400, "invalid_request", "$.partition"),
        ("GET", "/topics/there/partitions/7/messages", None, 404, "unknown_partition", "0 to 2"),
        ("GET", "/topics/there/partitions/0/messages?offset=5", None, 404, "offset_out_of_range", "5"),
        ("GET", "/topics/there/partitions/0/messages?offset=-1", None, 400, "invalid_request", "$.offset"),
        ("DELETE", "/topics/missing", None, 404, "unknown_topic", "missing"),
        ("PATCH", "/topics/missing", "{}", 404, "unknown_topic", "missing"),
        ("PATCH", "/topics/there", '{"num_partitions": 5}', 400, "invalid_request", "num_partitions"),
        ("PATCH", "/topics/there", '{"retention_weeks": 2}', 400, "invalid_request", "retention_weeks"),
        ("POST", "/topics", '{"name": "x", "retention_weeks": 2}', 400, "invalid_request", "retention_weeks"),
        ("POST", "/topics/missing/messages", '{"value": 1}', 404, "unknown_topic", "missing"),
        ("POST", "/topics/there/messages", "{}", 400, "invalid_request", "neither value nor messages"),
        ("POST", "/topics/there/messages", '{"messages": []}', 400, "invalid_request", "$.messages"),
        (
            "POST",
            "/topics/there/messages",
            '{"messages": [{"value": 1}], "key": 1}',
            400,
            "invalid_request",
            "key beside",
        ),
        ("POST", "/topics/there/messages", '{"value": 1, "priority": 5}', 400, "invalid_record", "priority"),
        ("POST", "/topics/there/messages", '{"value": 1, "durability": "x"}', 400, "invalid_request", "$.durability"),
        ("POST", "/topics/there/messages", '{"value": {"base64": 5}}', 400, "invalid_record", "value"),
        ("POST", "/topics/there/messages", '{"value": {"base64": "?"}}', 400, "invalid_record", "value"),
        ("POST", "/topics/there/messages", b'{"value": {"a": "\xff"}}', 400, "invalid_record", "value"),
        ("POST", "/topics/there/messages", '{"value": "\\ud800"}', 400, "invalid_request", "body"),
        ("POST", "/admin/topics/missing/compact", None, 404, "unknown_topic", "missing"),
        ("POST", "/admin/topics/there/compact", None, 409, "state_conflict", "cleanup is delete"),
        ("POST", "/admin/topics/there/compact", "{}", 400, "invalid_request", "no body"),
    ],
)
async def test_a_wrong_request_is_refused_with_the_reason(http, method, url, body, status, code, says, bugs):
    await http.post("/topics", json={"name": "there"})
    response = await http.request(method, url, content=body)
    answer = response.json()
    assert (response.status_code, answer["status"], answer["code"]) == (status, status, code)
    assert says in answer["error"]
    assert bugs == []


async def test_a_wrong_method_is_told_the_right_ones(http):
    assert (await http.delete("/topics")).headers["allow"] == "GET, HEAD, POST"


async def test_an_unknown_field_is_answered_with_the_allowed_ones(http):
    await http.post("/topics", json={"name": "there"})
    for body in ({"value": 1, "pause": "5s"}, {"messages": [{"value": 1}, {"value": 2, "pause": "5s"}]}):
        answer = (await http.post("/topics/there/messages", json=body)).json()
        assert "'pause'" in answer["error"]
        assert "acks, delay, deliverAt, deliver_at, durability, expires, headers, id, key" in answer["hint"]
    assert "at $.messages[1]" in answer["error"]
    assert "messages" not in answer["hint"]


async def test_an_unknown_field_deep_inside_is_answered_with_the_allowed_ones_there(http):
    await http.post("/topics", json={"name": "there"})
    body = {"messages": [{"value": 1, "headers": {"h": {"base46": ""}}}]}
    answer = (await http.post("/topics/there/messages", json=body)).json()
    assert "'base46'" in answer["error"]
    assert answer["hint"] == "allowed here: base64"


async def test_a_bug_is_reported_and_answered_without_its_details(http, broker, bugs):
    broker.catalog.topic = None
    response = await http.get("/topics/there")
    assert response.status_code == 500
    assert response.json()["code"] == "internal"
    assert "NoneType" not in response.text
    assert isinstance(bugs[0], TypeError)


async def test_storage_that_is_busy_says_when_to_try_again(http, broker):
    await http.post("/topics", json={"name": "there"})
    broker.guard.update(0.95)
    response = await http.post("/topics/there/messages", json={"value": "x"})
    assert (response.status_code, response.json()["code"]) == (503, "disk_full")
    assert response.headers["retry-after"] == "10"


async def test_a_broker_that_is_not_ready_says_why(http, broker):
    assert (await http.get("/readyz")).json() == {"status": "ready"}
    broker.guard.update(0.95)
    response = await http.get("/readyz?verbose")
    assert response.status_code == 503
    assert response.headers["retry-after"] == "5"
    assert "95%" in response.json()["checks"]["disk"]
    assert (await http.get("/livez")).status_code == 200


async def test_two_changes_at_the_same_time_both_count(http: httpx.AsyncClient, broker):
    await http.post("/topics", json={"name": "there"})
    async with broker.state_log.owner(CATALOG).lock:
        first = asyncio.ensure_future(http.patch("/topics/there", json={"retention_ms": 5}))
        second = asyncio.ensure_future(http.patch("/topics/there", json={"retention_bytes": 7}))
        await asyncio.sleep(0.01)
    await asyncio.gather(first, second)
    found = broker.catalog.topic("there").config
    assert (found.retention_ms, found.retention_bytes) == (5, 7)
    assert found.delete_retention_ms == TopicConfig().delete_retention_ms
