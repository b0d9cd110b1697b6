"""Expected logs after recovery, computed from checkpoint and journal without running it.

A folder at rest is a checkpoint plus the journal after it, so the sizes in the checkpoint alone are not enough. The
steps are those of `DiskRecovery` and `DiskLog.redo`, applied to descriptions of segments instead of files.
"""

from typing import NamedTuple

import msgspec

from goqueue import codec
from goqueue.adapters.disk.checkpoint import CheckpointState
from goqueue.adapters.disk.files import file_size
from goqueue.adapters.disk.journal_format import MergeSegments, Redo, RedoRecords, parse_operations
from goqueue.adapters.disk.log import cleaned_path
from goqueue.adapters.disk.segment import LOG_SUFFIX
from goqueue.engine.ports import CreateLog, DeleteLog, DropSegments, StateEvent
from goqueue.model.log import LogId, SegmentInfo
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.journal_scan import JournalScan
from goqueue.offline.log_scan import measure_segment

__all__ = ["ExpectedLogs", "ExpectedSegment"]


class ExpectedSegment(NamedTuple):
    """A segment as it will be after recovery."""

    info: SegmentInfo
    journaled_from: int
    """Position from which the journal has the same bytes; recovery writes these again."""
    path: str
    """File with its records: its `.log` file, or a cleaned file that recovery will rename to it."""


class ExpectedLogs:
    """The segments of every log after recovery."""

    def __init__(self, folder: DataFolder, state: CheckpointState, journal: JournalScan) -> None:
        self._folder = folder
        self._logs = {LogId.parse(name): list(segments) for name, segments in state.logs.items()}
        self._journaled: dict[tuple[LogId, int], int] = {}
        self._cleaned: set[tuple[LogId, int]] = set()
        for entry in journal.entries():
            for operation in parse_operations(entry):
                self._redo(operation)

    def logs(self) -> dict[LogId, list[ExpectedSegment]]:
        return {log: [self._segment(log, info) for info in segments] for log, segments in self._logs.items()}

    def _segment(self, log: LogId, info: SegmentInfo) -> ExpectedSegment:
        key = (log, info.base_offset)
        if key in self._cleaned:
            path = cleaned_path(self._folder.log_folder(log), info.base_offset)
        else:
            path = self._folder.stem(log, info.base_offset) + LOG_SUFFIX
        return ExpectedSegment(info, self._journaled.get(key, info.size), path)

    def _redo(self, operation: Redo) -> None:
        match operation:
            case RedoRecords():
                self._redo_records(operation)
            case CreateLog(log):
                self._logs[log] = []
            case DeleteLog(log):
                self._logs.pop(log, None)
            case DropSegments(log, bases):
                self._drop(log, set(bases))
            case MergeSegments(log, bases):
                self._merge(log, bases)
            case StateEvent():
                pass

    def _redo_records(self, redo: RedoRecords) -> None:
        segments = self._logs.setdefault(redo.log, [])
        if not segments or redo.base_offset > segments[-1].base_offset:
            if segments and segments[-1].next_offset < redo.base_offset:
                segments[-1] = self._with_rest(redo.log, segments[-1], redo.base_offset)
            segments.append(SegmentInfo(redo.base_offset, redo.base_offset, 0, 0))
        info = segments[-1]
        end = redo.position + len(redo.records)
        if redo.base_offset == info.base_offset and end > info.size:
            newest = max(info.max_timestamp_ns, codec.scan(redo.records).max_timestamp_ns)
            segments[-1] = SegmentInfo(info.base_offset, redo.next_offset, end, newest)
            self._journaled.setdefault((redo.log, info.base_offset), redo.position)

    def _with_rest(self, log: LogId, info: SegmentInfo, next_offset: int) -> SegmentInfo:
        """The segment with the records that its file still has of entries lost from the journal."""
        path = self._folder.stem(log, info.base_offset) + LOG_SUFFIX
        if not self._folder.files.exists(path):
            return msgspec.structs.replace(info, next_offset=next_offset)
        measured = measure_segment(self._folder.files, path, info.base_offset, next_offset).info
        return SegmentInfo(
            info.base_offset,
            next_offset,
            max(info.size, measured.size),
            max(info.max_timestamp_ns, measured.max_timestamp_ns),
        )

    def _drop(self, log: LogId, gone: set[int]) -> None:
        segments = self._logs.get(log, [])
        if segments and segments[-1].base_offset in gone and segments[-1].next_offset > segments[-1].base_offset:
            end = segments[-1].next_offset
            segments.append(SegmentInfo(end, end, 0, 0))
        # The newest segment always stays, because it holds the end of the log.
        self._logs[log] = [info for info in segments[:-1] if info.base_offset not in gone] + segments[-1:]

    def _merge(self, log: LogId, bases: tuple[int, ...]) -> None:
        segments = self._logs.get(log, [])
        merged = [info for info in segments if info.base_offset in set(bases)]
        if not merged:
            return
        files, cleaned = self._folder.files, cleaned_path(self._folder.log_folder(log), bases[0])
        target = self._folder.stem(log, bases[0]) + LOG_SUFFIX
        if files.exists(cleaned):
            self._cleaned.add((log, bases[0]))
            target = cleaned
        size = file_size(files, target) if files.exists(target) else 0
        newest = max(info.max_timestamp_ns for info in merged)
        info = SegmentInfo(merged[0].base_offset, merged[-1].next_offset, size, newest)
        at = segments.index(merged[0])
        segments[at : at + len(merged)] = [info]
