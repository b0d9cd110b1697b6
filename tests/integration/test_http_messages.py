"""Records over HTTP, against a broker in a process of its own."""

import base64
import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from goqueue.client import Producer


def publish(http: httpx.Client, topic: str, *messages: dict) -> list[dict]:
    response = http.post(f"/topics/{topic}/messages", json={"messages": list(messages)})
    assert response.status_code == 200, response.text
    return response.json()["results"]


def test_a_record_is_read_back_as_it_was_published(http, topic):
    body = {
        "key": "k",
        "value": "grüße",
        "headers": {"a": "1", "b": {"base64": "/w=="}, "c": ["x", "y"]},
        "priority": "critical",
        "partition": 2,
    }
    response = http.post(f"/topics/{topic}/messages", json=body)
    assert (response.status_code, response.json()) == (200, {"results": [{"partition": 2, "offset": 0, "priority": 0}]})
    page = http.get(f"/topics/{topic}/partitions/2/messages").json()
    [message] = page["messages"]
    assert message.pop("timestamp").endswith("Z")
    assert message == {
        "partition": 2,
        "offset": 0,
        "key": "k",
        "key_format": "text",
        "value": "grüße",
        "value_format": "text",
        "headers": {"a": "1", "b": {"base64": "/w=="}, "c": ["x", "y"]},
        "priority": 0,
    }
    assert page["next_offset"] == 1


@pytest.mark.parametrize(
    "text",
    ['{"b": 1.0, "a": [1e400, {"x":  null}]}', "123456789012345678901234567890", "true", "[]", "-0.0", '{"a":1,"a":2}'],
)
def test_json_comes_back_bit_by_bit(http, topic, text):
    request = f'{{"value": {text}, "partition": 0}}'
    assert http.post(f"/topics/{topic}/messages", content=request).status_code == 200
    url = f"/topics/{topic}/partitions/0/messages"
    assert f'"value":{text},"value_format":"json"' in http.get(url, params={"format": "json"}).text
    [message] = http.get(url).json()["messages"]
    assert (message["value"], message["value_format"]) == (text, "text")
    assert message["headers"] == {"content-type": "application/json"}
    [message] = http.get(url, params={"format": "base64"}).json()["messages"]
    assert base64.b64decode(message["value"]["base64"]) == text.encode()


def test_bytes_come_back_bit_by_bit(http, topic):
    data = bytes(range(256)) * 1000
    value = {"base64": base64.b64encode(data).decode()}
    publish(http, topic, {"value": value, "key": value["base64"][:20], "partition": 0})
    for form in ("", "?format=text", "?format=json", "?format=base64"):
        [message] = http.get(f"/topics/{topic}/partitions/0/messages{form}").json()["messages"]
        assert (message["value"], message["value_format"]) == (value, "base64")


def test_a_tombstone_and_a_missing_key_are_not_empty_ones(http, topic):
    publish(
        http,
        topic,
        {"key": "k", "value": None, "partition": 0},
        {"key": "", "value": "", "partition": 0},
        {"value": 0, "partition": 0},
    )
    first, second, third = http.get(f"/topics/{topic}/partitions/0/messages").json()["messages"]
    assert (first["value"], first["value_format"]) == (None, "tombstone")
    assert (second["key"], second["value"], second["value_format"]) == ("", "", "text")
    assert "key" not in third


def test_some_records_of_a_request_may_fail(http, topic):
    messages = [{"value": "a", "partition": 0}, {"value": "b", "partition": 3}]
    response = http.post(f"/topics/{topic}/messages", json={"messages": messages})
    assert response.status_code == 207
    first, second = response.json()["results"]
    assert first == {"partition": 0, "offset": 0, "priority": 2}
    assert (second["status"], second["code"]) == (404, "unknown_partition")


def test_a_value_at_the_limit_is_taken_and_one_above_it_is_not(http, topic):
    limit = 16 * 1024 * 1024
    taken = http.post(f"/topics/{topic}/messages", json={"value": "x" * limit, "partition": 0, "durability": "memory"})
    assert taken.status_code == 200
    refused = http.post(f"/topics/{topic}/messages", json={"value": "x" * (limit + 1), "partition": 0})
    assert (refused.status_code, refused.json()["code"]) == (413, "record_too_large")
    assert str(limit) in refused.json()["error"]
    [message] = http.get(f"/topics/{topic}/partitions/0/messages").json()["messages"]
    assert message["value"] == "x" * limit


def test_pages_are_complete_while_eight_producers_write(http, topic, shared_server):
    def produce(number: int) -> None:
        with httpx.Client(base_url=f"http://{shared_server.http}", timeout=30) as own:
            for step in range(25):
                publish(own, topic, *[{"value": f"{number}/{step}/{n}", "partition": 0} for n in range(4)])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(produce, range(8)))
    collected, offset = [], 0
    while True:
        page = http.get(f"/topics/{topic}/partitions/0/messages", params={"offset": offset, "limit": 97}).json()
        if not page["messages"]:
            break
        collected += page["messages"]
        offset = page["next_offset"]
    assert [message["offset"] for message in collected] == list(range(800))
    assert len({message["value"] for message in collected}) == 800


def test_a_topic_is_browsed_page_by_page_in_order_of_time(http, topic):
    expected = []
    for number in range(30):
        publish(http, topic, {"value": str(number), "key": f"k{number % 5}", "priority": number % 5})
        expected.append(str(number))
    collected, cursor = [], {}
    while True:
        page = http.get(f"/topics/{topic}/messages", params={"limit": 7, **cursor}).json()
        collected += page["messages"]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert [message["value"] for message in collected] == expected
    times = [message["timestamp"] for message in collected]

    def found(**query: str) -> list[str]:
        answer = http.get(f"/topics/{topic}/messages", params={"limit": 1000, **query}).json()
        return [message["value"] for message in answer["messages"]]

    assert found(key="k3") == expected[3::5]
    assert found(key_base64=base64.b64encode(b"k3").decode()) == expected[3::5]
    assert found(priority="high") == found(priority="1") == expected[1::5]
    assert found(**{"from": times[10], "to": times[20]}) == expected[10:20]
    assert found(**{"from": "2000-01-01T00:00:00+01:00", "to": "978307200000"}) == []
    assert sorted(found(partition="0") + found(partition="1") + found(partition="2")) == sorted(expected)


async def test_values_that_a_client_compressed_are_shown_plain(http, topic, shared_server):
    value = b'{"a": "' + b"abc" * 1000 + b'"}'
    async with Producer(shared_server.native, compression="zstd") as producer:
        await (await producer.send(topic, value, partition=0))
    [message] = http.get(f"/topics/{topic}/partitions/0/messages?format=json").json()["messages"]
    assert message["value"] == json.loads(value)


def test_what_was_confirmed_is_there_after_a_crash(server, client):
    client.post("/topics", json={"name": "t", "num_partitions": 1})
    for number in range(20):
        assert client.post("/topics/t/messages", json={"value": str(number)}).status_code == 200
    server.crash_and_restart()
    page = client.get("/topics/t/partitions/0/messages").json()
    assert [message["value"] for message in page["messages"]] == [str(number) for number in range(20)]
    assert client.post("/topics/t/messages", json={"value": "on"}).json()["results"][0]["offset"] == 20
