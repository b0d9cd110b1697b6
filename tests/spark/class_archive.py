"""Write the classes that Java has loaded after typical queries into a file, from which the tests' Java starts sooner.

Made by `make test` while the static checks run.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyspark
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)

from goqueue.errors import GoQueueError
from goqueue.spark.session import check_java, open_session
from tests.spark.quick_java import ARCHIVE, QUICK, start_soon

WITHIN_S = 120


class Source(DataSource):
    """Like ours, without a broker."""

    @classmethod
    def name(cls) -> str:
        return "typical"

    def schema(self) -> str:
        return "partition int, offset long, timestamp timestamp, key binary, value binary"

    def reader(self, schema: object) -> DataSourceReader:
        return Reader()

    def writer(self, schema: object, overwrite: bool) -> DataSourceArrowWriter:
        return Writer()


class Reader(DataSourceReader):
    def partitions(self) -> list[InputPartition]:
        return [InputPartition(0), InputPartition(1)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict(
            {
                "partition": pa.array([partition.value] * 3, pa.int32()),
                "offset": pa.array(range(3), pa.int64()),
                "timestamp": pa.array(range(3), pa.timestamp("us", tz="UTC")),
                "key": pa.array([b"a", b"b", None], pa.binary()),
                "value": pa.array([b'{"n": 1}', b'{"n": 2}', None], pa.binary()),
            }
        )


class Writer(DataSourceArrowWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()


def typical_queries(spark: SparkSession, folder: str) -> None:
    spark.dataSource.register(Source)
    rows = spark.read.format("typical").load()
    latest = Window.partitionBy("key").orderBy(F.col("offset").desc())
    known = rows.withColumn("n", F.get_json_object(F.col("value").cast("string"), "$.n")).persist()
    known.withColumn("number", F.row_number().over(latest)).where("number = 1").collect()
    known.groupBy("key").agg(F.count("*"), F.max("timestamp"), F.countDistinct("n")).orderBy("key").collect()
    known.join(known.select("key", "offset"), "key", "full_outer").count()
    known.unpersist()
    spark.createDataFrame([(1, b"a")], "a int, b binary").select(F.sha2("b", 256)).collect()
    rows.repartition("partition").sortWithinPartitions("offset").write.format("typical").mode("append").save()
    rows.write.partitionBy("partition").parquet(f"{folder}/table")
    spark.read.parquet(f"{folder}/table").where("offset > 0").toArrow()
    _stream(spark, folder)


def _stream(spark: SparkSession, folder: str) -> None:
    def batch(frame: DataFrame, _number: int) -> None:
        frame.count()

    stream = spark.readStream.schema("offset long, timestamp timestamp, key binary").parquet(f"{folder}/table")
    counted = stream.withWatermark("timestamp", "1 minute").groupBy(F.window("timestamp", "1 minute")).count()
    for number, writer in enumerate(
        (stream.writeStream.foreachBatch(batch), counted.writeStream.format("parquet").option("path", f"{folder}/out"))
    ):
        checkpoint = f"{folder}/checkpoint-{number}"
        writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()


def main() -> None:
    try:
        check_java()
    except GoQueueError as error:
        print(f"no archive of Spark's classes: {error.message}")
        return
    if ARCHIVE.exists() and ARCHIVE.stat().st_mtime > Path(pyspark.__file__).stat().st_mtime:
        return
    fresh = ARCHIVE.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    start_soon(os.environ)
    os.environ["SPARK_SUBMIT_OPTS"] = f"{QUICK} -XX:ArchiveClassesAtExit={fresh}"
    with tempfile.TemporaryDirectory() as folder:
        spark = open_session("classes", master="local[2]", settings={"spark.log.level": "ERROR"})
        typical_queries(spark, folder)
        spark.stop()
    gateway = SparkContext._gateway
    assert gateway is not None
    # Java ends, and writes the file, when nobody can tell it anything any more.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(WITHIN_S)
    fresh.replace(ARCHIVE)


if __name__ == "__main__":
    main()
