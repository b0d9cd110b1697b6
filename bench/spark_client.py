"""Loads on Spark, each session in a process of its own: reading beside Parquet and rows, writing, streaming."""

import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from goqueue import codec
from goqueue.client.sync import Consumer, Producer
from goqueue.model.record import Record
from goqueue.spark import GoQueueDataSource, open_session
from goqueue.spark.batch_reader import BatchReader
from goqueue.spark.columns import check_columns
from goqueue.spark.options import read_options
from goqueue.spark.reading import read_piece

PIECES = 4
READY_ROWS = 5000
FEWER = 5
"""A source of rows is so slow that it gets a fifth of them."""
TICK_S = 0.01
WARM_UP_S = 8.0
LONGEST_WAIT_S = 120.0


class RowReader(BatchReader):
    """What one would write first: a tuple of Python for each record."""

    def read(self, partition: InputPartition) -> Iterator[Any]:
        names = self._schema.names
        for batch in read_piece(self._options, partition, self._schema):  # type: ignore[arg-type]
            for row in batch.to_pylist():
                yield tuple(row[name] for name in names)


class RowSource(GoQueueDataSource):
    @classmethod
    def name(cls) -> str:
        return "goqueue-rows"

    def reader(self, schema: StructType) -> DataSourceReader:
        return RowReader(read_options(self.options), check_columns(schema))


class ReadyReader(DataSourceReader):
    """Gives the same Arrow batch again and again: what is left is what Spark itself takes for rows from Python."""

    def __init__(self, count: int, size: int) -> None:
        self._count = count
        self._size = size

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(PIECES)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        values = pa.array([b"x" * self._size] * READY_ROWS, pa.binary())
        batch = pa.RecordBatch.from_arrays([values], names=["value"])
        for _ in range(self._count // PIECES // READY_ROWS):
            yield batch


class ReadySource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "ready"

    def schema(self) -> str:
        return "value binary"

    def reader(self, schema: StructType) -> DataSourceReader:
        return ReadyReader(int(self.options["count"]), int(self.options["size"]))


def _session(master: str) -> SparkSession:
    settings = {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "2", "spark.log.level": "ERROR"}
    spark = open_session("bench", master=master, settings=settings)
    spark.dataSource.register(RowSource)
    spark.dataSource.register(ReadySource)
    return spark


def _table(spark: SparkSession, address: str, topic: str, form: str = "goqueue", **options: str) -> DataFrame:
    reader = spark.read.format(form).option("bootstrap", address).option("subscribe", topic)
    return reader.options(minPartitions=str(PIECES), **options).load()


def _seconds(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _drop(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def read(*, address: str, topic: str, count: int, size: int, master: str, rounds: int) -> dict[str, Any]:
    """The same rows from the broker, from Parquet, by a source that makes a tuple of each, and ready ones, in turns."""
    spark = _session(master)
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        parquet = f"{folder}/rows"
        fifth = json.dumps({topic: dict.fromkeys(("0", "1"), count // 2 // FEWER)})
        _table(spark, address, topic).write.option("compression", "none").parquet(parquet)
        sources: dict[str, Callable[[], DataFrame]] = {
            "goqueue": lambda: _table(spark, address, topic),
            "parquet": lambda: spark.read.parquet(parquet),
            "rows": lambda: _table(spark, address, topic, "goqueue-rows", endingOffsets=fifth),
            "ready": lambda: spark.read.format("ready").options(count=str(count), size=str(size)).load(),
            "pruned": lambda: (
                spark.read.format("goqueue")
                .schema("value binary")
                .option("bootstrap", address)
                .option("subscribe", topic)
                .option("minPartitions", str(PIECES))
                .load()
            ),
        }
        figures: dict[str, list[float]] = {name: [] for name in sources}
        for number in range(rounds + 1):
            for name, source in sources.items():
                taken = _seconds(lambda source=source: _drop(source()))  # type: ignore[misc]
                if number:
                    # The first round warms up Java.
                    figures[name].append(count / (FEWER if name == "rows" else 1) / taken)
        assert _table(spark, address, topic).count() == count
    spark.stop()
    return figures


def write(*, address: str, topic: str, count: int, master: str, rounds: int) -> dict[str, Any]:
    spark = _session(master)
    rows = (
        spark.range(0, count, 1, PIECES).selectExpr("repeat('x', 92) || lpad(cast(id as string), 8, '0') value").cache()
    )
    rows.count()
    figures = []
    for number in range(rounds + 1):
        writer = rows.write.format("goqueue").mode("append").option("bootstrap", address).option("topic", topic)
        taken = _seconds(writer.save)
        if number:
            figures.append(count / taken)
    spark.stop()
    return {"per_s": figures}


def floor(*, address: str, topic: str, batches: int, master: str) -> dict[str, Any]:
    """One record to a batch: what is left is what a batch costs."""
    with Producer(address) as producer:
        producer.send_many(topic, [b"x"] * batches, partition=0)
    spark = _session(master)
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        query = (
            spark.readStream.format("goqueue")
            .option("bootstrap", address)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", "1")
            .load()
            .writeStream.format("noop")
            .option("checkpointLocation", f"{folder}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        taken = [one["durationMs"]["triggerExecution"] for one in query.recentProgress]
    spark.stop()
    # The first ones start Python.
    return {"ms": taken[3:]}


def latency(*, address: str, topic: str, target: str, rate: int, seconds: float, master: str) -> dict[str, Any]:
    """From a producer through a query to a consumer of what it wrote, at a steady rate, of what is sent when warm."""
    spark = _session(master)
    arrived: list[tuple[float, float]] = []
    """When it was sent, and how long it took."""
    ended = threading.Event()

    def consume() -> None:
        with Consumer(target, bootstrap=address, start="earliest") as consumer:
            while not ended.is_set():
                found = consumer.poll(wait_ms=200, limit=10_000)
                now = time.time()
                arrived.extend((sent := float(one.value[:20]), now - sent) for one in found if one.value)

    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        query = (
            spark.readStream.format("goqueue")
            .option("bootstrap", address)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .load()
            .select("key", "value")
            .writeStream.format("goqueue")
            .option("bootstrap", address)
            .option("topic", target)
            .option("checkpointLocation", f"{folder}/checkpoint")
            .start()
        )
        reader = threading.Thread(target=consume)
        reader.start()
        with Producer(address) as producer:
            # Starting Java and Python is not what one waits for later, nor what piles up meanwhile.
            sent = _send_steadily(producer, topic, rate, WARM_UP_S)
            _until(lambda: len(arrived) >= sent)
            sent += _send_steadily(producer, topic, rate, WARM_UP_S)
            begun = time.time()
            measured = _send_steadily(producer, topic, rate, seconds)
            _until(lambda: len(arrived) >= sent + measured)
        ended.set()
        reader.join()
        batches = [one["durationMs"]["triggerExecution"] for one in query.recentProgress if one["numInputRows"]]
        query.stop()
    spark.stop()
    steady = [one for one in arrived if one[0] >= begun]
    waits = sorted(wait for _, wait in steady)
    middle = begun + seconds / 2
    return {
        "p50_ms": 1e3 * statistics.median(waits),
        "p99_ms": 1e3 * waits[int(len(waits) * 0.99)],
        "first_half_ms": 1e3 * statistics.median(wait for at, wait in steady if at < middle),
        "second_half_ms": 1e3 * statistics.median(wait for at, wait in steady if at >= middle),
        "sent_per_s": measured / seconds,
        "batch_ms": statistics.median(batches),
    }


def _until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + LONGEST_WAIT_S
    while not holds():
        assert time.monotonic() < ends, "records do not arrive"
        time.sleep(0.05)


def _send_steadily(producer: Producer, topic: str, rate: int, seconds: float) -> int:
    """How many it sent."""
    begun = time.monotonic()
    sent = 0
    while (passed := time.monotonic() - begun) < seconds:
        due = int(rate * passed) - sent
        if due:
            stamp = b"%020.6f" % time.time()
            producer.send_many(topic, [stamp + b"x" * 80] * due)
            sent += due
        time.sleep(TICK_S)
    return sent


def fill(*, address: str, topic: str, count: int, size: int, varied: bool = False) -> dict[str, Any]:
    """The same value in all records; or random bytes, another value in each."""
    batch = codec.encode([Record(b"x" * size, b"key-%04d" % number) for number in range(1000)])
    with Producer(address) as producer:
        for number in range(count // 1000):
            if varied:
                batch = codec.encode([Record(os.urandom(size), b"key-%04d" % one) for one in range(1000)])
            producer.send_batch(topic, number % 2, batch, 1000)
        producer.flush()
    return {}


if __name__ == "__main__":
    kind, arguments = sys.argv[1:]
    works = {work.__name__: work for work in (read, write, floor, latency, fill)}
    print(json.dumps(works[kind](**json.loads(arguments))))
