"""What makes two records the same, or tells their order: a key, a value, a header, a field of JSON."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from goqueue.errors import InvalidRequest
from goqueue.model.record_id import ID_HEADER

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["REDRIVEN_FROM", "REPLAYED_FROM", "content", "feature", "header", "place"]

REPLAYED_FROM = "goqueue-replayed-from"
"""A header of copies: the place of the original, as topic/partition/offset."""
REDRIVEN_FROM = "goqueue-redriven-from"
"""A header of records that were sent back: the place of the dead letter, written in the same way."""


def feature(by: str) -> "Column":
    """As bytes; null for records that do not have it. `by` is key, value, header:NAME or field:NAME."""
    kind, _, name = by.partition(":")
    match kind:
        case "key" if not name:
            return F.col("key")
        case "value" if not name:
            return F.unhex(F.sha2(F.col("value"), 256))
        case "header":
            return header(name or ID_HEADER)
        case "field" if name:
            path = name if name.startswith("$") else f"$.{name}"
            return F.get_json_object(F.col("value").cast("string"), path).cast("binary")
    raise InvalidRequest(
        f"{by!r} is nothing to tell records by",
        hint=f"use key, value, header:NAME (header alone is {ID_HEADER}), or field:NAME for a field of JSON",
    )


def header(name: str) -> "Column":
    """The last one of that name: of several, it is the one that counts."""
    named = F.filter(F.col("headers"), lambda one: one["key"] == F.lit(name))
    return F.get(F.reverse(named), F.lit(0))["value"]


def content() -> "Column":
    """A digest of key and value; one that is missing is not the same as one that is empty."""
    parts = (F.coalesce(F.hex(F.col(name)), F.lit("none")) for name in ("key", "value"))
    return F.unhex(F.sha2(F.concat_ws("/", *parts).cast("binary"), 256))


def place(topic: "Column") -> "Column":
    """As copies name their origin."""
    return F.concat_ws("/", topic, F.col("partition"), F.col("offset")).cast("binary")
