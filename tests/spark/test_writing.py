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
        ("value string, headers array<string>", {}, "headers is array<string>; headers is array<struct<key:string,val"),
        ("value string, headers array<struct<key:string,value:string>>", {}, "headers is array<struct<key:string,val"),
    ],
)
def test_what_cannot_be_written_is_said_in_words(spark, server, topic, columns, options, said):
    frame = spark.createDataFrame([], columns)
    with pytest.raises(Exception) as failed:
        write(frame, server, **({"topic": topic} | options))
    assert said in reason(failed.value)
    assert "\n" not in reason(failed.value)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (
            "cast(null AS struct<key:string,value:binary>)",
            "each header must have a key and a value, got null; leave out",
        ),
        ("named_struct('key', 'k', 'value', cast(null AS binary))", "got the key k with null as its value; leave out"),
        ("named_struct('key', cast(null AS string), 'value', X'00')", "got null as a key; leave out"),
    ],
)
def test_a_header_without_key_or_value_is_one_clear_line(spark, server, read, topic, header, said):
    with pytest.raises(Exception) as failed:
        write(spark.range(1).selectExpr("'x' AS value", f"array({header}) AS headers"), server, topic=topic)
    assert said in reason(failed.value)
    assert read(topic) == []


def test_rows_without_any_header_are_written(spark, server, read, topic):
    write(spark.range(1).selectExpr("'x' AS value", "array() AS headers"), server, topic=topic)
    assert read(topic) == [b"x"]


def test_a_missing_target_topic_is_found_before_any_task_runs(spark, server, tmp_path):
    missing = f"there is no topic no-such-topic at {server.native}; create the topic first"
    with pytest.raises(Exception) as failed:
        write(spark.range(0).selectExpr("'x' AS value"), server, topic="no-such-topic")
    assert missing in reason(failed.value)
    assert "Failed to initialize Python data source writer" in str(failed.value)
    rows = spark.readStream.format("rate").load().selectExpr("cast(value AS string) AS value")
    writer = rows.writeStream.format("goqueue").option("bootstrap", server.native).option("topic", "no-such-topic")
    with pytest.raises(Exception) as failed:
        writer.option("checkpointLocation", str(tmp_path)).start().awaitTermination()
    assert missing in reason(failed.value)
    assert "Job aborted" not in str(failed.value)
