import json

import pytest

from goqueue.client.sync import Producer
from goqueue.model.log import LogId
from goqueue.spark import reason


@pytest.fixture
def follow(spark, server, tmp_path):
    """Reads a topic as a stream up to its end, into a table of the test's own; as often as it is called."""

    def run(name="rows", **options):
        reader = spark.readStream.format("goqueue").option("bootstrap", server.native)
        for option, value in options.items():
            reader = reader.option(option, value)
        query = (
            reader.load()
            .writeStream.format("parquet")
            .option("path", str(tmp_path / name))
            .option("checkpointLocation", str(tmp_path / f"{name}.checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return query, sorted(bytes(row.value) for row in spark.read.parquet(str(tmp_path / name)).collect())

    return run


def test_a_stream_goes_on_where_its_checkpoint_stands(follow, producer, topic):
    producer.send_many(topic, [b"1", b"2", b"3"])
    _, rows = follow(subscribe=topic, startingOffsets="earliest")
    assert rows == [b"1", b"2", b"3"]
    producer.send_many(topic, [b"4", b"5"])
    _, rows = follow(subscribe=topic, startingOffsets="earliest")
    assert rows == [b"1", b"2", b"3", b"4", b"5"]


def test_a_query_killed_while_it_noted_its_first_batch_starts_again(follow, producer, topic, tmp_path):
    producer.send_many(topic, [b"1", b"2", b"3"])
    noted = tmp_path / "rows.checkpoint" / "offsets"
    noted.mkdir(parents=True)
    (noted / ".0.4d5e7b62-7ab6-4e58-b0a4-1a2f9f2f6f1c.tmp").write_bytes(b"v1\n{")
    _, rows = follow(subscribe=topic, startingOffsets="earliest")
    assert rows == [b"1", b"2", b"3"]


def test_a_batch_takes_no_more_records_than_it_may(follow, producer, topic):
    producer.send_many(topic, [b"%02d" % number for number in range(25)])
    query, rows = follow(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="10")
    assert rows == [b"%02d" % number for number in range(25)]
    assert [batch["numInputRows"] for batch in query.recentProgress] == [10, 10, 5]


def test_how_far_a_query_is_behind_is_in_its_progress_and_in_the_group(follow, admin, producer, topic):
    producer.send_many(topic, [b"a"] * 6, partition=0)
    query, _ = follow(subscribe=topic, startingOffsets="earliest", groupIdPrefix=f"{topic}-group")
    source = query.recentProgress[-1]["sources"][0]
    assert json.loads(source["endOffset"]) == {topic: {"0": 6, "1": 0}}
    # Spark tells a source of the end of a batch when it plans the next one.
    follow(subscribe=topic, startingOffsets="earliest", groupIdPrefix=f"{topic}-group")
    producer.send_many(topic, [b"a"] * 2, partition=0)
    follow(subscribe=topic, startingOffsets="earliest", groupIdPrefix=f"{topic}-group")
    assert admin.committed_offsets(f"{topic}-group")[LogId(topic, 0)] == 6


def test_an_open_transaction_holds_the_stream_until_it_has_ended(follow, server, producer, topic):
    producer.send_many(topic, [b"before"], partition=0)
    with Producer(server.native, transactional_id=topic) as transactional, transactional.transaction():
        transactional.send_many(topic, [b"inside"], partition=0)
        producer.send_many(topic, [b"behind"], partition=0)
        assert follow(subscribe=topic, startingOffsets="earliest")[1] == [b"before"]
    assert follow(subscribe=topic, startingOffsets="earliest")[1] == [b"before", b"behind", b"inside"]


def test_partitions_and_topics_that_come_later_are_read_from_their_beginning(follow, admin, producer, topic):
    producer.send_many(topic, [b"old"])
    assert follow(subscribePattern=f"{topic}.*", startingOffsets="earliest")[1] == [b"old"]
    admin.create_topic(f"{topic}-later", 1)
    producer.send_many(f"{topic}-later", [b"new"])
    assert follow(subscribePattern=f"{topic}.*", startingOffsets="earliest")[1] == [b"new", b"old"]


def test_records_that_are_gone_stop_the_query_unless_it_may_lose_them(follow, admin, producer, topic):
    producer.send_many(topic, [b"a", b"b", b"c"], partition=0)
    follow(subscribe=topic, startingOffsets="earliest")
    admin.delete_topic(topic)
    admin.create_topic(topic, 2)
    producer.send_many(topic, [b"d", b"e"], partition=0)
    with pytest.raises(Exception) as failed:
        follow(subscribe=topic, startingOffsets="earliest")
    assert f"this query has come to offset 3 of {topic}" in reason(failed.value)
    assert "which ends at offset 2; set failOnDataLoss to false" in reason(failed.value)
    assert "set failOnDataLoss to false" in str(failed.value).splitlines()[0]
    _, rows = follow(subscribe=topic, startingOffsets="earliest", failOnDataLoss="false")
    assert rows == [b"a", b"b", b"c", b"d", b"e"]
