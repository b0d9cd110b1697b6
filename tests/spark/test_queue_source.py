import pytest
from pyspark.sql import functions as F

from goqueue.client.sync import Worker
from goqueue.model.log import LogId
from goqueue.spark import reason


@pytest.fixture
def work(spark, server, topic, tmp_path):
    """Works off the topic until nothing is left, into a table of the test's own; as often as it is called."""

    def run(broken=False, **options):
        reader = spark.readStream.format("goqueue").option("bootstrap", server.native)
        for option, value in ({"subscribe": topic, "queue": "workers"} | options).items():
            reader = reader.option(option, value)
        rows = reader.load()
        if broken:
            rows = rows.withColumn("value", F.raise_error(F.lit("broken row")).cast("binary"))
        query = (
            rows.writeStream.format("parquet")
            .option("path", str(tmp_path / "rows"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return query, spark.read.parquet(str(tmp_path / "rows")).collect()

    return run


@pytest.fixture
def left(server, topic):
    """What another worker of the group would get now: it gives it back."""

    def look(group="workers", wait_ms=0):
        with Worker(topic, group=group, bootstrap=server.native) as worker:
            jobs = worker.take(1000, wait_ms=wait_ms)
            worker.release(*jobs)
        return sorted((bytes(job.value), job.deliveries) for job in jobs)

    return look


def values(rows):
    return sorted(bytes(row.value) for row in rows)


def test_what_spark_has_committed_is_acknowledged(work, left, admin, producer, topic):
    sent = [b"%04d" % number for number in range(2500)]
    producer.send_many(topic, sent, keys=sent)
    _, rows = work()
    assert values(rows) == sent
    assert {row.delivery_count for row in rows} == {1}
    assert left() == []
    committed = admin.committed_offsets("workers", [topic])
    assert sum(committed[LogId(topic, number)] for number in range(2)) == 2500
    producer.send_many(topic, [b"later"])
    assert values(work()[1]) == [*sent, b"later"]


def test_a_batch_takes_no_more_than_it_may_and_groups_do_not_disturb_each_other(work, left, producer, topic):
    producer.send_many(topic, [b"%02d" % number for number in range(25)], partition=0)
    query, _ = work(maxOffsetsPerTrigger="10")
    assert [batch["numInputRows"] for batch in query.recentProgress if batch["numInputRows"]] == [10, 10, 5]
    assert len(left("others")) == 25


def test_a_batch_that_fails_is_released_at_once(work, left, producer, topic):
    producer.send_many(topic, [b"a", b"b", b"c"], partition=0)
    with pytest.raises(Exception) as failed:
        work(broken=True, visibilityTimeout="3600000")
    assert "broken row" in reason(failed.value)
    # Not when their hour is up.
    assert left(wait_ms=30_000) == [(b"a", 2), (b"b", 2), (b"c", 2)]
    # The query that comes back does its batch, and what is delivered to it besides is not done twice.
    _, rows = work()
    assert values(rows) == [b"a", b"b", b"c"]
    assert left() == []


def test_a_batch_whose_end_spark_did_not_note_is_replayed_and_not_doubled(work, left, producer, topic, tmp_path):
    """The driver dies when the rows are written; its leases have gone to nobody."""
    producer.send_many(topic, [b"%d" % number for number in range(6)])
    work(maxOffsetsPerTrigger="4")
    last = max((tmp_path / "checkpoint").glob("commits/[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
    producer.send_many(topic, [b"9"])
    assert values(work()[1]) == [b"0", b"1", b"2", b"3", b"4", b"5", b"9"]
    assert left() == []


def test_records_of_a_topic_that_was_created_again_are_all_given_to_spark(work, left, admin, producer, topic):
    producer.send_many(topic, [b"a", b"b", b"c"], partition=0)
    work()
    admin.delete_topic(topic)
    admin.create_topic(topic, 2)
    producer.send_many(topic, [b"d", b"e", b"f", b"g"], partition=0)
    assert values(work()[1]) == [b"a", b"b", b"c", b"d", b"e", b"f", b"g"]
    assert left() == []


def test_a_batch_of_a_topic_that_was_created_again_is_data_loss(work, left, admin, producer, topic, tmp_path):
    producer.send_many(topic, [b"a", b"b", b"c"], partition=0)
    with pytest.raises(Exception, match="broken row"):
        work(broken=True)
    admin.delete_topic(topic)
    admin.create_topic(topic, 2)
    producer.send_many(topic, [b"d", b"e"], partition=0)
    with pytest.raises(Exception) as failed:
        work()
    assert f"the topic {topic} was deleted and created again since this query read it; set failOnDataLoss" in reason(
        failed.value
    )
    assert values(work(failOnDataLoss="false")[1]) == [b"d", b"e"]
    assert left() == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"startingTimestamp": "0"}, "startingTimestamp is not an option of a queue; there are bootstrap"),
        ({"startingOffsets": "{}"}, "begins at earliest or latest"),
        ({"maxOffsetsPerTrigger": "1000000"}, "at most 100000"),
        ({"subscribe": "no-such-topic"}, "no-such-topic"),
        ({"visibilityTimeout": "soon"}, "visibilityTimeout is a number"),
    ],
)
def test_what_a_queue_cannot_do_is_said_in_words(work, options, said):
    with pytest.raises(Exception) as failed:
        work(**options)
    assert said in reason(failed.value)


def test_a_queue_is_not_a_table(table, topic):
    with pytest.raises(Exception, match="a queue has no end to read up to; use readStream"):
        table(subscribe=topic, queue="workers").load().collect()
