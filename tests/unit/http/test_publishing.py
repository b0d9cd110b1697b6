import base64

import pytest

from goqueue import codec
from goqueue.model.partitioning import KeyRanges
from goqueue.model.record import Record


@pytest.fixture
async def topic(http):
    await http.post("/topics", json={"name": "t", "num_partitions": 4})
    return "/topics/t/messages"


async def records(broker, partition: int) -> list[Record]:
    found = broker.partition("t", partition)
    chunk = found.read(0, 1 << 20, found.stable_offset)
    return codec.decode(chunk.records)


async def test_one_record_is_written_as_it_was_given(http, topic, broker):
    body = {
        "key": "k",
        "value": "v",
        "headers": {"a": "1", "b": {"base64": "/w=="}, "c": ["2", "3"]},
        "priority": "low",
    }
    [result] = (await http.post(topic, json=body)).json()["results"]
    place = KeyRanges(broker.catalog.topic("t").ranges).partition_of(b"k")
    assert result == {"partition": place, "offset": 0, "priority": 3}
    [record] = await records(broker, place)
    assert (record.key, record.value, record.priority) == (b"k", b"v", 3)
    assert record.headers == (("a", b"1"), ("b", b"\xff"), ("c", b"2"), ("c", b"3"))


async def test_records_without_a_key_take_turns_request_by_request(http, topic):
    partitions = []
    for _ in range(8):
        response = await http.post(topic, json={"messages": [{"value": "a"}, {"value": "b"}]})
        first, second = response.json()["results"]
        assert first["partition"] == second["partition"]
        assert first["offset"] + 1 == second["offset"]
        partitions.append(first["partition"])
    assert partitions == [0, 1, 2, 3, 0, 1, 2, 3]


async def test_turns_of_one_topic_do_not_depend_on_another(http, topic):
    await http.post("/topics", json={"name": "u", "num_partitions": 2})
    mine = []
    for _ in range(4):
        mine.append((await http.post(topic, json={"value": 1})).json()["results"][0]["partition"])
        await http.post("/topics/u/messages", json={"value": 1})
    assert mine == [0, 1, 2, 3]


async def test_records_of_a_request_succeed_or_fail_one_by_one(http, topic, broker):
    await http.patch("/topics/t", json={"max_value_bytes": 10})
    messages = [
        {"value": "good", "partition": 1},
        {"value": "x" * 11, "partition": 1},
        {"value": {"base64": "!"}},
        {"value": "y", "partition": 4},
        {"value": "z", "key": "k" * 65_536},
        {"value": "fine", "partition": 1},
    ]
    response = await http.post(topic, json={"messages": messages})
    assert response.status_code == 207
    results = response.json()["results"]
    assert [result.get("code") for result in results] == [
        *(None, "record_too_large", "invalid_record", "unknown_partition", "record_too_large", None)
    ]
    assert [result.get("status") for result in results] == [None, 413, 400, 404, 413, None]
    assert [results[0]["offset"], results[5]["offset"]] == [0, 1]
    assert "the limit of t is 10" in results[1]["error"]
    assert "record 0" not in results[4]["error"]
    assert [record.value for record in await records(broker, 1)] == [b"good", b"fine"]


async def test_when_nothing_was_written_the_first_error_is_the_answer(http, topic):
    response = await http.post(topic, json={"messages": [{"value": "y", "partition": 4}, {"value": {"base64": "!"}}]})
    answer = response.json()
    assert (response.status_code, answer["status"], answer["code"]) == (404, 404, "unknown_partition")
    assert [result["status"] for result in answer["results"]] == [404, 400]


async def test_a_malformed_item_refuses_the_whole_request(http, topic, broker):
    response = await http.post(topic, json={"messages": [{"value": "a"}, {"value": "b", "partition": "x"}]})
    assert response.status_code == 400
    assert [partition.next_offset for partition in broker.partitions("t")] == [0, 0, 0, 0]


async def test_without_acks_the_offset_is_not_known_but_the_record_is_there(http, topic, broker):
    [result] = (await http.post(topic, json={"value": "v", "partition": 2, "acks": "none"})).json()["results"]
    assert result == {"partition": 2, "offset": None, "priority": 2}
    await broker.commit.drain()
    assert [record.value for record in await records(broker, 2)] == [b"v"]


async def test_acks_and_durability_of_a_request_are_for_records_that_have_none(http, topic, broker):
    body = {
        "acks": "none",
        "durability": "memory",
        "messages": [
            {"value": "a", "partition": 0},
            {"value": "b", "partition": 0, "acks": "leader"},
            {"value": "c", "partition": 0, "durability": "fsync", "acks": "all"},
        ],
    }
    results = (await http.post(topic, json=body)).json()["results"]
    assert [result["offset"] for result in results] == [None, 1, 2]
    assert [record.value for record in await records(broker, 0)] == [b"a", b"b", b"c"]


async def test_an_unconfirmed_record_that_is_refused_at_once_is_an_error_all_the_same(http, topic, broker):
    broker.guard.update(0.99)
    response = await http.post(topic, json={"value": "v", "acks": "none"})
    assert (response.status_code, response.json()["code"]) == (503, "disk_full")


async def test_a_second_record_with_the_same_id_is_not_written(http, topic, broker):
    first = (await http.post(topic, json={"value": "a", "id": "order-1", "partition": 0})).json()["results"]
    assert first == [{"partition": 0, "offset": 0, "priority": 2}]
    messages = [
        {"value": "b", "partition": 1},
        {"value": "c", "id": "order-1", "partition": 1},
        {"value": "d", "id": "order-2", "partition": 1},
        {"value": "e", "id": "order-2", "partition": 1},
    ]
    results = (await http.post(topic, json={"messages": messages})).json()["results"]
    assert [(result["partition"], result["offset"], result.get("duplicate")) for result in results] == [
        *((1, 0, None), (0, 0, True), (1, 1, None), (1, 1, True))
    ]
    assert [record.value for record in await records(broker, 1)] == [b"b", b"d"]
    [message] = (await http.get("/topics/t/partitions/0/messages")).json()["messages"]
    assert message["headers"] == {"goqueue-id": "order-1"}


async def test_a_record_with_something_beyond_its_limits_fails_alone(http, topic):
    wrong = [{"id": "ä" * 200}, {"id": ""}, {"priority": 5}, {"priority": -1}, {"partition": -1}, {"partition": 10_000}]
    messages = [{"value": "v", **one} for one in (*wrong, {"id": "fine", "priority": 4, "partition": 0})]
    response = await http.post(topic, json={"messages": messages})
    assert response.status_code == 207
    codes = [result.get("code") for result in response.json()["results"]]
    assert codes == ["invalid_record"] * 4 + ["unknown_partition"] * 2 + [None]


async def test_a_value_of_every_byte_is_read_back_the_same(http, topic):
    data = bytes(range(256)) * 10
    value = {"base64": base64.b64encode(data).decode()}
    await http.post(topic, json={"key": value, "value": value, "partition": 0})
    [message] = (await http.get("/topics/t/partitions/0/messages")).json()["messages"]
    assert (message["value"], message["key"]) == (value, value)
    assert (message["value_format"], message["key_format"]) == ("base64", "base64")
