import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import functions as F

from goqueue.client.sync import Producer
from tests.behaviour.exposed import exposed


def values(frame):
    return sorted(bytes(row.value) for row in frame.select("value").collect())


def test_a_topic_is_a_table_of_its_records(table, producer, topic):
    sent = producer.send_many(topic, [b"a", b"b"], keys=[b"k", None], priority=1)
    (
        producer.send(
            topic, None, key=b"gone", headers=[("traceparent", b"00-" + b"1" * 32 + b"-" + b"2" * 16 + b"-01")]
        )
    ).result()
    rows = {row.key and bytes(row.key): row for row in table(subscribe=topic, includeHeaders="true").load().collect()}
    assert len(rows) == 3
    assert (rows[b"k"].topic, bytes(rows[b"k"].value), rows[b"k"].priority) == (topic, b"a", 1)
    assert (rows[b"k"].partition, rows[b"k"].offset) == (sent[0].partition, sent[0].offset)
    assert rows[b"gone"].value is None
    assert rows[b"gone"].trace_id == "1" * 32
    assert rows[b"gone"].headers[0].key == "traceparent"
    assert abs(rows[b"k"].timestamp.replace(tzinfo=UTC) - datetime.now(UTC)) < timedelta(minutes=5)


def test_many_records_come_all_and_once_in_pieces_read_side_by_side(table, producer, topic):
    producer.send_many(topic, [b"%06d" % number for number in range(50_000)])
    frame = table(subscribe=topic, maxRecordsPerPartition="7000").load()
    assert frame.rdd.getNumPartitions() >= 8
    assert frame.count() == 50_000
    assert frame.select(F.countDistinct("value")).first()[0] == 50_000
    assert frame.groupBy("partition").agg(F.max("offset") - F.min("offset") + 1 == F.count("*")).first()[1]


def test_compressed_values_are_opened(table, server, topic):
    with Producer(server.native, compression="zstd") as producer:
        producer.send_many(topic, [b"x" * 2000, b"y" * 2000])
    assert values(table(subscribe=topic).load()) == [b"x" * 2000, b"y" * 2000]


def test_only_wanted_columns_are_read(table, producer, topic):
    producer.send_many(topic, [b"a"] * 10)
    frame = table(subscribe=topic).schema("offset long, partition int").load()
    assert frame.columns == ["offset", "partition"]
    assert frame.count() == 10
    with pytest.raises(Exception, match="no column nonsense"):
        table(subscribe=topic).schema("nonsense long").load().collect()


def test_offsets_and_times_bound_what_is_read(table, producer, topic):
    for number in range(10):
        producer.send(topic, b"%d" % number, partition=0).result()
    between = json.dumps({topic: {"0": 3, "1": -2}})
    until = json.dumps({topic: {"0": 7, "1": -1}})
    assert values(table(subscribe=topic, startingOffsets=between, endingOffsets=until).load()) == [
        b"3",
        b"4",
        b"5",
        b"6",
    ]
    moment = table(subscribe=topic).load().where("offset = 5").first().timestamp.replace(tzinfo=UTC)
    after = str(int(moment.timestamp() * 1000))
    assert b"9" in values(table(subscribe=topic, startingTimestamp=after).load())
    assert b"0" not in values(table(subscribe=topic, startingTimestamp=moment.isoformat()).load())
    assert values(table(subscribe=topic, endingTimestamp=moment.isoformat()).load())[:3] == [b"0", b"1", b"2"]


def test_filters_narrow_what_is_read_and_the_plan_has_none_left(table, producer, topic):
    producer.send_many(topic, [b"%d" % number for number in range(100)], partition=0)
    producer.send_many(topic, [b"other"] * 5, partition=1)
    frame = table(subscribe=topic).load().where("partition = 0 and offset >= 90 and offset < 95")
    assert values(frame) == [b"90", b"91", b"92", b"93", b"94"]
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "Filter (" not in plan


def test_only_committed_records_are_seen_unless_asked_for(table, server, producer, topic):
    producer.send(topic, b"plain", partition=0).result()
    with Producer(server.native, transactional_id=topic) as transactional:
        with transactional.transaction() as transaction:
            transactional.send_many(topic, [b"aborted"], partition=0)
            transaction.abort()
        with transactional.transaction():
            transactional.send(topic, b"committed", partition=0)
        with transactional.transaction() as transaction:
            transactional.send_many(topic, [b"open"], partition=0)
            assert values(table(subscribe=topic).load()) == [b"committed", b"plain"]
            assert values(table(subscribe=topic, isolation="read_uncommitted").load()) == [
                b"aborted",
                b"committed",
                b"open",
                b"plain",
            ]
            transaction.abort()


def test_topics_are_chosen_by_name_pattern_or_partition(table, admin, producer, topic):
    other = f"{topic}-other"
    admin.create_topic(other, 1)
    producer.send_many(topic, [b"one"], partition=1)
    producer.send_many(other, [b"two"])
    assert values(table(subscribe=f"{topic}, {other}").load()) == [b"one", b"two"]
    assert values(table(subscribePattern=f"{topic}.*").load()) == [b"one", b"two"]
    assert values(table(assign=json.dumps({topic: [0], other: [0]})).load()) == [b"two"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"subscribe": "no-such-topic"}, "there is no topic no-such-topic"),
        ({}, "give one of subscribe, subscribePattern and assign"),
        ({"subscribe": "a", "subscribePattern": "b"}, "give one of subscribe, subscribePattern and assign"),
        ({"subscribe": "a", "nonsense": "1"}, "nonsense is not an option for reading.*startingOffsets"),
        ({"subscribe": "a", "isolation": "serializable"}, "read_committed or read_uncommitted"),
        ({"subscribe": "a", "minPartitions": "0"}, "minPartitions is a number, at least 1"),
        ({"subscribe": "a", "startingOffsets": "{"}, "startingOffsets is earliest, latest, or JSON"),
        ({"subscribe": "a", "bootstrap": "127.0.0.1:1"}, "127.0.0.1:1"),
    ],
)
def test_what_cannot_be_read_is_said_in_words(table, options, said):
    with pytest.raises(Exception, match=f"(?s){said}") as failed:
        table(**options).load().collect()
    # A notebook shows the first line: the words are there, and no calls of Python or Java.
    first, *_ = str(failed.value).splitlines()
    assert re.search(said, first)
    assert "Traceback" not in str(failed.value)


def test_offsets_that_are_not_there_are_an_error(table, producer, topic):
    producer.send_many(topic, [b"a"], partition=0)
    beyond = json.dumps({topic: {"0": 99}})
    with pytest.raises(Exception, match="ends at offset 1, before 99"):
        table(subscribe=topic, startingOffsets=beyond).load().collect()


def test_of_several_trace_contexts_the_last_counts_and_other_headers_none(table, producer, topic):
    def context(letter):
        return "traceparent", b"00-" + letter * 32 + b"-" + b"2" * 16 + b"-01"

    producer.send(topic, b"two", headers=[("other", b"x"), context(b"a"), context(b"b")], partition=0).result()
    producer.send(topic, b"none", headers=[("other", b"x")], partition=0).result()
    producer.send(topic, b"broken", headers=[("traceparent", b"nonsense")], partition=0).result()
    rows = {bytes(row.value): row.trace_id for row in table(subscribe=topic).load().collect()}
    assert rows == {b"two": "b" * 32, b"none": None, b"broken": None}


def test_a_read_in_pieces_takes_little_more_from_the_broker_than_it_gives(table, server, producer, topic):
    producer.send_many(topic, [b"x" * 1000] * 30_000, partition=0)
    assert table(subscribe=topic, minPartitions="3").load().count() == 30_000
    fetched = exposed(server).value("goqueue_consumer_fetched_bytes_total", topic=topic)
    stored = exposed(server).value("goqueue_storage_topic_bytes", topic=topic)
    assert stored <= fetched < 1.2 * stored


def test_records_that_grow_within_a_piece_come_all_and_once(table, producer, topic):
    sizes = [10] * 100_000 + [3000] * 4000 + [1] * 1000 + [200_000] * 20
    producer.send_many(topic, [b"%06d" % number + b"x" * size for number, size in enumerate(sizes)], partition=0)
    rows = (
        table(subscribe=topic)
        .load()
        .selectExpr("int(substring(string(value), 1, 6)) AS number", "length(value) AS size")
    )
    expected = [(number, size + 6) for number, size in enumerate(sizes)]
    assert [tuple(row) for row in rows.collect()] == expected


def test_of_several_addresses_the_first_that_answers_is_read_and_written(table, spark, server, producer, topic):
    producer.send_many(topic, [b"a", b"b"])
    several = f"127.0.0.1:1,{server.native}"
    frame = table(subscribe=topic).option("bootstrap", several).load()
    assert values(frame) == [b"a", b"b"]
    frame.select("value").write.format("goqueue").mode("append").options(bootstrap=several, topic=topic).save()
    assert values(table(subscribe=topic).load()) == [b"a", b"a", b"b", b"b"]
    nowhere = table(subscribe=topic).option("bootstrap", "127.0.0.1:1, 127.0.0.1:2")
    with pytest.raises(Exception, match=r"127\.0\.0\.1:1: Connection refused; 127\.0\.0\.1:2: Connection refused"):
        nowhere.load().collect()
