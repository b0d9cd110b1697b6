"""What a replay is about, kept beside its checkpoint: run again, it goes on with what was meant the first time."""

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from goqueue.errors import AlreadyDecided, InvalidRequest
from goqueue.spark.pipelines.files import Files
from goqueue.spark.pipelines.stretches import Stretch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Plan", "is_kept", "kept_plan"]

FILE = "plan.json"


class Plan(msgspec.Struct, frozen=True):
    """`latest` is a number here: where the topic ended when the replay was first run."""

    stretch: Stretch
    into: str
    where: str | None = None
    keep_partitions: bool = False

    def is_like(self, other: "Plan") -> bool:
        """Wherever the topic ends by now, and by whichever address the broker is reached."""
        mine, others = (
            (one.stretch.topic, one.into, one.where, one.keep_partitions, sorted(one.stretch.starts))
            for one in (self, other)
        )
        return mine == others


def is_kept(spark: "SparkSession", folder: str) -> bool:
    """Whether there is one from an earlier run."""
    return Files(spark, folder).exists(FILE)


def kept_plan(spark: "SparkSession", folder: str, wanted: Plan) -> Plan:
    """The one that was kept there before; else this one is."""
    files = Files(spark, folder)
    if not files.exists(FILE):
        # Another run of the same may be quicker.
        with suppress(AlreadyDecided):
            files.create(FILE, msgspec.json.encode(wanted))
    kept = msgspec.json.decode(files.read(FILE), type=Plan)
    if not kept.is_like(wanted):
        raise InvalidRequest(
            f"{folder} belongs to a replay of {kept.stretch.topic} into {kept.into}"
            + (f" where {kept.where}" if kept.where else ""),
            hint="repeat that one with the same words, or choose another name or folder",
        )
    stretch = msgspec.structs.replace(kept.stretch, bootstrap=wanted.stretch.bootstrap)
    return msgspec.structs.replace(kept, stretch=stretch)
