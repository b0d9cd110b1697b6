"""Inspection of a data folder with as little reading as possible; works while a broker has the folder open."""

import struct

import msgspec

from goqueue import codec
from goqueue.adapters.disk.checkpoint import COPY_SUFFIX, CheckpointState
from goqueue.adapters.disk.files import file_size
from goqueue.adapters.disk.segment import LOG_SUFFIX, SIDE_SUFFIXES
from goqueue.model.log import LogId, SegmentInfo
from goqueue.offline.data_folder import LOST_AND_FOUND, DataFolder
from goqueue.offline.expected_logs import ExpectedLogs
from goqueue.offline.findings import NO_PROGRESS, Progress
from goqueue.offline.journal_scan import JournalScan
from goqueue.offline.state_copies import CheckpointCopies, read_checkpoints, read_snapshots

__all__ = [
    "CheckpointFacts",
    "DiskUse",
    "Inspection",
    "JournalFacts",
    "JournalFileUse",
    "LogFacts",
    "SegmentFacts",
    "SnapshotFacts",
    "inspect",
]

ATTEMPTS = 5
"""Attempts in all: a running broker may remove a file after it was listed, and then everything is read again."""

_TIMESTAMP = struct.Struct(">q")
_TIMESTAMP_AT = 16


class CheckpointFacts(msgspec.Struct, frozen=True):
    lsn: int | None
    copies: tuple[str, ...]


class JournalFileUse(msgspec.Struct, frozen=True):
    file: str
    bytes: int
    used_bytes: int
    first_lsn: int | None
    last_lsn: int | None
    needed: bool
    """True if the file has entries after the checkpoint."""


class JournalFacts(msgspec.Struct, frozen=True):
    last_lsn: int
    entries_since_checkpoint: int
    files: tuple[JournalFileUse, ...]
    spare_files: int
    spare_bytes: int


class SegmentFacts(msgspec.Struct, frozen=True):
    """`next_offset` and `newest_ns` are None if only reading the whole file could determine them."""

    base_offset: int
    next_offset: int | None
    bytes: int
    index_bytes: int
    oldest_ns: int | None
    newest_ns: int | None


class LogFacts(msgspec.Struct, frozen=True):
    log: str
    start_offset: int
    next_offset: int | None
    bytes: int
    segments: tuple[SegmentFacts, ...]


class SnapshotFacts(msgspec.Struct, frozen=True):
    stream: str | None
    lsn: int | None
    bytes: int
    file: str


class DiskUse(msgspec.Struct, frozen=True):
    logs: int
    indexes: int
    journal: int
    snapshots: int
    lost_and_found: int
    free: int
    capacity: int


class Inspection(msgspec.Struct, frozen=True):
    """Contents of a data folder."""

    folder: str
    checkpoint: CheckpointFacts
    journal: JournalFacts
    logs: tuple[LogFacts, ...]
    snapshots: tuple[SnapshotFacts, ...]
    disk: DiskUse


def inspect(folder: DataFolder, progress: Progress = NO_PROGRESS) -> Inspection:
    for _ in range(ATTEMPTS - 1):
        try:
            return _inspect(folder, progress)
        except FileNotFoundError:
            continue
    return _inspect(folder, progress)


def _inspect(folder: DataFolder, progress: Progress) -> Inspection:
    copies = read_checkpoints(folder)
    state = copies.newest
    progress.begin("reading the journal", _size_below(folder, folder.journal))
    scan = JournalScan(folder, state.lsn if state else None, progress)
    logs = tuple(_log(folder, log, infos) for log, infos in sorted(_segments(folder, state, scan).items()))
    snapshots = tuple(_snapshots(folder, state))
    return Inspection(
        folder.path,
        CheckpointFacts(state.lsn if state else None, _condition(folder, copies)),
        _journal(folder, scan),
        logs,
        snapshots,
        _disk_use(folder, logs),
    )


def _condition(folder: DataFolder, copies: CheckpointCopies) -> tuple[str, ...]:
    return tuple(
        "intact" if state is not None else "damaged" if folder.files.exists(path) else "missing"
        for path, state in zip(folder.checkpoint_copies, copies.states, strict=True)
    )


def _journal(folder: DataFolder, scan: JournalScan) -> JournalFacts:
    spares = [name for name in folder.files.list(folder.journal) if name.startswith("spare-")]
    return JournalFacts(
        scan.last_lsn,
        scan.last_lsn - scan.after_lsn,
        tuple(
            JournalFileUse(
                folder.relative(facts.path),
                facts.size,
                facts.used,
                facts.first_lsn or None,
                facts.last_lsn or None,
                facts.last_lsn > scan.after_lsn,
            )
            for facts in scan.files
        ),
        len(spares),
        sum(file_size(folder.files, f"{folder.journal}/{name}") for name in spares),
    )


def _segments(
    folder: DataFolder, state: CheckpointState | None, scan: JournalScan
) -> dict[LogId, list[SegmentInfo | int]]:
    """Segments of each log; without a checkpoint, only their base offsets."""
    if state is None:
        return {log: [*folder.segment_bases(log)] for log in folder.log_folders()}
    expected = ExpectedLogs(folder, state, scan).logs()
    return {log: [segment.info for segment in segments] for log, segments in expected.items()}


def _log(folder: DataFolder, log: LogId, segments: list[SegmentInfo | int]) -> LogFacts:
    facts = tuple(_segment(folder, log, segment) for segment in segments)
    return LogFacts(
        str(log),
        facts[0].base_offset if facts else 0,
        facts[-1].next_offset if facts else 0,
        sum(segment.bytes for segment in facts),
        facts,
    )


def _segment(folder: DataFolder, log: LogId, segment: SegmentInfo | int) -> SegmentFacts:
    base = segment if isinstance(segment, int) else segment.base_offset
    stem = folder.stem(log, base)
    sides = [stem + suffix for suffix in SIDE_SUFFIXES if folder.files.exists(stem + suffix)]
    index_bytes = sum(file_size(folder.files, path) for path in sides)
    there = folder.files.exists(stem + LOG_SUFFIX)
    oldest = _first_time(folder, stem + LOG_SUFFIX) if there else None
    if isinstance(segment, int):
        return SegmentFacts(base, None, file_size(folder.files, stem + LOG_SUFFIX), index_bytes, oldest, None)
    newest = segment.max_timestamp_ns if segment.size else None
    return SegmentFacts(base, segment.next_offset, segment.size, index_bytes, oldest, newest)


def _first_time(folder: DataFolder, path: str) -> int | None:
    file = folder.files.open(path)
    try:
        head = file.read(0, codec.HEADER_SIZE)
    finally:
        file.close()
    if len(head) < codec.HEADER_SIZE or head[:2] != b"GQ":
        return None
    timestamp: int = _TIMESTAMP.unpack_from(head, _TIMESTAMP_AT)[0]
    return timestamp


def _snapshots(folder: DataFolder, state: CheckpointState | None) -> list[SnapshotFacts]:
    found = []
    for path, snapshot, _ in read_snapshots(folder, state):
        sizes = [file_size(folder.files, one) for one in (path, path + COPY_SUFFIX) if folder.files.exists(one)]
        stream, lsn = (snapshot.stream, snapshot.lsn) if snapshot else (None, None)
        found.append(SnapshotFacts(stream, lsn, max(sizes, default=0), folder.relative(path)))
    return found


def _disk_use(folder: DataFolder, logs: tuple[LogFacts, ...]) -> DiskUse:
    indexes = sum(segment.index_bytes for log in logs for segment in log.segments)
    space = folder.files.space(folder.path)
    return DiskUse(
        _size_below(folder, folder.logs) - indexes,
        indexes,
        _size_below(folder, folder.journal),
        _size_below(folder, folder.snapshots),
        _size_below(folder, f"{folder.path}/{LOST_AND_FOUND}"),
        space.free,
        space.total,
    )


def _size_below(folder: DataFolder, path: str) -> int:
    """Bytes of all files in a folder and its subfolders."""
    names = folder.files.list(path)
    if names:
        return sum(_size_below(folder, f"{path}/{name}") for name in names)
    try:
        return file_size(folder.files, path)
    except (FileNotFoundError, IsADirectoryError):
        return 0
