import json
from datetime import datetime

import pytest

from goqueue.errors import GoQueueError
from goqueue.spark.pipelines.compact import CompactOptions, latest, run


@pytest.fixture
def compacted(spark, server, topic, tmp_path):
    def table(**options):
        given = CompactOptions(topic=topic, to=str(tmp_path / "table"), server=server.native, **options)
        done = run(spark, given)
        return done, {bytes(row.key): row.value for row in spark.read.parquet(given.to).collect()}

    return table


def test_the_last_record_of_a_key_counts_and_time_decides_between_partitions(spark):
    at = [datetime(2025, 1, 1, 0, minute) for minute in range(4)]
    rows = [
        (0, 0, at[0], b"moved", b"old"),
        (1, 0, at[1], b"moved", b"new"),
        # Within a partition the clock may go back.
        (0, 1, at[3], b"same", b"first"),
        (0, 2, at[2], b"same", b"second"),
        (0, 3, at[2], b"gone", None),
        (0, 4, at[2], None, b"no key"),
    ]
    frame = spark.createDataFrame(
        rows, "partition int, offset long, timestamp timestamp, key binary, value binary"
    ).repartition(3)
    found = {bytes(row.key): row.value and bytes(row.value) for row in latest(frame).collect()}
    assert found == {b"moved": b"new", b"same": b"second", b"gone": None}


def test_a_topic_becomes_the_table_of_its_last_values_as_of_a_place(compacted, producer, topic, tmp_path):
    first = producer.send_many(topic, [b"1", b"2", b"3"], keys=[b"a", b"b", b"c"])
    ends = {0: 0, 1: 0}
    for one in first:
        ends[one.partition] = max(ends[one.partition], one.offset + 1)
    producer.send_many(topic, [b"10", None, b"x"], keys=[b"a", b"b", None])
    done, rows = compacted()
    assert {key: bytes(value) for key, value in rows.items()} == {b"a": b"10", b"c": b"3"}
    assert (done.records, done.without_key, done.removed, done.rows) == (6, 1, 1, 2)
    assert json.loads((tmp_path / "table" / "_as_of.json").read_text())["rows"] == 2
    with pytest.raises(GoQueueError, match="is there already"):
        compacted()
    done, rows = compacted(at=ends, overwrite=True)
    assert {key: bytes(value) for key, value in rows.items()} == {b"a": b"1", b"b": b"2", b"c": b"3"}
    assert done.ends == ends
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


def test_values_may_be_typed_and_a_topic_may_be_empty(compacted, producer, topic):
    done, rows = compacted()
    assert (done.records, done.rows, rows) == (0, 0, {})
    producer.send_many(topic, [b'{"id": 7}', b"nothing"], keys=[b"a", b"b"])
    done, rows = compacted(overwrite=True, columns="id long")
    assert rows[b"a"].id == 7
    assert rows[b"b"] is None
    assert done.rows == 2
