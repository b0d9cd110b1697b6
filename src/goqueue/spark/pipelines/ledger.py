"""What lies at every offset of a log: a record, a marker, something aborted, delayed or cancelled, or nothing."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from goqueue.client.link import Link
from goqueue.codec.arrow import to_arrow
from goqueue.errors import ERRORS_BY_CODE, GoQueueError
from goqueue.model.log import LogId
from goqueue.model.record import Flag
from goqueue.model.runs import offsets_of
from goqueue.spark.broker import ask
from goqueue.spark.failures import plainly
from goqueue.spark.pipelines.stretches import Stretch
from goqueue.spark.ranges import Piece, Range, cut
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["ABORTED", "DELAYED", "MARKER", "MISSING", "RECORD", "STATES", "ledger", "states_of"]

RECORD, MARKER, ABORTED, DELAYED, MISSING = STATES = ("record", "marker", "aborted", "delayed", "missing")
FETCH_BYTES = 8 * 1024 * 1024
WAIT_MS = 1000
_ROWS = pa.schema([("partition", pa.int32()), ("first", pa.int64()), ("count", pa.int64()), ("state", pa.string())])


def ledger(spark: "SparkSession", stretch: Stretch) -> "DataFrame":
    """Rows of partition, first, count, state. Of `missing` offsets each run is a row; others are counted together."""
    spark.dataSource.register(LedgerSource)
    return spark.read.format(LedgerSource.name()).option("stretch", msgspec.json.encode(stretch).decode()).load()


class LedgerSource(DataSource):
    """A source of its own, for markers and what was aborted are nothing that rows of a topic could be."""

    @classmethod
    def name(cls) -> str:
        return "goqueue-ledger"

    def schema(self) -> str:
        return "partition int, first long, count long, state string"

    def reader(self, schema: StructType) -> DataSourceReader:
        return LedgerReader(msgspec.json.decode(self.options["stretch"], type=Stretch))


class LedgerReader(DataSourceReader):
    def __init__(self, stretch: Stretch) -> None:
        self._stretch = stretch

    def partitions(self) -> Sequence[InputPartition]:
        topic, starts, ends = self._stretch.topic, self._stretch.starts, self._stretch.ends
        ranges = [Range(LogId(topic, number), first, ends[number]) for number, first in starts.items()]
        return cut(ranges)

    @plainly
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Piece)
        found = ask(lambda: _look(self._stretch.bootstrap, partition))
        yield pa.RecordBatch.from_pylist(found, _ROWS)


async def _look(bootstrap: str, piece: Piece) -> list[dict[str, Any]]:
    log, found, end = LogId(piece.topic, piece.partition), [], piece.end
    link = Link(bootstrap)
    try:
        at = piece.start
        while at < end:
            part, data = await _fetch(link, log, at, "read_committed")
            to = min(part.next_offset, end)
            if to <= at:
                continue
            hidden = [one for one in offsets_of(part.skip) if one < to]
            delayed = await _delayed(link, log, hidden[0], to) if hidden else []
            stored = to_arrow(data, ("offset", "flags"))
            found += [{"partition": piece.partition, **row} for row in states_of(at, to, stored, hidden, delayed)]
            at = to
    finally:
        await link.close()
    return found


async def _delayed(link: Link, log: LogId, first: int, end: int) -> list[int]:
    """Those that are hidden also from who asks for uncommitted records; markers are among them."""
    found: list[int] = []
    at = first
    while at < end:
        part, _ = await _fetch(link, log, at, "read_uncommitted")
        found += [one for one in offsets_of(part.skip) if one < end]
        at = max(at, part.next_offset)
    return found


async def _fetch(link: Link, log: LogId, offset: int, isolation: str) -> tuple[messages.FetchedPart, memoryview]:
    request = messages.Fetch((messages.FetchFrom(*log, offset),), FETCH_BYTES, WAIT_MS, None, isolation)  # type: ignore[arg-type]
    reply, records = await link.request(Opcode.FETCH, request, messages.Fetched)
    (part,) = reply.parts
    if part.error is not None:
        raise ERRORS_BY_CODE.get(part.error.code, GoQueueError)(part.error.message, hint=part.error.hint)
    return part, records


def states_of(
    start: int, end: int, stored: pa.RecordBatch, hidden: list[int], delayed: list[int]
) -> Iterator[dict[str, Any]]:
    """Of the offsets from `start` up to `end`, of which these are stored."""
    stored = stored.filter(pc.less(stored["offset"], end))
    offsets = stored["offset"]
    marker = pc.not_equal(pc.bit_wise_and(stored["flags"], pa.scalar(int(Flag.CONTROL), pa.uint8())), 0)
    waits = pc.and_not(pc.is_in(offsets, value_set=pa.array(delayed, pa.int64())), marker)
    unseen = pc.is_in(offsets, value_set=pa.array(hidden, pa.int64()))
    aborted = pc.and_not(pc.and_not(unseen, marker), waits)
    record = pc.invert(pc.or_(pc.or_(marker, waits), aborted))
    for state, mask in ((RECORD, record), (MARKER, marker), (ABORTED, aborted), (DELAYED, waits)):
        count = pc.sum(mask).as_py()
        if count:
            yield {"first": pc.min(offsets.filter(mask)).as_py(), "count": count, "state": state}
    edges = pa.concat_arrays([pa.array([start - 1], pa.int64()), offsets, pa.array([end], pa.int64())])
    before, after = edges.slice(0, len(edges) - 1), edges.slice(1)
    gaps = pc.subtract(pc.subtract(after, before), 1)
    is_gap = pc.greater(gaps, 0)
    for last, count in zip(before.filter(is_gap).to_pylist(), gaps.filter(is_gap).to_pylist(), strict=True):
        yield {"first": last + 1, "count": count, "state": MISSING}
