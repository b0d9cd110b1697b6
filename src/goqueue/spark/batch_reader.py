"""Read what lies between two places of the log; filters on partition, offset and timestamp narrow that down."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)

from goqueue.errors import OffsetOutOfRange
from goqueue.model.log import LogId
from goqueue.spark.broker import Places
from goqueue.spark.failures import plainly
from goqueue.spark.options import EARLIEST, ReadOptions
from goqueue.spark.ranges import PIECE_RECORDS, Piece, Range, cut
from goqueue.spark.reading import read_piece

__all__ = ["BatchReader", "batch_reader"]

LARGEST = (1 << 63) - 1
PUSHES_FILTERS = "pyspark.sql.worker.data_source_pushdown_filters"
"""The process that Spark starts to hand over filters, only where `spark.sql.python.filterPushdown.enabled` is true."""


def batch_reader(options: ReadOptions, schema: pa.Schema) -> "BatchReader":
    """A reader that takes filters, or one that does not: Spark refuses the first where the session has them turned off.

    The setting itself is told to no data source.
    """
    main = getattr(sys.modules["__main__"], "__spec__", None)
    takes_filters = PUSHES_FILTERS in sys.modules or (main is not None and main.name == PUSHES_FILTERS)
    return FilteringReader(options, schema) if takes_filters else BatchReader(options, schema)


class BatchReader(DataSourceReader):
    """Pickled and sent to tasks: what it keeps is plain."""

    def __init__(self, options: ReadOptions, schema: pa.Schema) -> None:
        self._options = options
        self._schema = schema
        self._partitions: frozenset[int] | None = None
        self._first, self._end = 0, LARGEST
        self._from_ns: int | None = None

    @plainly
    def partitions(self) -> Sequence[InputPartition]:
        options = self._options
        return cut(self._ranges(), pieces=options.min_partitions, most=options.piece_records or PIECE_RECORDS)

    def _ranges(self) -> list[Range]:
        with places_of(self._options) as places:
            return self._ranges_of(places)

    def _ranges_of(self, places: Places) -> list[Range]:
        options = self._options
        logs = [log for log in places.partitions() if self._partitions is None or log.partition in self._partitions]
        if options.starting_ns is not None:
            starts = places.at(logs, options.starting_ns)
        else:
            starts = places.given(logs, EARLIEST if options.starting is None else options.starting)
        if options.ending_ns is not None:
            ends = places.at(logs, options.ending_ns)
        else:
            ends = places.given(logs, options.ending)
        self._check(places, starts, ends)
        since = places.at(logs, self._from_ns) if self._from_ns is not None else {}
        return [Range(log, max(starts[log], self._first, since.get(log, 0)), min(ends[log], self._end)) for log in logs]

    def _check(self, places: Places, starts: dict[LogId, int], ends: dict[LogId, int]) -> None:
        """Numbers that were given may be outside of what is there."""
        first, last = places.at(starts, "earliest"), places.at(starts, "latest")
        for log, start in starts.items():
            if start < first[log]:
                if self._options.fail_on_data_loss:
                    raise OffsetOutOfRange(
                        f"startingOffsets: {log} begins at offset {first[log]}, behind {start}",
                        hint="begin there, or set failOnDataLoss to false to leave out what is gone",
                    )
                starts[log] = first[log]
            for what, offset in (("startingOffsets", start), ("endingOffsets", ends[log])):
                if offset > last[log]:
                    raise OffsetOutOfRange(
                        f"{what}: {log} ends at offset {last[log]}, before {offset}", hint="give offsets that are there"
                    )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, Piece):
            # Where there is nothing to read, Spark has a task for it all the same.
            return iter(())
        if self._options.path is None:
            return read_piece(self._options, partition, self._schema)
        from goqueue.spark.folder import read_folder_piece

        return read_folder_piece(self._options, partition, self._schema)


class FilteringReader(BatchReader):
    """Leaves out what filters on partition, offset and timestamp exclude."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Those that are wholly answered by what is read are not evaluated again."""
        return [one for one in filters if not self._push(one)]

    def _push(self, given: Filter) -> bool:
        match given:
            case EqualTo(("partition",), int(value)):
                self._only({value})
            case In(("partition",), values) if all(isinstance(value, int) for value in values):
                self._only(set(values))
            case EqualTo(("offset",), int(value)):
                self._between(value, value + 1)
            case GreaterThan(("offset",), int(value)):
                self._between(value + 1, LARGEST)
            case GreaterThanOrEqual(("offset",), int(value)):
                self._between(value, LARGEST)
            case LessThan(("offset",), int(value)):
                self._between(0, value)
            case LessThanOrEqual(("offset",), int(value)):
                self._between(0, value + 1)
            case GreaterThan(("timestamp",), value) | GreaterThanOrEqual(("timestamp",), value):
                self._since(value)
                return False
            case _:
                return False
        return True

    def _only(self, partitions: set[int]) -> None:
        self._partitions = frozenset(partitions if self._partitions is None else self._partitions & partitions)

    def _between(self, first: int, end: int) -> None:
        self._first, self._end = max(self._first, first), min(self._end, end)

    def _since(self, moment: object) -> None:
        """A little is read too much: Spark counts in microseconds, the log in nanoseconds."""
        if isinstance(moment, datetime):
            aware = moment if moment.tzinfo is not None else moment.astimezone(UTC)
            at = int(aware.timestamp() * 1_000_000) * 1000
            self._from_ns = at if self._from_ns is None else max(self._from_ns, at)


def places_of(options: ReadOptions) -> Places:
    """Of a broker, or of a folder: only then the code that knows folders is loaded."""
    if options.path is None:
        return Places(options)
    from goqueue.spark.folder import FolderPlaces

    return FolderPlaces(options)
