"""A query that starts at the latest offsets and never comes to the end of its first batch."""

import argparse
import threading

from goqueue.spark import open_session


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--topic", required=True)
    given = parser.parse_args()
    spark = open_session("held in its first batch", master="local[1]", settings={"spark.log.level": "ERROR"})

    def hold(_rows, _number):
        print("started", flush=True)
        threading.Event().wait()

    source = spark.readStream.format("goqueue").option("bootstrap", given.bootstrap).option("subscribe", given.topic)
    writer = source.load().writeStream.foreachBatch(hold)
    writer.option("checkpointLocation", f"{given.folder}/checkpoint").start().awaitTermination()


if __name__ == "__main__":
    main()
