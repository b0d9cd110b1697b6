"""Follow the log in micro-batches. Where it stands is in Spark's checkpoint alone: a replayed batch is the same.

The end of a batch is a last stable offset: every transaction before it has ended, and what it shows never changes.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from goqueue.errors import OffsetOutOfRange, UnknownTopic
from goqueue.model.log import LogId
from goqueue.spark.broker import RESTARTS_WITHIN_S, Places, TopicShape
from goqueue.spark.data_loss import lose, lost_topics
from goqueue.spark.failures import plainly
from goqueue.spark.options import LATEST, ReadOptions
from goqueue.spark.ranges import Piece, Range, cut, limited, limited_by_time
from goqueue.spark.reading import read_piece
from goqueue.spark.stream_offset import StreamOffset, by_topic

__all__ = ["StreamReader"]


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lives in a process of Spark's own as long as the query; `read` runs in tasks."""

    def __init__(self, options: ReadOptions, schema: pa.Schema) -> None:
        self._options = options
        self._schema = schema
        self._places = Places(options, patience_s=RESTARTS_WITHIN_S)
        self._initial: StreamOffset | None = None
        """Where the query starts, if this process was asked: Spark asks more than once for its first batch."""
        self._target: Mapping[LogId, int] | None = None
        """With `availableNow`: where everything ended when the query began."""
        self._committed: Mapping[LogId, int] = {}
        """To the group, by this process."""

    # Where to read.

    @plainly
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        if self._initial is None:
            topics = self._places.topics()
            logs = self._places.chosen(topics)
            self._places.check_named(logs)
            self._initial = StreamOffset(self._places.starts(logs, LATEST), _created(logs, topics))
        return self._initial.kept()

    @plainly
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        before, topics = StreamOffset.of(start), self._places.topics()
        logs = self._places.chosen(topics)
        read = {name: at for name, at in before.created.items() if self._places.is_wanted(name)}
        lost = lost_topics(self._options, read, topics)
        known = {log: at for log, at in before.offsets.items() if log.topic not in lost}
        if before != self._initial:
            self._commit(known)
        if self._target is not None:
            # Partitions that came after the query had begun are for the next run.
            logs = [log for log in logs if log in self._target or log in known]
        first, last = self._places.at(logs, "earliest"), self._places.at(logs, "latest")
        begins = {log: self._begin(log, known.get(log), first[log], last[log]) for log in logs}
        ends = {log: max(begins[log], at) for log, at in self._bounded(last, self._target).items()}
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        is_first = before == self._initial
        after = StreamOffset(
            self._limited(begins, ends, most),
            _created(logs, topics),
            {log: at for log, at in begins.items() if is_first or before.offsets.get(log) != at},
        )
        is_same = not after.begins and (after.offsets, after.created) == (before.offsets, before.created)
        return start if is_same else after.kept()

    def _limited(self, begins: dict[LogId, int], ends: dict[LogId, int], most: int | None) -> dict[LogId, int]:
        if self._options.align_by_time:
            return limited_by_time(begins, ends, most, lambda time_ns: self._places.at(ends, time_ns), time.time_ns())
        return limited(begins, ends, most)

    def _bounded(self, last: Mapping[LogId, int], target: Mapping[LogId, int] | None = None) -> dict[LogId, int]:
        """Neither beyond the end that was given nor, of a query that reads what is there, beyond its target."""
        given = self._places.ends(list(last), may_come=True) if self._options.is_bounded else last
        return {log: min(at, given[log], at if target is None else target.get(log, 0)) for log, at in last.items()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self._options.max_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    @plainly
    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        logs = self._places.partitions()
        return by_topic(self._bounded(self._places.at(logs, "latest")))

    @plainly
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self._places.at(self._places.partitions(), "latest")

    def _begin(self, log: LogId, start: int | None, first: int, end: int) -> int:
        """A partition that is new to the query is read from its beginning; records that are gone are passed over."""
        if start is None:
            return first
        if first <= start <= end:
            return start
        lost = f"begins at offset {first}: retention was quicker" if start < first else f"ends at offset {end}"
        lose(self._options, f"this query has come to offset {start} of {log}, which {lost}", "go on with what is there")
        return first if start < first else end

    # Reading.

    @plainly
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start == end:
            return []
        before, after = StreamOffset.of(start), StreamOffset.of(end)
        lost = lost_topics(self._options, after.created, self._places.topics())
        ends = {log: at for log, at in after.offsets.items() if log.topic not in lost}
        first = self._places.at(ends, "earliest")
        ranges = [
            Range(log, self._begin(log, after.begin(log, before), first[log], at), at) for log, at in ends.items()
        ]
        return cut(ranges, pieces=self._options.min_partitions, most=self._options.piece_records)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Piece)
        return read_piece(self._options, partition, self._schema)

    @plainly
    def commit(self, end: dict[str, Any]) -> None:
        self._commit(StreamOffset.of(end).offsets)

    def _commit(self, offsets: Mapping[LogId, int]) -> None:
        """For the operator, who sees the lag of the group; the query itself goes by its checkpoint.

        Of its last batch Spark tells a source only when there is another. But it asks for the latest offset when the
        batches before are finished, so they are committed then.
        """
        if self._options.group is not None and offsets != self._committed:
            # A topic may be gone since, or the end of its log: the next batch tells.
            with suppress(UnknownTopic, OffsetOutOfRange):
                self._places.commit(self._options.group, offsets)
                self._committed = dict(offsets)

    def stop(self) -> None:
        self._places.close()


def _created(logs: Iterable[LogId], topics: Mapping[str, TopicShape]) -> dict[str, int]:
    return {log.topic: topics[log.topic].created_ns for log in logs}
