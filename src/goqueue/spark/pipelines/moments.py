"""Stretches of time for trends: how wide they are, and into which one something falls."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import Column

__all__ = ["moment_in", "width_s"]

WIDTHS_S = (1, 5, 15, 60, 300, 900, 3600, 3 * 3600, 12 * 3600, 86_400, 7 * 86_400, 30 * 86_400)
MOST_STRETCHES = 60


def width_s(first: "datetime | None", last: "datetime | None") -> int:
    """Round, and such that there are not more of them than can be seen."""
    span_s = 0.0 if first is None or last is None else (last - first).total_seconds()
    fitting = (width for width in WIDTHS_S if span_s / width <= MOST_STRETCHES)
    return next(fitting, int(span_s / MOST_STRETCHES) + 1)


def moment_in(moment: "Column", width_s: int) -> "Column":
    """Where the stretch begins that it falls into."""
    return F.timestamp_seconds(F.floor(F.unix_seconds(moment) / width_s) * width_s)
