"""How unevenly records are spread over keys, exactly, from how many keys have how many records."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["gini", "lorenz", "spread"]

MOST_POINTS = 200


def spread(counts: "DataFrame") -> "DataFrame":
    """From `records` of each key: so many keys have so many records, the fewest first.

    There are few rows even for many keys: a thousand different counts need half a million records at least.
    """
    return counts.groupBy("records").agg(F.count("*").alias("keys")).orderBy("records")


def gini(rows: Sequence[Any]) -> float:
    """0 when all keys have as many records, near 1 when one has nearly all."""
    keys, records = _shares(rows)
    if not rows:
        return 0.0
    steps = pairwise(zip(keys, records, strict=True))
    below = sum((to - start) * (low + high) for (start, low), (to, high) in steps)
    return max(0.0, 1.0 - below)


def lorenz(rows: Sequence[Any]) -> tuple[list[float], list[float]]:
    """Which share of the keys has which share of the records; not more points than can be seen."""
    keys, records = _shares(rows)
    step = max(1, len(keys) // MOST_POINTS)
    chosen = sorted({*range(0, len(keys), step), len(keys) - 1})
    return [keys[at] for at in chosen], [records[at] for at in chosen]


def _shares(rows: Sequence[Mapping[str, int]]) -> tuple[list[float], list[float]]:
    keys = list(accumulate((row["keys"] for row in rows), initial=0))
    records = list(accumulate((row["keys"] * row["records"] for row in rows), initial=0))
    return [at / max(1, keys[-1]) for at in keys], [at / max(1, records[-1]) for at in records]
