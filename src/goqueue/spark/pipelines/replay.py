"""Replay a stretch of a topic into another one: filtered, at a rate, each record once, with its origin in a header."""

import json
import math
import secrets
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import Observation
from pyspark.sql import functions as F

from goqueue.client.admin import Admin
from goqueue.errors import InvalidRequest, TopicExists
from goqueue.model.topic import TopicConfig
from goqueue.spark.broker import ask
from goqueue.spark.pipelines.following import Progress, progress_of
from goqueue.spark.pipelines.identity import REPLAYED_FROM, place
from goqueue.spark.pipelines.once import WITHIN_MS, key_of, was_written, write_once
from goqueue.spark.pipelines.plans import Plan, is_kept, kept_plan
from goqueue.spark.pipelines.stretches import Bound, Stretch, matching, stretch_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["PartitionCount", "Replayed", "counted", "open_sandbox", "pace", "replayed", "run"]

DAY_MS = 24 * 3600 * 1000
TOTALS = "replayed"
STATED_IDLE = "spark.sql.streaming.noDataProgressEventInterval"


class PartitionCount(msgspec.Struct, frozen=True):
    """What there is to replay of one partition."""

    partition: int
    records: int
    bytes: int
    first_offset: int
    last_offset: int
    first: str
    last: str


class Replayed(msgspec.Struct, frozen=True):
    """What was written by this run; in a dry run, what would be."""

    topic: str
    into: str
    name: str
    records: int
    bytes: int
    """Of keys and values."""
    dry_run: bool = False
    already_done: bool = False
    """An earlier run under this name has written all of it."""
    batches: int = 1
    partitions: tuple[PartitionCount, ...] = ()
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    """The stretch by partition; where it was done before, as the words of this run have it."""

    @property
    def has_no_offsets(self) -> bool:
        """The stretch is empty, whatever is wanted of it: it begins behind the end, or ends before the beginning."""
        return self.starts == self.ends


def replayed(frame: "DataFrame", *, keep_partitions: bool = False) -> "DataFrame":
    """As records for the sink. A replay of a replay names the copy that it was made of."""
    origin = F.struct(F.lit(REPLAYED_FROM).alias("key"), place(F.col("topic")).alias("value"))
    others = F.filter(F.coalesce("headers", F.array().cast(_HEADERS)), lambda one: one["key"] != F.lit(REPLAYED_FROM))
    headers = F.concat(others, F.array(origin)).alias("headers")
    kept = ("partition",) if keep_partitions else ()
    return frame.select("key", "value", "priority", headers, *kept)


_HEADERS = "array<struct<key:string,value:binary>>"


def counted(frame: "DataFrame") -> "DataFrame":
    """A row for each partition of the source."""
    return (
        frame.groupBy("partition")
        .agg(
            F.count("*").alias("records"),
            F.sum(_size()).alias("bytes"),
            F.min("offset").alias("first_offset"),
            F.max("offset").alias("last_offset"),
            _instant(F.min("timestamp")).alias("first"),
            _instant(F.max("timestamp")).alias("last"),
        )
        .orderBy("partition")
    )


def _size() -> "Column":
    return F.coalesce(F.length("key"), F.lit(0)) + F.coalesce(F.length("value"), F.lit(0))


def _instant(moment: "Column") -> "Column":
    return F.date_format(F.to_utc_timestamp(moment, F.current_timezone()), "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'")


def open_sandbox(bootstrap: str, topic: str, name: str) -> str:
    """A topic with as many partitions, whose records go after a day. Run again, it is the one from before."""

    async def create() -> str:
        async with Admin(bootstrap) as admin:
            source = await admin.topic(topic)
            config = TopicConfig(
                durability=source.config.durability, retention_ms=DAY_MS, max_value_bytes=source.config.max_value_bytes
            )
            with suppress(TopicExists):
                await admin.create_topic(sandbox_name(topic, name), source.partitions, config)
        return sandbox_name(topic, name)

    return ask(create)


def sandbox_name(topic: str, name: str) -> str:
    return f"{topic}.sandbox-{name}"


def run(
    spark: "SparkSession",
    bootstrap: str,
    topic: str,
    into: str | None = None,
    *,
    start: Bound = "earliest",
    end: Bound = "latest",
    partitions: tuple[int, ...] | None = None,
    where: str | None = None,
    rate: float | None = None,
    name: str | None = None,
    checkpoint: str | None = None,
    within_ms: int = WITHIN_MS,
    dry_run: bool = False,
) -> Replayed:
    """Into a topic, or into a sandbox when none is named. With a rate, the checkpoint says how far it has come."""
    named = name or secrets.token_hex(4)
    target = into or sandbox_name(topic, named)
    stretch = stretch_of(bootstrap, topic, start, end, partitions)
    selected = matching(stretch.read(spark, in_order=True), where)
    told = partial(Replayed, topic, target, named, starts=stretch.starts, ends=stretch.ends)
    if dry_run:
        rows = [PartitionCount(**row.asDict()) for row in counted(selected).collect()]
        sums = (sum(row.records for row in rows), sum(row.bytes for row in rows))
        return told(*sums, dry_run=True, batches=0, partitions=tuple(rows))
    if into is not None:
        _check_topic(bootstrap, into)
    noted = checkpoint or f"replay-{named}"
    # Not of the stretch: an age, or the end, is another place whenever it is looked at.
    key = key_of(f"replay/{named}", topic=topic, into=target, partitions=partitions, where=where)
    begun = was_written(bootstrap, key) if rate is None else is_kept(spark, noted)
    if not begun and not len(stretch):
        # Nothing is noted of it: there may be something when it is run again under this name.
        return told(0, 0, batches=0)
    if into is None:
        open_sandbox(bootstrap, topic, named)
    if rate is not None:
        plan = kept_plan(spark, noted, Plan(stretch, target, where, keep_partitions=into is None))
        return _stream(spark, plan, named, rate, noted)
    if begun:
        return told(0, 0, already_done=True, batches=0)
    totals = Observation()
    seen = selected.observe(totals, *_totals())
    write_once(replayed(seen, keep_partitions=into is None), bootstrap, target, key, within_ms=within_ms)
    # Of a write without a single task nothing is told.
    return told(totals.get.get("records") or 0, totals.get.get("bytes") or 0)


def _totals() -> "tuple[Column, Column]":
    return F.count(F.lit(1)).alias("records"), F.sum(_size()).alias("bytes")


def _check_topic(bootstrap: str, topic: str) -> None:
    async def look() -> None:
        async with Admin(bootstrap) as admin:
            await admin.topic(topic)

    ask(look)


# At a rate.


def pace(rate: float) -> tuple[int, int]:
    """So many records each time, and the milliseconds from one time to the next; never more than the rate."""
    if not 0 < rate <= 1e9:
        raise InvalidRequest(f"a rate of {rate}", hint="give records a second, more than 0")
    at_once = max(1, int(rate))
    return at_once, math.ceil(1000 * at_once / rate)


def _stream(spark: "SparkSession", plan: Plan, name: str, rate: float, checkpoint: str) -> Replayed:
    at_once, every_ms = pace(rate)
    stretch = plan.stretch
    records = size = batches = 0
    if len(stretch):
        source = spark.readStream.format("goqueue").options(**stretch.options(), maxOffsetsPerTrigger=str(at_once))
        selected = matching(source.load(), plan.where).observe(TOTALS, *_totals())
        # A query that is run again after its end learns only so that nothing is left.
        before = spark.conf.get(STATED_IDLE)
        spark.conf.set(STATED_IDLE, str(every_ms))
        query = (
            replayed(selected, keep_partitions=plan.keep_partitions)
            .writeStream.format("goqueue")
            .options(bootstrap=stretch.bootstrap, topic=plan.into, checkpointLocation=f"{checkpoint}/query")
            .trigger(processingTime=f"{every_ms} milliseconds")
            .start()
        )
        spark.conf.set(STATED_IDLE, before or "10s")
        try:
            for one in progress_of(query):
                found = one["observedMetrics"].get(TOTALS)
                if found is not None and one["numInputRows"]:
                    records, size, batches = records + found["records"], size + (found["bytes"] or 0), batches + 1
                if _is_at_end(one, stretch):
                    break
        finally:
            query.stop()
    return Replayed(
        *(stretch.topic, plan.into, name, records, size),
        already_done=batches == 0 < len(stretch),
        batches=batches,
        starts=stretch.starts,
        ends=stretch.ends,
    )


def _is_at_end(progress: Progress, stretch: Stretch) -> bool:
    text = progress["sources"][0]["endOffset"]
    reached = (json.loads(text) if isinstance(text, str) else text) or {}
    at = reached.get(stretch.topic, {})
    return all(int(at.get(str(partition), -1)) >= end for partition, end in stretch.ends.items())
