"""The document and the server agree on fields that exclude or need each other, and on whole numbers."""

import json

import httpx
import jsonschema_rs
import pytest

from goqueue.gateways.http.api import every_endpoint
from goqueue.gateways.http.document.openapi import Document

ENDPOINTS = every_endpoint(None, None)
DOCUMENT = Document(lambda: ENDPOINTS).content


def operation(method: str, path: str) -> dict:
    return DOCUMENT["paths"][path][method.lower()]


def allows(schema: dict, value: object) -> bool:
    return jsonschema_rs.validator_for({**schema, "components": DOCUMENT["components"]}).is_valid(value)


def body_schema(method: str, path: str) -> dict:
    return next(iter(operation(method, path)["requestBody"]["content"].values()))["schema"]


def query_schema(path: str) -> dict:
    (parameter,) = [one for one in operation("GET", path)["parameters"] if one["in"] == "query"]
    assert (parameter["style"], parameter["explode"]) == ("form", True)
    return parameter["schema"]


NOT_TOGETHER = [
    ("POST", "/topics", {"name": "a", "retention_ms": 1}, {"name": "a", "retention_ms": 1, "retention_hours": 1}),
    ("POST", "/messages/ack", {"receipt_handle": "a"}, {"receipt_handle": "a", "receipt_handles": ["a"]}),
    ("POST", "/messages/ack", {"receipt_handles": ["a"]}, {}),
    ("POST", "/groups/{group}/join", {"pattern": "a"}, {}),
    ("POST", "/groups/{group}/join", {"topics": ["a"]}, {"topics": []}),
    ("POST", "/groups/{group}/offsets", {"offsets": {}}, {"offsets": {}, "member_id": "m"}),
    ("POST", "/groups/{group}/offsets/reset", {"to": "offset", "offset": 1}, {"to": "offset"}),
    ("POST", "/groups/{group}/offsets/reset", {"to": "latest"}, {"to": "timestamp", "timestamp": None}),
    ("POST", "/dlq/{topic}/redrive", {"select": {"all": True}}, {"select": {}}),
    ("POST", "/dlq/{topic}/redrive", {"select": {"reason": "x"}}, {"select": {"reason": "x", "all": True}}),
    ("DELETE", "/dlq/{topic}", {"select": {"key": "x"}}, {"select": {"key": "x", "key_base64": ""}}),
    ("POST", "/schedules", {"topic": "a", "every": "5s"}, {"topic": "a"}),
    ("POST", "/schedules", {"topic": "a", "cron": "* * * * *"}, {"topic": "a", "cron": "* * * * *", "every": "5s"}),
    ("PATCH", "/topics/{topic}/delayed/{partition}/{offset}", {"delay": "5s"}, {}),
    ("PATCH", "/topics/{topic}/delayed/{partition}/{offset}", {"deliverAt": "5s"}, {"deliverAt": "5s", "delay": 1}),
    ("POST", "/topics/{topic}/messages", {"value": 1, "delay": 5}, {"value": 1, "delay": 5, "deliver_at": "9s"}),
]


@pytest.mark.parametrize(("method", "path", "right", "wrong"), NOT_TOGETHER)
async def test_fields_that_exclude_or_need_each_other_are_stated_and_refused_alike(http, method, path, right, wrong):
    schema = body_schema(method, path)
    assert (allows(schema, right), allows(schema, wrong)) == (True, False)
    url = path.format(topic="t.dlq" if "dlq" in path else "t", group="g", partition=0, offset=0)
    await http.post("/topics", json={"name": "t"})
    answers = [await http.request(method, url, content=json.dumps(body)) for body in (right, wrong)]
    assert answers[0].status_code != 400, answers[0].text
    assert answers[1].status_code == 400, answers[1].text
    assert answers[1].json()["hint"].startswith("give ")


@pytest.mark.parametrize(
    ("path", "right", "wrong"),
    [
        ("/topics/{topic}/messages", {"key": "a"}, {"key": "a", "key_base64": "YQ=="}),
        ("/dlq/{topic}", {}, {"key": "a", "key_base64": "YQ=="}),
        ("/traces/search", {"key_base64": "YQ=="}, {"key": "a", "key_base64": "YQ=="}),
        ("/traces/journey", {"topic": "t", "partition": 0, "offset": 0}, {"topic": "t", "offset": 0}),
        ("/traces/journey", {"topic": "t", "id": "x"}, {"topic": "t"}),
        ("/groups/{group}/poll", {"topics": "t", "timeout": "0"}, {"topics": "t", "timeout": "0", "member_id": "m"}),
    ],
)
async def test_the_same_of_the_fields_of_a_query(http, path, right, wrong):
    schema = query_schema(path)
    assert (allows(schema, right), allows(schema, wrong)) == (True, False)
    await http.post("/topics", json={"name": "t"})
    url = path.format(topic="t", group="g")
    first, second = [await http.get(url, params=query) for query in (right, wrong)]
    assert first.status_code != 400, first.text
    assert second.status_code == 400, second.text


@pytest.mark.parametrize("query", ["verbose", "verbose=", "verbose=true"])
async def test_a_switch_alone_is_on_and_the_document_says_so(http, query):
    (parameter,) = operation("GET", "/readyz")["parameters"]
    assert (parameter["name"], parameter["allowEmptyValue"]) == ("verbose", True)
    answer = await http.get(f"/readyz?{query}")
    assert answer.json()["checks"]
    assert "checks" not in (await http.get("/readyz?verbose=false")).json()


async def test_the_same_of_a_switch_of_the_schema_registry(http):
    await http.post("/schemas/subjects/a/versions", json={"schema": '"int"'})
    answer = await http.post("/schemas/compatibility/subjects/a/versions?verbose", json={"schema": '"string"'})
    assert answer.json()["messages"]


@pytest.mark.parametrize("number", ["2.0", "2e0", "20E-1", "0.2e1"])
async def test_a_whole_number_with_a_fraction_of_zero_is_an_integer(http: httpx.AsyncClient, number):
    answer = await http.post("/topics", content=f'{{"name": "t", "num_partitions": {number}}}')
    assert answer.json()["num_partitions"] == 2
    pair = f'{{"value": {number}, "partition": {number}}}'
    answer = await http.post("/topics/t/messages", content=f'{{"messages": [{pair}]}}')
    assert answer.json()["results"][0]["code"] == "unknown_partition", "only 0 and 1 are there"
    await http.post("/topics/t/messages", content=f'{{"value": {number}, "partition": 1.0}}')
    page = await http.get("/topics/t/partitions/1.0/messages", params={"limit": "1.0"})
    assert page.json()["messages"][0]["value"] == number, "values stay as they came"


@pytest.mark.parametrize("number", ["2.5", "1e99", '"2"', "2.0.0", "1e999999999"])
async def test_what_is_no_whole_number_stays_refused(http: httpx.AsyncClient, number):
    answer = await http.post("/topics", content=f'{{"name": "t", "num_partitions": {number}}}')
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ({"messages": [{"value": 1, "topic": "t"}]}, {"messages": [{"value": 1, "topic": "t"}, {"value": 2}]}),
        ({"topic": "t", "messages": [{"value": 1}]}, {"topic": "t", "messages": [{"value": 1, "id": "a"}]}),
        ({"topic": "t", "value": 1}, {"value": 1}),
        ({"topic": "t", "value": 1, "delay": "5s"}, {"topic": "t", "value": 1, "id": "a"}),
    ],
)
async def test_the_same_of_records_in_a_transaction(http, right, wrong):
    await http.post("/topics", json={"name": "t"})
    who = (await http.post("/producers/init", json={"transactional_id": "me"})).json()
    begun = (await http.post("/transactions/begin", json=who)).json()
    ref = {name: begun[name] for name in ("transaction", "producer_id", "epoch")}
    schema = body_schema("POST", "/transactions/publish")
    assert (allows(schema, right | ref), allows(schema, wrong | ref)) == (True, False)
    answers = [await http.post("/transactions/publish", json=one | ref) for one in (right, wrong)]
    assert [one.status_code for one in answers] == [200, 400], [one.text for one in answers]
