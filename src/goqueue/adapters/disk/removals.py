"""Removals in the journal: logs and segments that a later entry removes."""

from goqueue.adapters.disk.files import FileSystem
from goqueue.adapters.disk.journal_format import parse_operations
from goqueue.adapters.disk.replay import JournalReplay
from goqueue.engine.ports import DeleteLog, DropSegments
from goqueue.model.log import LogId

__all__ = ["Removals"]


class Removals:
    """Index of removals, from one read of the journal; used by recovery only on a full disk."""

    def __init__(self, files: FileSystem, folder: str, after_lsn: int) -> None:
        self._logs: dict[LogId, int] = {}
        self._segments: dict[tuple[LogId, int], int] = {}
        for frame in JournalReplay(files, folder, after_lsn):
            for operation in parse_operations(frame):
                match operation:
                    case DeleteLog(log):
                        self._logs[log] = frame.lsn
                    case DropSegments(log, bases):
                        self._segments |= dict.fromkeys(((log, base) for base in bases), frame.lsn)

    def take_away(self, log: LogId, base_offset: int, lsn: int) -> bool:
        """True if an entry after this LSN removes the segment."""
        return self._logs.get(log, 0) > lsn or self._segments.get((log, base_offset), 0) > lsn
