import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

import pytest

from goqueue.client.schemas.sync import (
    AvroSerializer,
    JsonSerializer,
    Reference,
    Registry,
    Schema,
    topic_name,
)
from goqueue.errors import InvalidRequest, InvalidSchema, UnknownSubject
from goqueue.spark import from_goqueue, read_typed, reason, type_of
from goqueue.spark.shapes import message_class


@pytest.fixture
def url(server) -> str:
    return f"http://{server.http}/schemas"


@pytest.fixture
def registry(url) -> Registry:
    return Registry(url, retries=0)


@pytest.fixture
def typed(spark, url):
    """Values, framed or not, as rows of their subject's type."""

    def decode(values, subject, **how):
        frame = spark.createDataFrame([(value,) for value in values], "value binary").coalesce(1)
        made = frame.select(from_goqueue("value", subject, registry=url, **how).alias("value"))
        return [row.value for row in made.collect()]

    return decode


def record(name, *fields):
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t, **more} for n, t, more in fields]}


OLD = record("Order", ("id", "int", {}), ("colour", "string", {"default": "red"}))
NEW = record(
    "Order", ("id", "long", {}), ("note", ["null", "string"], {"default": None}), ("size", "int", {"default": 3})
)
EVERYTHING = record(
    "Everything",
    ("flag", "boolean", {}),
    ("ratio", "float", {}),
    ("raw", "bytes", {}),
    ("kind", {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}, {}),
    ("day", {"type": "int", "logicalType": "date"}, {}),
    ("at", {"type": "long", "logicalType": "timestamp-micros"}, {}),
    ("here", {"type": "long", "logicalType": "local-timestamp-millis"}, {}),
    ("clock", {"type": "long", "logicalType": "time-micros"}, {}),
    ("price", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, {}),
    ("who", {"type": "string", "logicalType": "uuid"}, {}),
    ("lines", {"type": "array", "items": record("Line", ("sku", "string", {}), ("n", ["null", "int"], {}))}, {}),
    ("tags", {"type": "map", "values": "Line"}, {}),
    ("number", ["int", "long"], {}),
    ("either", ["null", "string", "long"], {}),
)


def test_every_type_of_avro_has_its_type_of_spark(typed, registry, url, topic):
    value = {
        "flag": True,
        "ratio": 0.5,
        "raw": b"\x00",
        "kind": "B",
        "day": date(2024, 2, 29),
        "at": datetime(2024, 2, 29, 12, 0, 0, 123456, UTC),
        "here": datetime(2024, 2, 29, 12, 0, 0, 123000),
        "clock": time(0, 0, 1, 5),
        "price": Decimal("12.34"),
        "who": UUID(int=7),
        "lines": [{"sku": "a", "n": None}, {"sku": "b", "n": 2}],
        "tags": {"x": {"sku": "c", "n": 1}},
        "number": 1 << 40,
        "either": 5,
    }
    framed = AvroSerializer(registry, EVERYTHING, subject_strategy=topic_name).encode(topic, value)
    assert type_of(topic, registry=url).simpleString() == (
        "struct<flag:boolean,ratio:float,raw:binary,kind:string,day:date,at:timestamp,here:timestamp_ntz,clock:bigint,"
        "price:decimal(9,2),who:string,lines:array<struct<sku:string,n:int>>,tags:map<string,struct<sku:string,n:int>>,"
        "number:bigint,either:struct<member0:string,member1:bigint>>"
    )
    row, gone = typed([framed, None], topic)
    assert gone is None
    found = row.asDict(recursive=True)
    assert found.pop("at").replace(tzinfo=UTC) == value.pop("at")
    assert found.pop("raw") == bytearray(value.pop("raw"))
    assert found == value | {
        "clock": 1_000_005,
        "who": str(UUID(int=7)),
        "either": {"member0": None, "member1": 5},
    }


def test_older_and_newer_values_come_as_the_reader_has_it(table, producer, typed, registry, url, topic):
    registry.set_config(topic, compatibility="NONE")
    old, new = (AvroSerializer(registry, one, subject_strategy=topic_name) for one in (OLD, NEW))
    values = [old.encode(topic, {"id": 1, "colour": "blue"}), new.encode(topic, {"id": 2, "note": "n", "size": 9})]
    producer.send_many(topic, values, partition=0)
    rows = read_typed(table(subscribe=topic).load(), topic, registry=url)
    assert rows.columns[-3:] == ["id", "note", "size"]
    assert "value" not in rows.columns
    found = rows.orderBy("offset").select("partition", "offset", "id", "note", "size").collect()
    assert [tuple(row) for row in found] == [(0, 0, 1, None, 3), (0, 1, 2, "n", 9)]
    assert [tuple(row) for row in typed(values[:1], topic, version=1)] == [(1, "blue")]


def test_a_field_with_the_name_of_a_column_of_the_record_comes_first(table, producer, registry, url, topic):
    schema = record("Event", ("key", "string", {}), ("timestamp", "long", {}))
    serializer = AvroSerializer(registry, schema, subject_strategy=topic_name)
    producer.send_many(topic, [serializer.encode(topic, {"key": "inner", "timestamp": 5})], keys=[b"outer"])
    (row,) = read_typed(table(subscribe=topic).load(), topic, registry=url).collect()
    assert (row.key, row.timestamp, bytes(row.record_key)) == ("inner", 5, b"outer")
    assert isinstance(row.record_timestamp, datetime)


JSON_OLD = {"type": "object", "properties": {"id": {"type": "integer"}, "gone": {"type": "string"}}, "required": ["id"]}
JSON_NEW = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "price": {"type": "number", "default": 1},
        "at": {"type": "string", "format": "date-time"},
        "day": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
        "tags": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "open": {},
    },
    "$defs": {
        "line": {"type": "object", "properties": {"sku": {"enum": ["a", "b"]}, "n": {"type": ["null", "integer"]}}}
    },
}


def test_json_comes_typed_whether_it_is_framed_or_plain(typed, registry, url, topic):
    registry.set_config(topic, compatibility="NONE")
    old, new = (JsonSerializer(registry, one, subject_strategy=topic_name) for one in (JSON_OLD, JSON_NEW))
    written = old.encode(topic, {"id": 1, "gone": "x"})
    value = {
        "id": 2,
        "price": 3,
        "at": "2024-02-29T12:00:00Z",
        "day": "2024-02-29",
        "lines": [{"sku": "a", "n": 1}],
        "tags": {"x": True},
        "open": [1, {"a": None}],
    }
    rows = typed([written, new.encode(topic, value), json.dumps(value).encode(), b'{"id": 4}'], topic)
    assert rows[0].asDict() == {
        "id": 1, "price": 1.0, "at": None, "day": None, "lines": None, "tags": None, "open": None
    }  # fmt: skip
    assert rows[1] == rows[2]
    assert (rows[1].id, rows[1].price, rows[1].day, rows[1].tags) == (2, 3.0, date(2024, 2, 29), {"x": True})
    assert rows[1].at == datetime(2024, 2, 29, 12)
    assert (rows[1].lines[0].sku, rows[1].lines[0].n, rows[1].open) == ("a", 1, '[1,{"a":null}]')
    assert (rows[3].id, rows[3].price) == (4, 1.0)


MONEY = 'syntax = "proto3"; package stall; message Money { int64 cents = 1; }'
PROTO = """
syntax = "proto3"; package stall;
import "stall/money.proto"; import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto"; import "google/protobuf/struct.proto";
message Order {
  int32 id = 1; Money price = 2; google.protobuf.Timestamp at = 3; repeated Line lines = 4;
  map<string, Money> parts = 5;
  enum State { NEW = 0; DONE = 1; } State state = 6; uint64 large = 7; optional string note = 8; bytes raw = 9;
  google.protobuf.Duration took = 10; google.protobuf.Int32Value maybe = 11; google.protobuf.Struct free = 12;
  oneof way { string by = 13; int32 gate = 14; }
  message Line { string sku = 1; }
}
message Other { string text = 1; }
"""


def test_protobuf_comes_typed_with_what_its_file_imports(typed, registry, url, topic):
    registry.register(f"{topic}-money", Schema(MONEY, "PROTOBUF"))
    references = (Reference("stall/money.proto", f"{topic}-money", 1),)
    older = PROTO.replace("optional string note = 8;", "").replace("Other", "Another")
    registry.set_config(topic, compatibility="NONE")
    ids = [registry.register(topic, Schema(text, "PROTOBUF", references)) for text in (older, PROTO)]
    kind = message_class(registry, ids[1], "Order")
    order = kind(id=5, state=1, large=2**64 - 1, raw=b"\x01", gate=3)
    order.price.cents = -4
    order.at.FromMicroseconds(1_000_000_000_000_001)
    order.took.FromMicroseconds(1_500_000)
    order.maybe.value = 0
    order.free["a"] = "b"
    order.lines.add(sku="x")
    order.parts["p"].cents = 7
    body = order.SerializeToString()
    head = [b"\x00" + number.to_bytes(4, "big") + b"\x00" for number in ids]
    new, old = typed([head[1] + body, head[0] + kind(id=6).SerializeToString()], topic)
    assert (new.id, new.price.cents, new.lines[0].sku, new.parts["p"].cents) == (5, -4, "x", 7)
    assert (new.state, new.large, bytes(new.raw), new.note) == ("DONE", Decimal(2**64 - 1), b"\x01", None)
    assert (new.took, new.maybe, json.loads(new.free)) == (timedelta(seconds=1.5), 0, {"a": "b"})
    assert (new.by, new.gate) == (None, 3)
    assert new.at == datetime(2001, 9, 9, 1, 46, 40, 1)
    assert (old.id, old.price, old.lines, old.maybe, old.state) == (6, None, [], None, "NEW")
    other = head[1][:-1] + b"\x02\x02" + b"\x0a\x02hi"
    assert [row.text for row in typed([other], topic, message="Other")] == ["hi"]
    with pytest.raises(InvalidSchema, match="no message Nothing") as refused:
        typed([], topic, message="Nothing")
    assert refused.value.hint == "there are: Order, Other"


def test_what_cannot_be_decoded_stops_the_job_in_words_or_is_null(table, producer, typed, registry, url, topic):
    subject = f"{topic}-value"
    serializer = AvroSerializer(registry, OLD)
    good = serializer.encode(topic, {"id": 1, "colour": "red"})
    unknown = b"\x00\x7f\x00\x00\x00x"
    broken = [good[:6], b"plain", unknown, unknown, good + b"x", b""]
    rows = typed([good, *broken, good], subject, mode="permissive")
    assert [row and row.id for row in rows] == [1, *[None] * len(broken), 1]
    producer.send_many(topic, [good, good[:6]], partition=1)
    with pytest.raises(Exception) as failed:
        read_typed(table(subscribe=topic).load(), subject, registry=url).collect()
    said = reason(failed.value)
    written = int.from_bytes(good[1:5], "big")
    assert said.startswith(f"{topic}/1 at offset 1: ")
    assert f"written with schema {written}, " in said
    assert f"; read with schema {written}, " in said
    with pytest.raises(Exception) as failed:
        typed([unknown], subject)
    assert f"written with schema {0x7F000000}, which the registry at {url} does not have" in reason(failed.value)


def test_plain_json_that_does_not_fit_is_named_with_its_schema(typed, registry, topic):
    number = registry.register(topic, Schema(json.dumps(JSON_NEW), "JSON"))
    broken = [b'{"id": "x"}', b"{", b'{"id": 99999999999999999999}', b'{"at": "yesterday"}', b"[]"]
    rows = typed([b'{"id": 1.0}', *broken], topic, mode="permissive")
    assert [row and row.id for row in rows] == [1, *[None] * len(broken)]
    with pytest.raises(Exception) as failed:
        typed(broken[:1], topic)
    assert "at /id" in reason(failed.value)
    assert f"plain JSON; read with schema {number}" in reason(failed.value)


def test_a_schema_that_cannot_be_a_column_is_refused_before_anything_runs(typed, registry, topic):
    with pytest.raises(UnknownSubject):
        typed([], topic)
    with pytest.raises(InvalidRequest, match="needs one schema"):
        typed([], None)
    registry.register(topic, Schema(json.dumps(record("Node", ("next", ["null", "Node"], {})))))
    with pytest.raises(InvalidSchema, match="the record Node holds itself"):
        typed([], topic)
    with pytest.raises(InvalidRequest, match="mode = dropmalformed"):
        typed([], topic, mode="dropmalformed")


def test_values_made_to_exhaust_a_task_are_null_or_stop_the_job_in_words(typed, registry, url, topic):
    nulls = registry.register(f"{topic}-avro", Schema('{"type": "array", "items": "null"}'))
    few, billions = (b"\0" + nulls.to_bytes(4, "big") + data for data in (b"\x04\0", bytes.fromhex("80808080804000")))
    assert typed([few, billions], f"{topic}-avro", mode="permissive") == [[None, None], None]
    with pytest.raises(Exception) as failed:
        typed([billions], f"{topic}-avro")
    assert "the decoded value would take more than 256 MiB of memory, which is the limit" in reason(failed.value)
    registry.register(f"{topic}-json", Schema("{}", "JSON"))
    deep = b"[" * 101 + b"]" * 101
    assert typed([b"[]", deep], f"{topic}-json", mode="permissive") == ["[]", None]
    wide = " ".join(f"int32 f{number} = {number};" for number in range(1, 2001))
    text = f'syntax = "proto3"; message Root {{ repeated Wide wide = 1; }} message Wide {{ {wide} }}'
    head = b"\0" + registry.register(f"{topic}-proto", Schema(text, "PROTOBUF")).to_bytes(4, "big") + b"\0"
    found = typed([head, head + b"\x0a\x00" * 10_000], f"{topic}-proto", mode="permissive")
    assert [row is None for row in found] == [False, True]
