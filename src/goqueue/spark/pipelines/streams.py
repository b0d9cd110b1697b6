"""Streaming queries of a job: run to their end, or until somebody stops them."""

from collections.abc import Iterable
from contextlib import suppress

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

__all__ = ["Progress", "finish", "triggered"]

LOOK_EVERY_S = 1


class Progress(msgspec.Struct):
    """What a query has done so far; Spark itself remembers only its last batches."""

    batches: int = 0
    rows_in: int = 0
    rows_out: int | None = 0
    """None for sinks that Spark does not count for."""
    last_batch: int = -1
    watermark: str | None = None
    observed: dict[str, int] = {}
    """Sums of what the query observes, by name."""

    def take(self, query: StreamingQuery) -> None:
        for one in query.recentProgress:
            self.watermark = (one["eventTime"] or {}).get("watermark", self.watermark)
            if one["batchId"] > self.last_batch and one["durationMs"].get("addBatch") is not None:
                self.last_batch = one["batchId"]
                self.batches += 1
                self.rows_in += one["numInputRows"]
                told = one["sink"]["numOutputRows"]
                for row in one["observedMetrics"].values():
                    for name, number in row.asDict().items():
                        self.observed[name] = self.observed.get(name, 0) + number
                self.rows_out = None if self.rows_out is None or told < 0 else self.rows_out + told


def triggered(writer: DataStreamWriter, *, follow: bool, every: str) -> DataStreamWriter:
    """All that is there, or all that ever comes."""
    return writer.trigger(processingTime=every) if follow else writer.trigger(availableNow=True)


def finish(queries: Iterable[StreamingQuery], *, follow: bool) -> list[Progress]:
    """Wait for all. When one fails the others are stopped; Ctrl-C is how following ends."""
    running = list(queries)
    seen = [Progress() for _ in running]
    left = list(zip(running, seen, strict=True))
    try:
        while left:
            left = [(query, progress) for query, progress in left if not _ended(query, progress)]
    except KeyboardInterrupt:
        if not follow:
            raise
    finally:
        for query in running:
            with suppress(PySparkException):
                query.stop()
    return seen


def _ended(query: StreamingQuery, progress: Progress) -> bool:
    """Raises what the query failed with."""
    ended = query.awaitTermination(LOOK_EVERY_S)
    progress.take(query)
    return bool(ended)
