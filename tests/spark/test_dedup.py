import pytest

from goqueue.errors import InvalidRequest
from goqueue.spark.pipelines import dedup

ROW = (
    "topic string, partition int, offset long, timestamp timestamp, key binary, value binary,"
    " headers array<struct<key:string,value:binary>>, priority int"
)


@pytest.fixture(scope="module")
def rows(spark):
    """Numbered in the order in which they were written: name, partition, key, value, id."""
    given = [
        ("a0", 0, b"k", b'{"order": 1}', b"x"),
        ("b0", 1, b"k", b'{"order": 1}', b"x"),
        ("a1", 0, b"l", b'{"order": 2}', None),
        ("b1", 1, b"l", b'{"order": 3}', None),
        ("a2", 0, b"m", None, b"y"),
        ("b2", 1, None, b"no json", b"x"),
    ]
    listed = [
        (
            "t",
            partition,
            int(name[1]),
            number,
            key,
            value,
            [("name", name.encode())] + ([("goqueue-id", one)] if one else []),
            2,
        )
        for number, (name, partition, key, value, one) in enumerate(given)
    ]
    frame = spark.createDataFrame(listed, ROW.replace("timestamp timestamp", "timestamp long"))
    return frame.withColumn("timestamp", frame["timestamp"].cast("timestamp")).cache()


def names(frame):
    return sorted(bytes(row.headers[0].value).decode() for row in frame.collect())


@pytest.mark.parametrize(
    ("by", "keep", "expected"),
    [
        ("header", "first", ["a0", "a1", "a2", "b1"]),
        ("header:goqueue-id", "last", ["a1", "a2", "b1", "b2"]),
        ("key", "last", ["a2", "b0", "b1", "b2"]),
        ("value", "first", ["a0", "a1", "a2", "b1", "b2"]),
        ("field:order", "first", ["a0", "a1", "a2", "b1", "b2"]),
    ],
)
def test_one_of_each_stays_and_all_that_cannot_be_told_apart(rows, by, keep, expected):
    assert names(dedup.distinct(rows, by, keep)) == expected


def test_what_cannot_tell_records_apart_is_refused(rows):
    with pytest.raises(InvalidRequest, match="'colour' is nothing to tell records by"):
        dedup.distinct(rows, "colour")


@pytest.fixture
def doubled(admin, producer, topic):
    """Thirty orders of three keys, each sent twice in a row, half of them a second time later on."""
    admin.create_topic(f"{topic}-clean", 2)
    for number in [*(n for n in range(30) for _ in range(2)), *range(15)]:
        producer.send(topic, b'{"n": %d}' % number, key=b"key-%d" % (number % 3))
    producer.flush()
    return topic


def orders(table, topic):
    found = {}
    for row in table(subscribe=topic).load().orderBy("partition", "offset").collect():
        found.setdefault(bytes(row.key), []).append(bytes(row.value))
    return found


EXPECTED = {b"key-%d" % key: [b'{"n": %d}' % number for number in range(key, 30, 3)] for key in range(3)}


def test_a_stretch_becomes_a_topic_without_duplicates_in_order_and_once(spark, server, table, doubled):
    into = f"{doubled}-clean"
    done = dedup.run(spark, server.native, doubled, into, by="field:n", name="clean")
    assert (done.read, done.kept, done.dropped, done.without_id) == (75, 30, 45, 0)
    assert orders(table, into) == EXPECTED
    assert dedup.run(spark, server.native, doubled, into, by="field:n", name="clean").already_done
    assert orders(table, into) == EXPECTED


def test_a_stretch_becomes_a_folder_that_must_be_new(spark, server, doubled, tmp_path):
    into = str(tmp_path / "clean")
    done = dedup.run(spark, server.native, doubled, into)
    assert (done.read, done.kept, done.without_id) == (75, 75, 75)
    assert spark.read.parquet(into).count() == 75
    with pytest.raises(Exception, match="already exists"):
        dedup.run(spark, server.native, doubled, into)


def test_a_stream_drops_what_it_has_seen_in_earlier_runs(spark, server, table, producer, doubled, tmp_path):
    into, checkpoint = f"{doubled}-clean", str(tmp_path / "checkpoint")
    done = dedup.follow(spark, server.native, doubled, into, checkpoint, by="field:n")
    assert (done.read, done.kept, done.dropped, done.late) == (75, 30, 45, 0)
    producer.send_many(doubled, [b'{"n": 3}', b'{"n": 30}', b"no json"], keys=[b"key-0"] * 3)
    done = dedup.follow(spark, server.native, doubled, into, checkpoint, by="field:n")
    assert (done.read, done.kept, done.dropped, done.late, done.without_id) == (3, 2, 1, 0, 1)
    assert orders(table, into) == EXPECTED | {b"key-0": [*EXPECTED[b"key-0"], b'{"n": 30}', b"no json"]}


def test_the_first_run_of_a_stream_reads_in_batches_and_no_partition_is_late_to_another(
    spark, server, admin, producer, topic, tmp_path
):
    """The second partition is younger than the first by more than the watermark."""
    admin.create_topic(f"{topic}-clean", 2)
    for number in range(80):
        producer.send(topic, b'{"n": %d}' % number, partition=number // 40).result()
    checkpoint, watermark = tmp_path / "checkpoint", "5 milliseconds"
    job = (spark, server.native, topic, f"{topic}-clean", str(checkpoint))
    done = dedup.follow(*job, by="field:n", watermark=watermark, batch_records=30)
    assert (done.read, done.kept, done.late) == (80, 80, 0)
    assert len([one for one in (checkpoint / "offsets").iterdir() if one.name.isdigit()]) >= 3
