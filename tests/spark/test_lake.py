import json
import shutil
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from goqueue.client.schemas.sync import AvroSerializer, Registry, Schema
from goqueue.errors import AlreadyDecided, GoQueueError
from goqueue.spark.pipelines.lake import LakeOptions, append, dated, run
from goqueue.spark.pipelines.lake_audit import verify
from goqueue.spark.pipelines.lake_compaction import compact, small_files, stage_compaction
from goqueue.spark.pipelines.lake_table import OffsetRange, Table

COLUMNS = "partition int, offset long, timestamp timestamp, key binary, value binary"


@pytest.fixture
def lake(tmp_path) -> Path:
    return tmp_path / "a lake"


@pytest.fixture
def load(spark, server, lake, topic):
    def once(**options):
        return run(spark, LakeOptions(server=server.native, topics=(topic,), to=str(lake), **options)).topics[0]

    return once


@pytest.fixture
def table(spark, lake):
    """A table that batches are added to by hand: partition 0, as many rows as there are days in the batch."""

    def made(*batches):
        found = Table(spark, str(lake), "events")
        first = 0
        for number, days in enumerate(batches):
            rows = [
                (0, first + at, datetime.fromisoformat(f"{day}T23:59:59.999999+00:00"), None, b"v")
                for at, day in enumerate(days)
            ]
            frame = dated(spark.createDataFrame(rows, COLUMNS).repartition(1))
            append(found, frame, f"batch-query-{number:012d}", (OffsetRange(0, first, first + len(days)),))
            first += len(days)
        return found

    return made


def values(spark, folder):
    return sorted(bytes(row.value) for row in spark.read.parquet(str(folder)).select("value").collect())


def entries(lake, topic):
    return [json.loads(path.read_text()) for path in sorted((lake / "_manifest" / topic).glob("*.jsonl"))]


def remove_entry(lake, topic, name):
    (lake / "_manifest" / topic / f"{name}.jsonl").unlink()
    (lake / "_manifest" / topic / f".{name}.jsonl.crc").unlink(missing_ok=True)


def forget_last_batch(lake, topic):
    """As if the driver had died before Spark noted that the batch was done."""
    commits = lake / "_checkpoints" / topic / "commits"
    last = max(commits.glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    (commits / f".{last.name}.crc").unlink(missing_ok=True)


def test_a_topic_becomes_a_table_by_date_that_later_runs_go_on_with(spark, load, lake, producer, topic):
    producer.send_many(topic, [b"%02d" % number for number in range(25)], keys=[b"k"] * 25)
    first = load(batch_records=10)
    assert (first.batches, first.rows) == (3, 25)
    producer.send_many(topic, [b"25", b"26"])
    assert load().rows == 2
    # The driver dies before Spark has noted that the batch was done: it is repeated, and counts once.
    forget_last_batch(lake, topic)
    load()
    # Without a checkpoint the manifest says where to go on.
    shutil.rmtree(lake / "_checkpoints")
    producer.send_many(topic, [b"27"])
    assert load().rows == 1
    assert values(spark, lake / topic) == [b"%02d" % number for number in range(28)]
    assert all(path.name.startswith("date=") for path in (lake / topic).iterdir())
    noted = entries(lake, topic)
    assert sum(one["rows"] for one in noted) == 28
    assert sum(file["rows"] for one in noted for file in one["added"]) == 28
    checked = verify(Table(spark, str(lake), topic))
    assert (checked.rows, checked.batches, checked.problems) == (28, 5, ())


def test_a_batch_that_is_repeated_is_there_once_wherever_its_job_died(spark, lake, table):
    made = table(["2025-01-01"])
    again = dated(spark.createDataFrame([(0, 0, datetime(2025, 1, 1), None, b"v")], COLUMNS))
    (name,) = made.names("batch")
    entry = made.entry(name)
    place, staging = lake / "events" / entry.added[0].path, lake / "_staging" / "events"

    # Behind the entry, before its file was moved.
    (staging / entry.staged / entry.added[0].path).parent.mkdir(parents=True)
    shutil.move(place, staging / entry.staged / entry.added[0].path)
    assert append(made, again, name, entry.ranges) == entry
    assert values(spark, lake / "events") == [b"v"]

    # Before the entry: what was staged counts for nothing, and goes.
    place.unlink()
    remove_entry(lake, "events", name)
    assert made.stage(again, name)[1][0].rows == 1
    append(made, again, name, entry.ranges)
    assert values(spark, lake / "events") == [b"v"]
    assert list(staging.iterdir()) == []


def test_values_with_a_schema_are_typed_and_those_that_do_not_fit_are_kept(spark, load, lake, producer, topic):
    producer.send_many(topic, [b'{"id": 7, "item": {"name": "x"}}', b"no json", None])
    load(schemas={topic: "id long, item struct<name:string>"})
    rows = spark.read.parquet(str(lake / topic)).collect()
    assert sorted((row.value.id, row.value.item.name) for row in rows if row.value) == [(7, "x")]
    assert sorted(bytes(row.raw) for row in rows if row.raw is not None) == [b"no json"]
    assert len(rows) == 3
    with pytest.raises(GoQueueError, match=r"another type for value\.id"):
        load(schemas={topic: "id string"})
    with pytest.raises(GoQueueError, match="no list of columns"):
        load(schemas={topic: "id id id"})


def test_values_are_typed_by_the_schema_that_the_registry_has(spark, server, load, lake, producer, topic):
    url = f"http://{server.http}/schemas"
    schema = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    order = AvroSerializer(Registry(url), Schema(json.dumps(schema))).encode(topic, {"id": 7})
    producer.send_many(topic, [order, b"no avro", None])
    load(registry=url)
    rows = spark.read.parquet(str(lake / topic)).collect()
    assert len(rows) == 3
    assert [(row.value.id, row.raw) for row in rows if row.value] == [(7, None)]
    assert [bytes(row.raw) for row in rows if row.raw] == [b"no avro"]


def test_late_rows_land_in_the_folder_of_their_own_date(spark, lake, table):
    made = table(["2025-01-02", "2025-01-03"], ["2025-01-01", "2025-01-02"])
    rows = spark.read.parquet(str(lake / "events")).groupBy("date").agg(F.sort_array(F.collect_list("offset")))
    assert {str(row[0]): row[1] for row in rows.collect()} == {
        "2025-01-01": [2],
        "2025-01-02": [0, 3],
        "2025-01-03": [1],
    }
    assert verify(made).is_right


def test_compaction_leaves_every_row_in_fewer_files_also_when_it_dies_on_the_way(spark, lake, table):
    made = table(["2025-01-01", "2025-01-02"], ["2025-01-01", "2025-01-02"], ["2025-01-01"])
    place = lake / "events"

    def offsets():
        return sorted(row.offset for row in spark.read.parquet(str(place)).select("offset").collect())

    # Dead before it is committed: nothing has happened.
    group = small_files(made, 1 << 20).first()
    assert stage_compaction(made, group) is not None
    assert offsets() == [0, 1, 2, 3, 4]
    assert verify(made).is_right

    # Dead right behind: what is left to do is done by whoever comes next.
    entry = stage_compaction(made, group)
    made.commit(entry)
    with pytest.raises(AlreadyDecided):
        made.commit(entry)
    (place / entry.removed[0]).unlink()
    assert verify(made).is_right
    assert offsets() == [0, 1, 2, 3, 4]
    assert len(list(place.glob("date=2025-01-01/*.parquet"))) == 1

    done = compact(made)
    assert (done.dates, done.files_before, done.files_after, done.rows) == (1, 2, 1, 2)
    assert compact(made).dates == 0
    assert offsets() == [0, 1, 2, 3, 4]
    assert list((lake / "_staging" / "events").iterdir()) == []
    checked = verify(made)
    assert (checked.files, checked.rows, checked.batches, checked.problems) == (2, 5, 3, ())


def test_checking_finds_what_is_missing_what_is_twice_and_what_was_left_out(spark, lake, table):
    made = table(["2025-01-01"], ["2025-01-02"], ["2025-01-03"])
    place = lake / "events"
    (first,) = place.glob("date=2025-01-01/*.parquet")
    (second,) = place.glob("date=2025-01-02/*.parquet")
    first.unlink()
    shutil.copy(second, second.with_name("copy.parquet"))
    name = made.names("batch")[2]
    remove_entry(lake, "events", name)
    append(made, spark.createDataFrame([], f"{COLUMNS}, date date"), name, (OffsetRange(0, 5, 7),))
    found = {(one.kind, one.what.split(" ")[0]) for one in verify(made).problems}
    assert found == {
        ("missing file", f"date=2025-01-01/{first.name}"),
        ("unknown file", "date=2025-01-02/copy.parquet"),
        ("unknown file", f"date=2025-01-03/{next(place.glob('date=2025-01-03/*.parquet')).name}"),
        ("duplicate", "partition"),
        ("gap", "partition"),
    }
