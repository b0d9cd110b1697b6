"""Queries that are killed again and again: a topic goes to another one and to Parquet, each record exactly once."""

import argparse
import json
import random

import pyarrow as pa
from pyspark.sql import functions as F

from goqueue.spark import open_session

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "512m",
    # A task that is slow for no reason is run a second time beside the first.
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1",
    "spark.speculation.quantile": "0.1",
}
FAILS_AT = 0.05


def now_and_then_failing(batches):
    for batch in batches:
        if random.random() < FAILS_AT:
            raise RuntimeError("this task was to fail")
        yield pa.RecordBatch.from_arrays(
            [batch.column("key"), pa.array([b"done " + one for one in batch.column("value").to_pylist()], pa.binary())],
            names=["key", "value"],
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--to-the-end", action="store_true")
    given = parser.parse_args()
    # Every task may be tried four times, as on a cluster.
    spark = open_session("killed now and then", master="local[2,4]", settings=SETTINGS)
    source = (
        spark.readStream.format("goqueue")
        .option("bootstrap", given.bootstrap)
        .option("subscribe", "in")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "5000" if given.to_the_end else "400")
        .load()
    )
    done = source.select("key", "value").mapInArrow(now_and_then_failing, "key binary, value binary")
    to_topic = done.writeStream.format("goqueue").option("bootstrap", given.bootstrap).option("topic", "out")
    to_table = source.select(F.col("value").cast("string")).writeStream.format("parquet")
    to_table = to_table.option("path", f"{given.folder}/table")
    queries = []
    for name, writer in (("topic", to_topic), ("table", to_table)):
        writer = writer.option("checkpointLocation", f"{given.folder}/{name}.checkpoint")
        queries.append((writer.trigger(availableNow=True) if given.to_the_end else writer).start())
    print("started", flush=True)
    for query in queries:
        query.awaitTermination()
    rows = spark.read.parquet(f"{given.folder}/table")
    counted = rows.agg(F.count("*"), F.countDistinct("value")).first()
    print(json.dumps({"rows": counted[0], "distinct": counted[1]}), flush=True)


if __name__ == "__main__":
    main()
