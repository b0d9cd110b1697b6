"""Follow the log in micro-batches. Where it stands is in Spark's checkpoint alone: a replayed batch is the same.

The end of a batch is a last stable offset: every transaction before it has ended, and what it shows never changes.
"""

import time
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from goqueue.errors import OffsetOutOfRange
from goqueue.model.log import LogId
from goqueue.spark.broker import RESTARTS_WITHIN_S, Places
from goqueue.spark.failures import plainly
from goqueue.spark.options import LATEST, ReadOptions
from goqueue.spark.ranges import Piece, Range, cut, limited, limited_by_time
from goqueue.spark.reading import read_piece

__all__ = ["StreamReader"]

Kept = dict[str, dict[str, int]]
"""By topic and partition, as JSON has it: keys are strings."""


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lives in a process of Spark's own as long as the query; `read` runs in tasks."""

    def __init__(self, options: ReadOptions, schema: pa.Schema) -> None:
        self._options = options
        self._schema = schema
        self._places = Places(options, patience_s=RESTARTS_WITHIN_S)
        self._target: dict[LogId, int] | None = None
        """With `availableNow`: where everything ended when the query began."""

    # Where to read.

    @plainly
    def initialOffset(self) -> Kept:  # noqa: N802
        options, logs = self._options, self._places.partitions()
        if options.starting_ns is not None:
            return _kept(self._places.at(logs, options.starting_ns))
        return _kept(self._places.given(logs, LATEST if options.starting is None else options.starting))

    @plainly
    def latestOffset(self, start: Kept, limit: ReadLimit) -> Kept:  # noqa: N802
        ends = self._target if self._target is not None else self._ends()
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        known = _places(start)
        begun = {log: self._begin(log, known.get(log), 0, end) for log, end in ends.items()}
        if self._options.align_by_time:
            return _kept(limited_by_time(begun, ends, most, lambda at: self._places.at(ends, at), time.time_ns()))
        return _kept(limited(begun, ends, most))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self._options.max_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    @plainly
    def reportLatestOffset(self) -> Kept:  # noqa: N802
        return _kept(self._ends())

    @plainly
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self._ends()

    def _ends(self) -> dict[LogId, int]:
        """Never beyond the end that was given, if there is one."""
        options, logs = self._options, self._places.partitions()
        ends = self._places.at(logs, "latest")
        if options.ending_ns is not None:
            given = self._places.at(logs, options.ending_ns)
        else:
            given = self._places.given(logs, options.ending) if options.ending != LATEST else ends
        return {log: min(at, given[log]) for log, at in ends.items()}

    # Reading.

    @plainly
    def partitions(self, start: Kept, end: Kept) -> Sequence[InputPartition]:
        begun, ends = _places(start), _places(end)
        first = self._places.at(ends, "earliest")
        ranges = [Range(log, self._begin(log, begun.get(log), first[log], at), at) for log, at in ends.items()]
        return cut(ranges, pieces=self._options.min_partitions, most=self._options.piece_records)

    def _begin(self, log: LogId, start: int | None, first: int, end: int) -> int:
        """A partition that is new to the query is read from its beginning."""
        if start is None:
            return first
        if first <= start <= end:
            return start
        if self._options.fail_on_data_loss:
            lost = f"begins at offset {first}: retention was quicker" if start < first else f"ends at offset {end}"
            raise OffsetOutOfRange(
                f"this query has come to offset {start} of {log}, which {lost}",
                hint="set failOnDataLoss to false to go on with what is there, or begin with a new checkpoint",
            )
        return first

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Piece)
        return read_piece(self._options, partition, self._schema)

    @plainly
    def commit(self, end: Kept) -> None:
        """For the operator, who sees the lag of the group; the query itself goes by its checkpoint."""
        if self._options.group is not None:
            self._places.commit(self._options.group, _places(end))

    def stop(self) -> None:
        self._places.close()


def _kept(offsets: Mapping[LogId, int]) -> Kept:
    found: Kept = {}
    for log, offset in sorted(offsets.items()):
        found.setdefault(log.topic, {})[str(log.partition)] = offset
    return found


def _places(kept: Kept) -> dict[LogId, int]:
    return {LogId(topic, int(number)): at for topic, numbers in kept.items() for number, at in numbers.items()}
