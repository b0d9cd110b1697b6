import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import functions as F

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


def entries(folder):
    return [json.loads(path.read_text()) for path in sorted((folder / "_manifest").glob("*.jsonl"))]


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
    assert load().rows == 0
    assert values(spark, lake / topic) == [b"%02d" % number for number in range(27)]
    days = {path.name for path in (lake / topic).iterdir() if path.name[0] not in "._"}
    assert days <= {f"date={datetime.now(UTC):%Y-%m-%d}", *days} and all(day.startswith("date=") for day in days)
    noted = entries(lake / topic)
    assert sum(one["rows"] for one in noted) == 27
    assert sum(file["rows"] for one in noted for file in one["added"]) == 27
    checked = verify(Table(spark, str(lake), topic))
    assert (checked.rows, checked.batches, checked.problems) == (27, 4, ())


def test_a_batch_that_spark_repeats_is_there_once_wherever_the_driver_died(spark, load, lake, producer, topic):
    producer.send_many(topic, [b"a", b"b", b"c"], partition=0)
    load()
    table = Table(spark, str(lake), topic)
    (entry,) = (table.entry(name) for name in table.names("batch"))
    place, staging = lake / topic, lake / "_staging" / topic

    # Behind everything.
    forget_last_batch(lake, topic)
    load()
    assert values(spark, place) == [b"a", b"b", b"c"]

    # Behind the entry, before the files were moved.
    for file in entry.added:
        (staging / entry.staged / file.path).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(place / file.path, staging / entry.staged / file.path)
    forget_last_batch(lake, topic)
    load()
    assert values(spark, place) == [b"a", b"b", b"c"]

    # Before the entry: what was staged counts for nothing, and goes.
    shutil.copytree(place / entry.added[0].path.split("/")[0], staging / f"{entry.name}~dead" / "date=2020-01-01")
    for file in entry.added:
        (place / file.path).unlink()
    (place / "_manifest" / f"{entry.name}.jsonl").unlink()
    forget_last_batch(lake, topic)
    load()
    assert values(spark, place) == [b"a", b"b", b"c"]
    assert list(staging.iterdir()) == []
    assert verify(table).is_right


def test_a_table_whose_checkpoint_is_gone_is_continued_from_its_manifest(spark, load, lake, producer, topic):
    producer.send_many(topic, [b"a", b"b", b"c"])
    load()
    shutil.rmtree(lake / "_checkpoints")
    producer.send_many(topic, [b"d"])
    assert load().rows == 1
    assert values(spark, lake / topic) == [b"a", b"b", b"c", b"d"]
    assert verify(Table(spark, str(lake), topic)).is_right


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
    (place / "_manifest" / f"{name}.jsonl").unlink()
    (place / "_manifest" / f".{name}.jsonl.crc").unlink(missing_ok=True)
    append(made, spark.createDataFrame([], f"{COLUMNS}, date date"), name, (OffsetRange(0, 5, 7),))
    found = {(one.kind, one.what.split(" ")[0]) for one in verify(made).problems}
    assert found == {
        ("missing file", f"date=2025-01-01/{first.name}"),
        ("unknown file", "date=2025-01-02/copy.parquet"),
        ("unknown file", f"date=2025-01-03/{next(place.glob('date=2025-01-03/*.parquet')).name}"),
        ("duplicate", "partition"),
        ("gap", "partition"),
    }
