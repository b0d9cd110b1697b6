"""Read a data folder, or a copy of one, with no broker: the driver plans and the tasks read it, each for itself.

The folder has to be at the same path for all of them, and is never changed. Each process recovers it in memory, which
takes as long as a start of a broker would.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal

import pyarrow as pa

from goqueue.client.message import RawBatch
from goqueue.errors import InvalidRequest
from goqueue.model.log import LogId
from goqueue.offline.reader import OfflineFolder
from goqueue.spark.broker import Places, TopicShape
from goqueue.spark.failures import plainly
from goqueue.spark.options import ReadOptions
from goqueue.spark.ranges import Piece
from goqueue.spark.rows import to_rows

__all__ = ["FolderPlaces", "read_folder_piece"]

READ_BYTES = 4 * 1024 * 1024


class FolderPlaces(Places):
    """As those of a broker."""

    def __init__(self, options: ReadOptions) -> None:
        super().__init__(options)
        self._folder = _folder(options)

    def topics(self) -> dict[str, TopicShape]:
        return {one.name: TopicShape(one.partitions, one.created_ns) for one in self._folder.topics()}

    def at(self, partitions: Iterable[LogId], at: Literal["earliest", "latest"] | int) -> dict[LogId, int]:
        committed = _committed(self._options)

        def offset(log: LogId) -> int:
            if at == "earliest":
                return self._folder.start(log)
            if isinstance(at, int):
                return self._folder.offset_at(log, at, committed=committed)
            return self._folder.end(log, committed=committed)

        return {log: offset(log) for log in partitions}


@plainly
def read_folder_piece(options: ReadOptions, piece: Piece, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """All visible records of the piece, in order."""
    folder, log = _folder(options), LogId(piece.topic, piece.partition)
    at = piece.start
    while at < piece.end:
        chunk = folder.read(log, at, READ_BYTES, piece.end)
        if not chunk.records:
            return
        hidden = folder.hidden(log, at, chunk.next_offset, committed=_committed(options))
        batch = RawBatch(piece.topic, piece.partition, memoryview(chunk.records), chunk.next_offset)
        rows = to_rows(batch, schema, hidden)
        if rows.num_rows:
            yield rows
        at = chunk.next_offset


def _committed(options: ReadOptions) -> bool:
    return options.isolation == "read_committed"


def _folder(options: ReadOptions) -> OfflineFolder:
    assert options.path is not None
    path = options.path.removeprefix("file://")
    if not path.startswith("/"):
        raise InvalidRequest(
            f"path = {options.path}", hint="give the whole path of a data folder, on all machines the same"
        )
    return _opened(path, _seen(path))


@lru_cache(maxsize=2)
def _opened(path: str, _marks: tuple[tuple[str, int, int], ...]) -> OfflineFolder:
    """Kept by a process for its next tasks, until the folder has changed."""
    return OfflineFolder(path)


def _seen(path: str) -> tuple[tuple[str, int, int], ...]:
    """Whatever is done to a folder shows in its checkpoint, its journal or its lock."""
    root = Path(path)
    files = [root / "checkpoint", root / "lock", *sorted(root.glob("journal/*.journal"))]
    found = [(str(file), file.stat()) for file in files if file.exists()]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in found)
