from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import functions as F

from goqueue.spark import reason


@pytest.fixture
def read(table):
    def rows(topic):
        return sorted(bytes(row.value) for row in table(subscribe=topic).load().select("value").collect())

    return rows


def write(frame, server, **options):
    writer = frame.write.format("goqueue").mode("append").option("bootstrap", server.native)
    for name, value in options.items():
        writer = writer.option(name, value)
    writer.save()


def test_rows_become_records_with_all_that_they_say(spark, server, table, topic):
    frame = spark.createDataFrame(
        [("k", b"v", 1, 0, [("h", b"x")]), (None, None, 0, 4, None)],
        "key string, value binary, partition int, priority int, headers array<struct<key:string,value:binary>>",
    )
    write(frame, server, topic=topic)
    rows = {row.partition: row for row in table(subscribe=topic, includeHeaders="true").load().collect()}
    assert (bytes(rows[1].key), bytes(rows[1].value), rows[1].priority) == (b"k", b"v", 0)
    assert [(one.key, bytes(one.value)) for one in rows[1].headers] == [("h", b"x")]
    assert (rows[0].key, rows[0].value, rows[0].priority) == (None, None, 4)


def test_a_column_says_the_topic_of_each_row(spark, server, admin, read, topic):
    admin.create_topic(f"{topic}-other", 1)
    frame = spark.createDataFrame([(topic, "a"), (f"{topic}-other", "b"), (None, "c")], "topic string, value string")
    write(frame, server, topic=topic)
    assert read(topic) == [b"a", b"c"]
    assert read(f"{topic}-other") == [b"b"]


def test_rows_of_a_key_go_where_the_client_would_send_them(spark, server, table, producer, topic):
    keys = [b"key-%d" % number for number in range(50)]
    sent = producer.send_many(topic, [b"x"] * 50, keys=keys)
    write(spark.createDataFrame([(key, "y") for key in keys], "key binary, value string"), server, topic=topic)
    rows = table(subscribe=topic).load().where("value = 'y'").collect()
    assert {bytes(row.key): row.partition for row in rows} == dict(
        zip(keys, (one.partition for one in sent), strict=True)
    )


def test_a_row_may_wait_until_it_is_due(spark, server, admin, read, topic):
    due = datetime.now(UTC) + timedelta(hours=1)
    frame = spark.createDataFrame([("now", None), ("later", due)], "value string, deliver_at timestamp")
    write(frame, server, topic=topic)
    assert len(admin.list_delayed(topic).records) == 1


def test_a_batch_that_fails_writes_nothing(spark, server, read, topic):
    frame = spark.range(0, 1000, 1, 4).select(
        F.when(F.col("id") == 999, F.raise_error(F.lit("broken row")))
        .otherwise(F.col("id").cast("string"))
        .alias("value")
    )
    with pytest.raises(Exception) as failed:
        write(frame, server, topic=topic)
    assert "broken row" in str(failed.value)
    assert read(topic) == []


def test_a_named_write_is_done_once_however_often_it_is_run(spark, server, read, topic):
    for _ in range(2):
        write(spark.range(100).selectExpr("cast(id as string) value"), server, topic=topic, queryName=f"load-{topic}")
    assert len(read(topic)) == 100


def test_a_stream_writes_each_batch_once_though_it_is_replayed(spark, server, read, producer, admin, topic, tmp_path):
    """The driver dies between the decision of the broker and the note of Spark that the batch is done."""
    admin.create_topic(f"{topic}-out", 2)
    producer.send_many(topic, [b"%03d" % number for number in range(100)])
    checkpoint = tmp_path / "checkpoint"

    def run():
        source = spark.readStream.format("goqueue").option("bootstrap", server.native).option("subscribe", topic)
        query = (
            source.option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", "40")
            .load()
            .select("key", F.concat(F.lit("out-"), F.col("value").cast("string")).alias("value"))
            .writeStream.format("goqueue")
            .option("bootstrap", server.native)
            .option("topic", f"{topic}-out")
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    run()
    expected = [b"out-%03d" % number for number in range(100)]
    assert read(f"{topic}-out") == expected
    last = max(checkpoint.glob("commits/[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
    run()
    assert read(f"{topic}-out") == expected


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ("key string", {}, "there is no column `value`"),
        ("value int", {}, "value is int; value is string or binary"),
        ("value string, colour string", {}, "there is no column colour"),
        ("value string", {"topic": ""}, "nowhere to write to"),
        ("value string", {"subscribe": "x"}, "subscribe is not an option for writing"),
        ("value string", {"topic": "no-such-topic"}, "no-such-topic"),
    ],
)
def test_what_cannot_be_written_is_said_in_words(spark, server, topic, columns, options, said):
    frame = spark.createDataFrame([tuple(None for _ in columns.split(","))], columns)
    with pytest.raises(Exception) as failed:
        write(frame, server, **({"topic": topic} | options))
    assert said in reason(failed.value)
    assert "\n" not in reason(failed.value)
