"""From where to where in a topic, as people write it: a time, an age, an offset, or offsets by partition."""

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.adapters.clock import SystemClock
from goqueue.cli.starting_points import parse_start

if TYPE_CHECKING:
    from goqueue.spark.pipelines.stretches import Bound

__all__ = ["FromPlaceOption", "PartitionOption", "ToPlaceOption", "parse_bound"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

FromPlaceOption = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="PLACE",
        help="Where to begin: earliest, an offset, 0=23,1=40 by partition, 2025-12-31T23:59:59Z, or an age like 15m.",
    ),
]
ToPlaceOption = Annotated[
    str, typer.Option("--to", metavar="PLACE", help="Where to end, without what is there: latest, or as above.")
]
PartitionOption = Annotated[
    list[int] | None,
    typer.Option("--partition", "-p", min=0, help="Only this partition; may be given many times.", show_default=False),
]

_BY_PARTITION = re.compile(r"\d+=\d+(,\d+=\d+)*", re.ASCII)


def parse_bound(text: str) -> "Bound":
    if _BY_PARTITION.fullmatch(text):
        pairs = (pair.split("=") for pair in text.split(","))
        return {int(partition): int(offset) for partition, offset in pairs}
    point = parse_start(text, now_ns=SystemClock().now_ns())
    if point.value is None:
        return point.kind
    return point.value if point.kind == "offset" else EPOCH + timedelta(microseconds=point.value // 1000)
