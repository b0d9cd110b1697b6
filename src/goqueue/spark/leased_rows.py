"""Read the records of leases in a task: by their offsets, from the log, as all other rows."""

from array import array
from collections.abc import Iterable, Iterator

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from goqueue import codec
from goqueue.client.message import RawBatch
from goqueue.model.runs import Runs, offsets_of, runs_of
from goqueue.spark.columns import DELIVERY_COUNT
from goqueue.spark.failures import plainly
from goqueue.spark.leases import Lease
from goqueue.spark.options import ReadOptions
from goqueue.spark.ranges import Piece
from goqueue.spark.reading import read_chunks

__all__ = ["LeasedPiece", "cut_leases", "read_leased"]

WIDEST_GAP = 1000
"""Records that are not wanted are read along if they are no more than these."""


class LeasedPiece(InputPartition):
    """What one task reads."""

    def __init__(self, topic: str, partition: int, runs: Runs, deliveries: dict[int, int]) -> None:
        self.topic = topic
        self.partition = partition
        self.runs = runs
        self.deliveries = deliveries

    def __repr__(self) -> str:
        return f"{self.topic}/{self.partition} {self.runs}"


def cut_leases(leases: Iterable[Lease], pieces: int) -> list[LeasedPiece]:
    """One piece for each partition, or more, until there are at least so many."""
    offsets: dict[tuple[str, int], list[int]] = {}
    deliveries: dict[tuple[str, int], dict[int, int]] = {}
    for lease in leases:
        offsets.setdefault(lease.log, []).extend(offsets_of(lease.runs))
        deliveries.setdefault(lease.log, {}).update(lease.deliveries)
    size = max(1, -(-sum(map(len, offsets.values())) // pieces))
    found = []
    for log, all_of_log in sorted(offsets.items()):
        all_of_log.sort()
        for at in range(0, len(all_of_log), size):
            some = all_of_log[at : at + size]
            again = {offset: count for offset, count in deliveries[log].items() if some[0] <= offset <= some[-1]}
            found.append(LeasedPiece(*log, runs_of(some), again))
    return found


@plainly
def read_leased(options: ReadOptions, piece: LeasedPiece, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """What was leased may be seen; it is picked from whatever lies around it."""
    wanted = array("q", offsets_of(piece.runs)).tobytes()
    stored = pa.schema([field for field in schema if field.name != DELIVERY_COUNT])
    unfiltered = msgspec.structs.replace(options, isolation="read_uncommitted")
    for first, end in _spans(piece.runs):
        for batch, _ in read_chunks(unfiltered, Piece(piece.topic, piece.partition, first, end)):
            data = memoryview(codec.pick(batch.records, wanted)[0])
            rows = _rows(RawBatch(piece.topic, piece.partition, data, end), stored, schema, piece.deliveries)
            if rows.num_rows:
                yield rows


def _spans(runs: Runs) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for first, count in runs:
        if spans and first - spans[-1][1] <= WIDEST_GAP:
            spans[-1] = (spans[-1][0], first + count)
        else:
            spans.append((first, first + count))
    return spans


def _rows(batch: RawBatch, stored: pa.Schema, schema: pa.Schema, deliveries: dict[int, int]) -> pa.RecordBatch:
    from goqueue.spark.rows import to_rows

    if DELIVERY_COUNT not in schema.names:
        return to_rows(batch, schema)
    with_offsets = stored if "offset" in stored.names else stored.append(pa.field("offset", pa.int64(), nullable=False))
    rows = to_rows(batch, with_offsets)
    counts = [deliveries.get(offset, 1) for offset in rows.column("offset").to_pylist()]
    columns = {DELIVERY_COUNT: pa.array(counts, pa.int32())}
    return pa.RecordBatch.from_arrays(
        [columns[name] if name in columns else rows.column(name) for name in schema.names], schema=schema
    )
