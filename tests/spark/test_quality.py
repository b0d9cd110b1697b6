import json

import pytest
from pyarrow import parquet

from goqueue.client.schemas.sync import Registry, Schema
from goqueue.client.sync import Producer
from goqueue.errors import InvalidSchema
from goqueue.spark.pipelines import quality
from goqueue.spark.pipelines.skew import gini, lorenz
from goqueue.spark.pipelines.stretches import stretch_of
from goqueue.spark.pipelines.violations import found_faults, rules_from_registry, rules_from_text

RECORDS = "partition int, offset long, timestamp timestamp, key binary, value binary"
SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "lines": {"items": {"properties": {"sku": {"type": "string"}}}}},
    "required": ["id"],
}


@pytest.fixture
def values(spark):
    def make(texts):
        rows = [(0, at, None, b"k", text) for at, text in enumerate(texts)]
        return quality.values_of(spark.createDataFrame(rows, RECORDS)).persist()

    return make


def test_how_unevenly_records_are_spread_over_keys_is_one_number():
    even = [{"records": 5, "keys": 10}]
    uneven = [{"records": 1, "keys": 99}, {"records": 901, "keys": 1}]
    assert gini([]) == 0.0
    assert gini(even) == pytest.approx(0.0)
    assert gini(uneven) == pytest.approx(0.891)
    assert lorenz(uneven) == ([0.0, 0.99, 1.0], [0.0, 0.099, 1.0])


def test_fields_are_counted_in_the_objects_that_could_have_them(values):
    texts = [b'{"a": 1, "b": {"x": "s"}}', b'{"a": "one", "b": null}', b'{"b": {"y": [1]}}', b"[1]", b"\xff", None]
    frame = values(texts)
    found = {row.column: (row.objects, row.nulls, row.types) for row in quality.columns(frame).collect()}
    assert found == {
        "a": (3, 1, ["BIGINT", "STRING"]),
        "b": (3, 1, ["OBJECT"]),
        "b.x": (2, 1, ["STRING"]),
        "b.y": (2, 1, ["ARRAY"]),
    }
    totals = quality.totals(frame).first()
    assert (totals["records"], totals["null values"], totals["values that are no JSON"]) == (6, 1, 1)
    sizes = {row.up_to_bytes: row["values"] for row in quality.sizes(frame).collect()}
    assert sizes == {1: 1, 4: 1, 32: 3}


def test_a_schema_that_is_none_is_refused_before_anything_is_read():
    with pytest.raises(InvalidSchema, match=r"orders\.json is not a JSON schema"):
        rules_from_text('{"type": 5}', "orders.json")


def test_one_fault_is_told_of_a_value_that_has_too_many(values):
    rules = rules_from_text('{"items": {"type": "string"}}', "names.json")
    texts = [json.dumps(list(range(count))).encode() for count in (3, 200_000)]
    few, many = (row.faults for row in found_faults(values(texts), rules).orderBy("offset").collect())
    assert [(fault.path, fault.rule) for fault in few] == [("/*", "type")] * 3
    assert [(fault.path, fault.rule) for fault in many] == [("/*", "type")]


def test_the_quality_of_a_topic_is_told_with_examples(spark, server, topic, tmp_path):
    registry = Registry(f"http://{server.http}/schemas")
    number = registry.register(f"{topic}-value", Schema(json.dumps(SCHEMA), "JSON"))
    framed = b"\x00" + number.to_bytes(4, "big")
    good = [json.dumps({"id": at, "note": None}).encode() for at in range(6)]
    bad = [b'{"id": "x", "lines": [{"sku": "a"}, {"sku": 5}]}', framed + b'{"id": "y"}', b'{"note": "no id"}']
    with Producer(server.native) as producer:
        producer.send_many(topic, good, keys=[b"hot"] * 6, partition=0)
        producer.send_many(topic, [*bad, b"no json", None], keys=[b"k1", b"k2", b"k3", None, b"hot"], partition=1)
    rules = rules_from_registry(registry, f"{topic}-value")
    found = quality.run(spark, stretch_of(server.native, topic), tmp_path, rules=rules)
    assert (found.records, found.null_values, found.unparsable, found.violating) == (11, 1, 1, 3)
    assert (found.keys, found.null_keys, found.top_key_share) == (4, 1, 0.7)
    assert found.gini == pytest.approx(0.45)
    broken = {(one["path"], one["rule"]): (one["values"], sorted(one["examples"])) for one in found.violations}
    assert broken == {
        ("/id", "type"): (2, ["1/0", "1/1"]),
        ("/lines/*/sku", "type"): (1, ["1/0"]),
        ("/", "required"): (1, ["1/2"]),
    }
    assert {one["column"]: one["nulls"] for one in found.columns} == {"id": 1, "lines": 8, "note": 8}
    page = (tmp_path / f"quality-{topic}.html").read_text()
    assert page.count("<svg") == 6
    assert json.loads((tmp_path / f"quality-{topic}.json").read_text())["Partitions"][1]["unparsable"] == 1
    assert parquet.read_table(tmp_path / f"quality-{topic}-violations.parquet").num_rows == 3
