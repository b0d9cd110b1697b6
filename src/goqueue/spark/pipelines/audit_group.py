"""How far a group has come in a topic, by the word of the broker: what is done, what is left, what was given up."""

from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import functions as F

from goqueue.client.admin import Admin
from goqueue.errors import UnknownGroup
from goqueue.spark.broker import ask
from goqueue.spark.pipelines.audit_checks import VIOLATION, violations_of
from goqueue.spark.pipelines.letters import READ, as_letters
from goqueue.spark.pipelines.stretches import Stretch, stretch_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["GroupProgress", "dead_letters_of", "dead_twice", "progress_of_group", "undone", "unreachable"]


class GroupProgress(msgspec.Struct, frozen=True):
    """Of one partition. All below `committed` is done: acknowledged, given up as a dead letter, or passed over."""

    partition: int
    start: int
    """Where the log begins now."""
    committed: int | None
    end: int


def progress_of_group(bootstrap: str, group: str, stretch: Stretch) -> list[GroupProgress]:
    async def look() -> dict[int, int]:
        async with Admin(bootstrap) as admin:
            known = {one.group for one in await admin.list_groups()}
            if group not in known:
                raise UnknownGroup(f"there is no group {group}")
            offsets = await admin.committed_offsets(group, [stretch.topic])
            return {log.partition: offset for log, offset in offsets.items()}

    committed = ask(look)
    whole = stretch_of(bootstrap, stretch.topic)
    return [
        GroupProgress(number, whole.starts[number], committed.get(number), end)
        for number, end in sorted(stretch.ends.items())
    ]


def unreachable(spark: "SparkSession", progress: list[GroupProgress]) -> "DataFrame":
    """Offsets that were removed from the log before the group was done with them."""
    rows = [
        ("group", "lost", one.partition, one.committed, None, one.start - one.committed, _words(one))
        for one in progress
        if one.committed is not None and one.committed < one.start
    ]
    return spark.createDataFrame(rows, VIOLATION)


def _words(one: GroupProgress) -> str:
    return f"the log begins at {one.start}, and the group had come to {one.committed}"


def undone(facts: "DataFrame", progress: list[GroupProgress]) -> "DataFrame":
    """Records that are not below what the group has committed: some may be done, but the broker does not say which."""
    begun = [(one.partition, one.committed) for one in progress if one.committed is not None]
    if not begun:
        return facts
    committed = F.create_map(*(F.lit(value) for row in begun for value in row))[F.col("partition")]
    return facts.where(committed.isNull() | (F.col("offset") >= committed))


def dead_letters_of(spark: "SparkSession", stretch: Stretch, group: str) -> "DataFrame | None":
    """Letters of the group that come from the stretch, also those that were sent back; None if there is no topic."""

    async def find() -> str | None:
        async with Admin(stretch.bootstrap) as admin:
            named = (await admin.topic(stretch.topic)).config.dead_letter_topic or f"{stretch.topic}.dlq"
            return named if any(one.name == named for one in await admin.topics()) else None

    topic = ask(find)
    if topic is None:
        return None
    letters = as_letters(stretch_of(stretch.bootstrap, topic).read(spark).select(*READ))
    return letters.where((F.col("topic") == F.lit(stretch.topic)) & (F.col("group") == F.lit(group))).select(
        F.col("origin_partition").alias("partition"), F.col("origin_offset").alias("offset"), "cause"
    )


def dead_twice(letters: "DataFrame") -> "DataFrame":
    """A record is given up once: a second letter of the same place is one too many."""
    found = letters.groupBy("partition", "offset").agg(F.count("*").alias("times")).where("times > 1")
    detail = F.format_string("%d dead letters of one record", "times")
    return violations_of(found, "group", "dead twice", detail, records=F.col("times") - 1)
