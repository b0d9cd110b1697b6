"""Every option of the format is tried in a full query, and is in the guide; a new one fails until both are done."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from goqueue.client.sync import Admin, Producer, Worker
from goqueue.model.log import LogId
from goqueue.spark import reason
from goqueue.spark.options import NAMES
from tests.behaviour.serving import Server, free_port
from tests.docs.data_folder import stopped_data_folder

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "spark.md"
ROW = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \|", re.MULTILINE)
SLOW_ROWS = """
    repeat(string(id), 200000) || coalesce(java_method('java.lang.Thread', 'sleep', if(id > 0, 2000L, 0L)), '') AS value
"""


class Scene(NamedTuple):
    """A topic of two partitions, with the values 0 to 9 in the first."""

    spark: SparkSession
    server: Server
    admin: Admin
    producer: Producer
    topic: str
    folder: Path

    def _with(self, reader: Any, options: dict[str, str]) -> Any:
        return reader.format("goqueue").options(**{"bootstrap": self.server.native} | options)

    def table(self, **options: str) -> DataFrame:
        return self._with(self.spark.read, {"subscribe": self.topic} | options).load()

    def rows(self, **options: str) -> str:
        """All values, one behind the other, in their order."""
        found = self.table(**options).selectExpr("partition", "offset", "string(value)").collect()
        return "".join(row.value for row in sorted(found))

    def stream(self, **options: str) -> tuple[list[int], str]:
        """How many rows each batch had, and all values, up to the end of the topic."""
        given = {"subscribe": self.topic, "startingOffsets": "earliest"} | options
        values: list[str] = []

        def take(batch: DataFrame, _: int) -> None:
            values.extend(sorted(row[0] for row in batch.selectExpr("string(value)").collect()))

        writer = self._with(self.spark.readStream, given).load().writeStream.foreachBatch(take)
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint")).trigger(availableNow=True)
        query = writer.start()
        query.awaitTermination()
        sizes = [batch["numInputRows"] for batch in query.recentProgress if batch["numInputRows"]]
        return sizes, "".join(values)

    def write(self, frame: DataFrame, **options: str) -> None:
        given = {"bootstrap": self.server.native, "topic": self.topic} | options
        frame.write.format("goqueue").mode("append").options(**given).save()

    def offsets(self, first: int) -> str:
        return json.dumps({self.topic: {"0": first, "1": -1}})

    def time(self, offset: int) -> str:
        return (
            self.table()
            .where(f"partition = 0 and offset = {offset}")
            .selectExpr("date_format(timestamp, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'\") AS at")
            .first()["at"]
        )


@pytest.fixture
def scene(spark, server, admin, producer, topic, tmp_path):
    for number in range(10):
        producer.send(topic, b"%d" % number, partition=0).result()
    return Scene(spark, server, admin, producer, topic, tmp_path)


def bootstrap(on: Scene) -> None:
    assert on.rows(bootstrap=on.server.native) == "0123456789"
    nowhere = f"127.0.0.1:{free_port()}"
    with pytest.raises(Exception, match=nowhere):
        on.rows(bootstrap=nowhere)


def path(on: Scene) -> None:
    stopped_data_folder(on.folder / "data", "kept", b"a", b"b")
    frame = on.spark.read.format("goqueue").option("subscribe", "kept").load(str(on.folder / "data"))
    assert [bytes(row.value) for row in frame.orderBy("offset").collect()] == [b"a", b"b"]


def subscribe(on: Scene) -> None:
    on.admin.create_topic(f"{on.topic}-2", 1)
    on.producer.send(f"{on.topic}-2", b"x").result()
    assert on.rows(subscribe=f"{on.topic},{on.topic}-2") == "0x123456789"


def subscribe_pattern(on: Scene) -> None:
    frame = on._with(on.spark.read, {"subscribePattern": f"{on.topic[:-1]}."}).load()
    assert frame.count() == 10


def assign(on: Scene) -> None:
    for partition, count in ((0, 10), (1, 0)):
        frame = on._with(on.spark.read, {"assign": json.dumps({on.topic: [partition]})}).load()
        assert frame.count() == count


def starting_offsets(on: Scene) -> None:
    assert on.rows(startingOffsets=on.offsets(7)) == "789"
    assert on.stream(startingOffsets=on.offsets(8))[1] == "89"


def ending_offsets(on: Scene) -> None:
    assert on.rows(endingOffsets=on.offsets(3)) == "012"
    assert on.stream(endingOffsets=on.offsets(2))[1] == "01"


def starting_timestamp(on: Scene) -> None:
    assert on.rows(startingTimestamp=on.time(6)) == "6789"


def ending_timestamp(on: Scene) -> None:
    assert on.rows(endingTimestamp=on.time(4)) == "0123"


def max_offsets_per_trigger(on: Scene) -> None:
    assert on.stream(maxOffsetsPerTrigger="4") == ([4, 4, 2], "0123456789")


def align_by_time(on: Scene) -> None:
    for number in range(10):
        on.producer.send(on.topic, b"%d" % number, partition=1).result()
    given = {"maxOffsetsPerTrigger": "10", "startingOffsets": "earliest", "alignByTime": "true"}
    # Those of the second partition are younger than all of the first.
    assert on.stream(**given) == ([10, 10], "0123456789" * 2)


def min_partitions(on: Scene) -> None:
    assert on.table(minPartitions="5").rdd.getNumPartitions() == 5


def max_records_per_partition(on: Scene) -> None:
    assert on.table(maxRecordsPerPartition="3").rdd.getNumPartitions() == 4


def fail_on_data_loss(on: Scene) -> None:
    on.stream()
    on.admin.delete_topic(on.topic)
    on.admin.create_topic(on.topic, 2)
    on.producer.send_many(on.topic, [b"a", b"b"], partition=0)
    with pytest.raises(Exception) as failed:
        on.stream(failOnDataLoss="true")
    assert "failOnDataLoss" in reason(failed.value)
    assert on.stream(failOnDataLoss="false")[1] == "ab"


def include_headers(on: Scene) -> None:
    on.producer.send(on.topic, b"x", headers=[("shop", b"Graz")], partition=1).result()
    row = on.table(includeHeaders="true").where("partition = 1").first()
    assert [(one.key, bytes(one.value)) for one in row.headers] == [("shop", b"Graz")]
    assert "headers" not in on.table(includeHeaders="false").columns


def isolation(on: Scene) -> None:
    with Producer(on.server.native, transactional_id=on.topic) as open_one, open_one.transaction() as transaction:
        open_one.send_many(on.topic, [b"x"], partition=1)
        assert on.rows(isolation="read_committed") == "0123456789"
        assert on.rows(isolation="read_uncommitted") == "0123456789x"
        transaction.abort()


def group_id(on: Scene) -> None:
    on.stream(maxOffsetsPerTrigger="5", groupId=f"{on.topic}-group")
    assert on.admin.committed_offsets(f"{on.topic}-group")[LogId(on.topic, 0)] == 10


def group_id_prefix(on: Scene) -> None:
    on.stream(maxOffsetsPerTrigger="5", groupIdPrefix=f"{on.topic}-lag")
    assert on.admin.committed_offsets(f"{on.topic}-lag")[LogId(on.topic, 0)] == 10


def queue(on: Scene) -> None:
    assert on.stream(queue="workers") == ([10], "0123456789")
    assert on.table(startingOffsets=on.offsets(0)).count() == 10


def visibility_timeout(on: Scene) -> None:
    """A driver that is gone with its leases is not waited for longer than this."""
    given = {"subscribe": on.topic, "queue": "workers", "visibilityTimeout": "1500"}
    frame = on._with(on.spark.readStream, given).load()
    query = frame.selectExpr("raise_error('broken')").writeStream.format("noop")
    with pytest.raises(Exception, match="broken"):
        query.option("checkpointLocation", str(on.folder / "broken")).trigger(
            availableNow=True
        ).start().awaitTermination()
    with Worker(on.topic, group="workers", bootstrap=on.server.native) as worker:
        assert len(worker.take(100, wait_ms=60_000)) == 10


def target_topic(on: Scene) -> None:
    on.admin.create_topic(f"{on.topic}-2", 1)
    on.write(on.spark.sql("SELECT 'x' AS value"), topic=f"{on.topic}-2")
    assert on.rows(subscribe=f"{on.topic}-2") == "x"


def query_name(on: Scene) -> None:
    for _ in range(2):
        on.write(on.spark.sql("SELECT 'x' AS value, 1 AS partition"), queryName=on.topic)
    assert on.rows() == "0123456789x"


def part_timeout(on: Scene) -> None:
    slow = on.spark.range(3).coalesce(1).selectExpr(SLOW_ROWS)
    at_once = on.spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    on.spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1")
    try:
        with pytest.raises(Exception) as failed:
            on.write(slow, partTimeout="200")
        assert "time" in reason(failed.value)
        on.write(slow, partTimeout="60000")
    finally:
        on.spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", at_once)
    assert on.table().count() == 13


CASES: dict[str, Callable[[Scene], None]] = {
    "bootstrap": bootstrap,
    "path": path,
    "subscribe": subscribe,
    "subscribePattern": subscribe_pattern,
    "assign": assign,
    "startingOffsets": starting_offsets,
    "endingOffsets": ending_offsets,
    "startingTimestamp": starting_timestamp,
    "endingTimestamp": ending_timestamp,
    "maxOffsetsPerTrigger": max_offsets_per_trigger,
    "alignByTime": align_by_time,
    "minPartitions": min_partitions,
    "maxRecordsPerPartition": max_records_per_partition,
    "failOnDataLoss": fail_on_data_loss,
    "includeHeaders": include_headers,
    "isolation": isolation,
    "groupId": group_id,
    "groupIdPrefix": group_id_prefix,
    "queue": queue,
    "visibilityTimeout": visibility_timeout,
    "topic": target_topic,
    "queryName": query_name,
    "partTimeout": part_timeout,
}


def test_the_guide_explains_every_option_and_no_other():
    section = GUIDE.read_text().partition("## Options")[2].partition("\n## ")[0]
    explained = [name.strip("`") for row in ROW.findall(section) for name in row.split(", ")]
    assert sorted(explained) == sorted(NAMES)


def test_there_is_a_case_here_for_every_option_and_no_other():
    assert sorted(CASES) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_option_does_in_a_query_what_the_guide_says(name, scene):
    CASES[name](scene)
