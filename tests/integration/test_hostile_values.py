"""A broker and its clients among values that were made to exhaust whatever decodes them."""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from goqueue.client.schemas.sync import AvroDeserializer, JsonDeserializer, Registry
from goqueue.client.sync import Producer
from goqueue.errors import DecodingLimit, SchemaMismatch, SchemaViolation
from tests.behaviour.serving import Server, running_server
from tests.unit.core.schemas.hostile import HOSTILE, Hostile

MOST_GROWTH = 160 << 20
"""Bytes of memory; without bounds it is gigabytes."""
ANSWERS_WITHIN_S = 2.0
THE_RECORD = bytes.fromhex("80808080804000")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("hostile") / "broker") as running:
        yield running


@pytest.fixture(scope="module")
def http(server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://{server.http}", trust_env=False, timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def ids(http: httpx.Client) -> dict[str, int]:
    """Ids of the schemas, each in a subject of its own."""
    found = {}
    for number, one in enumerate(HOSTILE):
        body = {"schema": one.schema, "schemaType": one.kind}
        answer = http.post(f"/schemas/subjects/hostile-{number}/versions", json=body)
        assert answer.status_code == 200, answer.text
        found[one.name] = answer.json()["id"]
    return found


def create(http: httpx.Client, name: str, **config: str) -> None:
    http.post("/topics", json={"name": name, "num_partitions": 1, **config}).raise_for_status()


def framed(ids: dict[str, int], one: Hostile) -> bytes:
    return b"\0" + ids[one.name].to_bytes(4, "big") + one.payload


@contextmanager
def alive_and_small(server: Server) -> Iterator[None]:
    """All the time inside, the broker answers, and takes no more memory than before, or not much."""
    longest, stop = [0.0], threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=f"http://{server.http}", trust_env=False, timeout=30) as client:
            while not stop.is_set():
                began = time.monotonic()
                client.get("/healthz").raise_for_status()
                longest.append(time.monotonic() - began)

    status = Path(f"/proc/{server.pid}/status")
    before = resident(status.read_text())
    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        stop.set()
        asking.join()
    assert max(longest) < ANSWERS_WITHIN_S
    assert peak(status.read_text()) < max(before + MOST_GROWTH, MOST_GROWTH)


def resident(status: str) -> int:
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) << 10


def peak(status: str) -> int:
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) << 10


def test_a_record_of_12_bytes_does_not_freeze_the_console(server, http, ids):
    create(http, "twelve", schema_validation="off")
    value = b"\0" + ids["billions of nulls"].to_bytes(4, "big") + THE_RECORD
    assert len(value) == 12
    with Producer(server.native) as producer:
        producer.send("twelve", value)
    with alive_and_small(server):
        page = http.get("/console/topics/twelve/records/0/0").text
        assert http.get("/console/topics/twelve/records").status_code == 200
    assert "the decoded value would take more than 8 MiB of memory, which is the limit" in page
    assert value.hex(" ") in page


def test_a_page_of_hostile_records_is_shown_as_bytes_with_the_reasons(server, http, ids):
    create(http, "page", schema_validation="off")
    with Producer(server.native) as producer:
        for one in HOSTILE:
            producer.send("page", framed(ids, one))
    with alive_and_small(server):
        assert http.get("/console/topics/page/records").text.count("<tr") > len(HOSTILE) / 2
        for offset, one in enumerate(HOSTILE):
            page = http.get(f"/console/topics/page/records/0/{offset}").text
            assert f"not decoded by schema {ids[one.name]}: " in page, one.name
    server.check_log()


def test_hostile_values_are_refused_where_values_are_checked(server, http, ids):
    with Producer(server.native) as producer, alive_and_small(server):
        for number, one in enumerate(HOSTILE):
            create(http, f"checked-{number}", schema_validation="on", schema_subject=f"hostile-{number}")
            with pytest.raises(SchemaViolation, match=re.escape(one.reason)):
                producer.send(f"checked-{number}", framed(ids, one)).result()


FLAGS = 'syntax = "proto3"; message Flags { repeated bool flag = 1; repeated Flags more = 2; }'
SLOW = {
    "unknown fields": ("PROTOBUF", FLAGS, b"\0" + b"\x78\0" * 4_000_000),
    "flags that are not packed": ("PROTOBUF", FLAGS, b"\0" + b"\x08\0" * 4_000_000),
    "groups": ("PROTOBUF", FLAGS, b"\0" + (b"\x7b" * 90 + b"\x7c" * 90) * 40_000),
    "blocks of one null": ("AVRO", '{"type": "array", "items": "null"}', b"\2" * 6_000_000 + b"\0"),
}
"""Values that take seconds to check."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_the_broker_answers_while_a_value_is_checked_that_takes_long(server, http, name):
    kind, schema, payload = SLOW[name]
    topic = name.replace(" ", "-")
    made = http.post(f"/schemas/subjects/{topic}/versions", json={"schema": schema, "schemaType": kind})
    create(http, topic, schema_validation="on", schema_subject=topic)
    value = b"\0" + made.json()["id"].to_bytes(4, "big") + payload
    with Producer(server.native) as producer, alive_and_small(server), suppress(SchemaViolation):
        producer.send(topic, value).result()
    server.check_log()


LIST = {"type": "array", "items": {"$ref": "#/definitions/one"}}
UNENDING = {
    "many items": ({"items": {"type": "string"}}, list(range(300_000))),
    "many alternatives": (
        {"additionalProperties": {"anyOf": [{"const": n} for n in range(200)]}},
        {f"k{n}": -1 for n in range(20_000)},
    ),
    "alternatives within each other": (
        {"$ref": "#/definitions/one", "definitions": {"one": {"anyOf": [LIST, LIST]}}},
        json.loads("[" * 60 + "1" + "]" * 60),
    ),
}
"""JSON schemas, and values that do not fit them for thousands of reasons, or for many more."""


@pytest.mark.parametrize("name", UNENDING)
def test_a_value_that_does_not_fit_for_endless_reasons_is_refused_for_one(server, http, name):
    schema, value = UNENDING[name]
    topic = name.replace(" ", "-")
    body = {"schema": json.dumps(schema), "schemaType": "JSON"}
    made = http.post(f"/schemas/subjects/{topic}/versions", json=body)
    create(http, topic, schema_validation="on", schema_subject=topic)
    framed_value = b"\0" + made.json()["id"].to_bytes(4, "big") + json.dumps(value).encode()
    with Producer(server.native) as producer, alive_and_small(server), pytest.raises(SchemaViolation):
        producer.send(topic, framed_value).result()
    server.check_log()


@pytest.mark.parametrize("name", ["many items", "many alternatives"])
def test_a_deserializer_tells_one_of_many_reasons_at_once(http, name):
    schema, value = UNENDING[name]
    body = {"schema": json.dumps(schema), "schemaType": "JSON"}
    made = http.post(f"/schemas/subjects/read-{name.replace(' ', '-')}/versions", json=body)
    data = b"\0" + made.json()["id"].to_bytes(4, "big") + json.dumps(value).encode()
    decoder = JsonDeserializer(Registry(f"{http.base_url}/schemas"))
    began = time.perf_counter()
    with pytest.raises(SchemaMismatch):
        decoder.decode(data)
    assert time.perf_counter() - began < ANSWERS_WITHIN_S


def test_half_a_character_in_json_is_shown_by_its_name(server, http):
    made = http.post("/schemas/subjects/halves/versions", json={"schema": "{}", "schemaType": "JSON"})
    create(http, "halves", schema_validation="off")
    with Producer(server.native) as producer:
        producer.send("halves", b"\0" + made.json()["id"].to_bytes(4, "big") + b'{"half": "\\ud800"}')
    assert "\\ud800" in http.get("/console/topics/halves/records/0/0").text
    assert http.get("/console/topics/halves/records").status_code == 200
    server.check_log()


@pytest.mark.parametrize("one", [one for one in HOSTILE if one.kind != "PROTOBUF"], ids=lambda one: one.name)
def test_a_deserializer_refuses_a_hostile_value_before_it_is_decoded(http, ids, one):
    registry = Registry(f"{http.base_url}/schemas")
    decoder = (AvroDeserializer if one.kind == "AVRO" else JsonDeserializer)(registry)
    began = time.perf_counter()
    with pytest.raises(SchemaMismatch) as caught:
        decoder.decode(framed(ids, one))
    assert time.perf_counter() - began < ANSWERS_WITHIN_S
    if one.reason in ("more than", "nested", "decimal"):
        assert isinstance(caught.value, DecodingLimit)
        assert one.reason in caught.value.message
