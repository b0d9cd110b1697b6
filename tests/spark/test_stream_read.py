import json

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from goqueue.client.sync import Admin, Producer
from goqueue.model.log import LogId
from goqueue.model.topic import TopicConfig
from goqueue.spark import reason
from goqueue.spark.options import read_options
from goqueue.spark.stream_reader import StreamReader
from tests.behaviour.serving import eventually, running_server

QUICK_RETENTION = "[maintenance]\nretention_every_ms = 100\ntick_ms = 100\n[storage]\nsegment_bytes = 65536\n"


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


@pytest.fixture(scope="module")
def trimmed(tmp_path_factory):
    """A broker with a topic whose log begins late: where that is, and what is left."""
    late, sent = "late", [b"late %05d" % number + b"x" * 90 for number in range(20_000)]
    with running_server(tmp_path_factory.mktemp("trimmed"), QUICK_RETENTION) as server:
        with Admin(server.native) as admin, Producer(server.native) as producer:
            admin.create_topic(late, 1, TopicConfig(retention_bytes=200_000))
            producer.send_many(late, sent, partition=0)
            log, seen = LogId(late, 0), [0]

            def is_trimmed():
                seen.append(admin.offsets_at([log], "earliest")[log])
                return seen[-1] > 10_000 and seen[-1] == seen[-20:][0]

            eventually(is_trimmed, 30.0)
        yield server, late, seen[-1], sent[seen[-1] :]


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
    query, _ = follow(subscribe=topic, startingOffsets="earliest", groupId=f"{topic}-group")
    source = query.recentProgress[-1]["sources"][0]
    assert json.loads(source["endOffset"])[topic] == {"0": 6, "1": 0}
    assert admin.committed_offsets(f"{topic}-group") == {LogId(topic, 0): 6, LogId(topic, 1): 0}
    producer.send_many(topic, [b"a"] * 2, partition=0)
    assert [one.lag for one in admin.describe_group(f"{topic}-group").partitions] == [2, 0]
    follow(subscribe=topic, startingOffsets="earliest", groupId=f"{topic}-group")
    assert admin.committed_offsets(f"{topic}-group")[LogId(topic, 0)] == 8


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


def test_a_topic_that_was_created_again_is_data_loss_though_it_has_more_records(follow, admin, producer, topic):
    producer.send_many(topic, [b"a", b"b", b"c"], partition=0)
    follow(subscribe=topic, startingOffsets="earliest")
    admin.delete_topic(topic)
    admin.create_topic(topic, 2)
    again = [b"again %d" % number for number in range(5)]
    producer.send_many(topic, again, partition=0)
    with pytest.raises(Exception) as failed:
        follow(subscribe=topic, startingOffsets="earliest")
    assert reason(failed.value).startswith(f"the topic {topic} was deleted and created again since this query read it")
    assert "set failOnDataLoss to false to read the new topic from its beginning" in reason(failed.value)
    assert "set failOnDataLoss to false" in str(failed.value).splitlines()[0]
    _, rows = follow(subscribe=topic, startingOffsets="earliest", failOnDataLoss="false")
    assert rows == [b"a", *again, b"b", b"c"]
    producer.send_many(topic, [b"later"], partition=0)
    _, rows = follow(subscribe=topic, startingOffsets="earliest")
    assert rows == [b"a", *again, b"b", b"c", b"later"]


def test_a_topic_of_a_pattern_that_was_deleted_is_data_loss(follow, admin, producer, topic):
    options = {"subscribePattern": f"{topic}.*", "startingOffsets": "earliest", "groupId": f"{topic}-group"}
    admin.create_topic(f"{topic}-other", 1)
    producer.send_many(f"{topic}-other", [b"other"])
    producer.send_many(topic, [b"a"], partition=0)
    follow(**options)
    admin.delete_topic(f"{topic}-other")
    with pytest.raises(Exception) as failed:
        follow(**options)
    assert f"the topic {topic}-other was deleted since this query read it" in reason(failed.value)
    producer.send_many(topic, [b"b"], partition=0)
    _, rows = follow(**options, failOnDataLoss="false")
    assert rows == [b"a", b"b", b"other"]
    producer.send_many(topic, [b"c"], partition=0)
    assert follow(**options)[1] == [b"a", b"b", b"c", b"other"]
    assert admin.committed_offsets(f"{topic}-group")[LogId(topic, 0)] == 3


def test_a_checkpoint_that_does_not_know_when_topics_were_created_goes_on(follow, admin, producer, topic, tmp_path):
    producer.send_many(topic, [b"a", b"b"], partition=0)
    follow(subscribe=topic, startingOffsets="earliest")
    note_offsets(tmp_path / "rows.checkpoint", {topic: {"0": 2, "1": 0}})
    producer.send_many(topic, [b"c"], partition=0)
    query, rows = follow(subscribe=topic, startingOffsets="earliest")
    assert rows == [b"a", b"b", b"c"]
    (created,) = [one.created_ns for one in admin.topics() if one.name == topic]
    assert json.loads(query.lastProgress["sources"][0]["endOffset"])["@created"] == {topic: created}


def test_a_log_that_lost_its_end_stops_the_query_or_is_read_from_there_and_not_from_its_beginning(
    follow, producer, topic, tmp_path
):
    producer.send_many(topic, [b"a", b"b", b"c"], partition=0)
    follow(subscribe=topic, startingOffsets="earliest")
    note_offsets(tmp_path / "rows.checkpoint", {topic: {"0": 7, "1": 0}})
    with pytest.raises(Exception) as failed:
        follow(subscribe=topic, startingOffsets="earliest")
    assert f"this query has come to offset 7 of {topic}/0, which ends at offset 3; set failOnDataLoss to" in reason(
        failed.value
    )
    assert follow(subscribe=topic, failOnDataLoss="false")[1] == [b"a", b"b", b"c"]
    producer.send_many(topic, [b"d"], partition=0)
    assert follow(subscribe=topic)[1] == [b"a", b"b", b"c", b"d"]


def test_what_is_lost_is_said_in_the_log_when_it_may_be_lost(server, admin, producer, topic, caplog):
    producer.send_many(topic, [b"a"], partition=0)
    options = read_options({"bootstrap": server.native, "subscribe": topic, "failOnDataLoss": "false"})
    reader = StreamReader(options, pa.schema([]))
    before = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    admin.delete_topic(topic)
    admin.create_topic(topic, 1)
    after = reader.latestOffset(before, ReadAllAvailable())
    assert reader.latestOffset(after, ReadAllAvailable()) == after
    reader.stop()
    assert [record.message for record in caplog.records if record.name.startswith("goqueue.spark")] == [
        f"the topic {topic} was deleted and created again since this query read it; it goes on, as failOnDataLoss is "
        "false"
    ]


@pytest.mark.parametrize("fails", ["true", "false"])
def test_a_log_that_begins_late_is_added_to_a_query_and_read_from_there(follow, trimmed, fails):
    server, late, first, values = trimmed
    early = f"early-{fails}"
    with Admin(server.native) as admin, Producer(server.native) as producer:
        admin.create_topic(early, 1)
        producer.send_many(early, [b"early"])
    options = {"bootstrap": server.native, "startingOffsets": "earliest", "failOnDataLoss": fails}
    assert follow(subscribe=early, **options)[1] == [b"early"]
    size = len(values) // 3 + 1
    query, rows = follow(subscribe=f"{early},{late}", maxOffsetsPerTrigger=str(size), **options)
    assert rows == [b"early", *values]
    assert [batch["numInputRows"] for batch in query.recentProgress] == [size, size, len(values) - 2 * size]
    assert first > 10_000


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"subscribe": " , "}, "subscribe must name at least one topic, got ' , '"),
        ({"assign": "{}"}, "assign must name at least one partition of each topic, got {}"),
        ({"subscribePattern": "no-such.*"}, "subscribePattern no-such.* matches no topic at"),
        ({"startingOffsets": {"other": {"0": 0}}}, "startingOffsets names the topic other, which is not read"),
        (
            {"startingOffsets": {"{topic}": {"2": 0}}},
            "startingOffsets names the partition {topic}/2, which is not read",
        ),
        ({"endingOffsets": {"other": {"0": 0}}}, "endingOffsets names the topic other, which is not read"),
        ({"startingOffsets": {"{topic}": {"0": -5}}}, "an offset in startingOffsets must be at least 0, or -2 for"),
        ({"startingOffsets": {"{topic}": {"0": 9}}}, "startingOffsets: {topic}/0 ends at offset 0, before 9"),
        ({"groupId": "a", "groupIdPrefix": "b"}, "groupId and groupIdPrefix given; give groupId"),
    ],
)
def test_a_stream_that_has_nothing_to_read_says_so(follow, topic, options, said):
    options = {name: json.dumps(one) if isinstance(one, dict) else one for name, one in options.items()}
    options = {name: one.replace("{topic}", topic) for name, one in options.items()}
    if not {"subscribe", "subscribePattern", "assign"} & set(options):
        options["subscribe"] = topic
    with pytest.raises(Exception) as failed:
        follow(**options)
    assert said.replace("{topic}", topic) in reason(failed.value)


def note_offsets(checkpoint, offsets):
    """Of the last batch, as versions did that did not note when topics were created."""
    last = max(checkpoint.glob("offsets/[0-9]*"), key=lambda path: int(path.name))
    version, settings, _ = last.read_text().splitlines()
    last.write_text("\n".join((version, settings, json.dumps(offsets))))
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
