"""Streams that start at the latest offsets, as they do unless told otherwise, on topics that are being written."""

import threading
from contextlib import contextmanager

import pytest

from goqueue.client.sync import Producer
from goqueue.model.log import LogId
from tests.behaviour.serving import eventually
from tests.spark.faults import Driver

PARTITIONS = 2
PAUSE_S = 0.01
"""Between two records: about a hundred in a second."""
WITHIN_S = 120.0


@pytest.fixture
def written(server, topic):
    """Writes to the topic all the time inside the block."""

    @contextmanager
    def write():
        ended = threading.Event()

        def feed():
            number = 0
            with Producer(server.native) as producer:
                while not ended.wait(PAUSE_S):
                    producer.send(topic, b"%d" % number, partition=number % PARTITIONS)
                    number += 1

        thread = threading.Thread(target=feed)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    return write


@pytest.fixture
def ends(admin, topic):
    def look():
        found = admin.offsets_at([LogId(topic, number) for number in range(PARTITIONS)], "latest")
        return {log.partition: at for log, at in found.items()}

    return look


@pytest.fixture
def query(spark, server, topic, tmp_path):
    """Starts a query at the latest offsets, which goes on from its checkpoint when it is started again."""

    def start(name, *, to_the_end=False, **options):
        reader = spark.readStream.format("goqueue").option("bootstrap", server.native).option("subscribe", topic)
        for option, value in options.items():
            reader = reader.option(option, value)
        writer = reader.load().select("partition", "offset").writeStream.format("parquet")
        writer = writer.option("path", str(tmp_path / name)).option("checkpointLocation", str(tmp_path / name / "kept"))
        return (writer.trigger(availableNow=True) if to_the_end else writer).start()

    return start


@pytest.fixture
def check(spark, ends, tmp_path):
    """Each record from where the query started, once; it started between two moments, not before and not later."""

    def look(rows, earliest, latest):
        for partition, end in ends().items():
            offsets = sorted(row.offset for row in rows if row.partition == partition)
            assert offsets == list(range(end - len(offsets), end))
            assert earliest[partition] <= end - len(offsets) <= latest[partition]

    return look


def has_read(query):
    assert query.exception() is None
    return query.lastProgress is not None and query.lastProgress["batchId"] > 0


@pytest.mark.timeout(600)
def test_a_stream_at_latest_starts_while_records_arrive_and_neither_skips_nor_repeats_any(
    spark, written, ends, query, check, tmp_path
):
    names = ["one", "two", "three"]
    with written():
        eventually(lambda: all(ends().values()))
        earliest = ends()
        latest = earliest
        for turn in range(3):
            running = [query(name) for name in names]
            for one in running:
                eventually(lambda one=one: has_read(one), WITHIN_S)
            latest = latest if turn else ends()
            for one in running:
                one.stop()
    for name in names:
        query(name, to_the_end=True).awaitTermination()
        check(spark.read.parquet(str(tmp_path / name)).collect(), earliest, latest)


@pytest.mark.timeout(600)
def test_a_stream_at_latest_starts_where_it_did_though_its_driver_was_killed_in_the_first_batch(
    spark, server, topic, written, ends, check, tmp_path
):
    def start(do):
        source = spark.readStream.format("goqueue").option("bootstrap", server.native).option("subscribe", topic)
        writer = source.load().select("partition", "offset").writeStream.foreachBatch(do)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        return writer.trigger(availableNow=True).start()

    def fail(_rows, number):
        raise RuntimeError(f"batch {number} fails")

    def keep(rows, number):
        rows.write.mode("overwrite").parquet(str(tmp_path / "rows" / str(number)))

    with written():
        eventually(lambda: all(ends().values()))
        earliest = ends()
        driver = Driver(server, tmp_path, "--topic", topic, query="tests.spark.held_query")
        driver.wait_until_started()
        latest = ends()
        driver.kill()
        eventually(lambda: ends()[0] > latest[0] + 50)
        with pytest.raises(Exception, match="batch 0 fails"):
            start(fail).awaitTermination()
        start(keep).awaitTermination()
    start(keep).awaitTermination()
    rows = spark.read.parquet(*(str(one) for one in (tmp_path / "rows").iterdir())).collect()
    check(rows, earliest, latest)


def test_a_stream_at_latest_that_reads_what_is_there_reads_nothing_first_and_then_what_is_new(
    spark, query, check, ends, producer, topic, tmp_path
):
    producer.send_many(topic, [b"old"] * 10)
    before = ends()
    query("rows", to_the_end=True).awaitTermination()
    producer.send_many(topic, [b"new"] * 20)
    query("rows", to_the_end=True).awaitTermination()
    check(spark.read.parquet(str(tmp_path / "rows")).collect(), before, before)
