"""Recovery of the logs from an intact journal, followed by a checkpoint, as at a start of the broker."""

from collections.abc import Iterator

import msgspec

from goqueue.adapters.disk.checkpoint import CheckpointState
from goqueue.adapters.disk.files import File, FileSystem, MissingFile, Space
from goqueue.adapters.disk.journal_format import RedoRecords, parse_operations
from goqueue.adapters.disk.segment import LOG_SUFFIX
from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.engine.ports import Entropy, StateEvent, StorageObserver
from goqueue.model.log import LogId, SegmentInfo
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.journal_scan import JournalScan
from goqueue.offline.repair.journal_restart import restart_journal

__all__ = ["recover_logs", "state_events", "sync_segments"]


DISCARDED_JOURNAL_BYTES = 64 * 1024
"""Size of the journal file that a store creates when it opens; it stays empty and is removed."""


class _UnreadState:
    """State that is not read: recovering logs needs no state machines; their events are copied unread."""

    def restore(self, stream: str, snapshot: bytes) -> None:
        pass

    def apply(self, event: StateEvent) -> None:
        pass


def recover_logs(
    folder: DataFolder, state: CheckpointState, journal: JournalScan, entropy: Entropy, observer: StorageObserver
) -> CheckpointState:
    """Run recovery and save its result as the checkpoint; the caller holds the lock."""
    touched = {
        (operation.log, operation.base_offset)
        for entry in journal.entries()
        for operation in parse_operations(entry)
        if isinstance(operation, RedoRecords)
    }
    logs, last_lsn = _recover(folder, entropy, observer)
    sync_segments(folder, touched)
    after = JournalScan(folder, state.lsn)
    return restart_journal(
        folder, entropy, msgspec.structs.replace(state, logs=logs), state_events(after), max(last_lsn, after.newest_lsn)
    )


def _recover(
    folder: DataFolder, entropy: Entropy, observer: StorageObserver
) -> tuple[dict[str, tuple[SegmentInfo, ...]], int]:
    held: FileSystem = _HeldFileSystem(folder.files)
    store = DiskStore(folder.path, held, entropy, observer, StoreSettings(journal_file_bytes=DISCARDED_JOURNAL_BYTES))
    store.open(_UnreadState())
    try:
        return {str(log): store.log(log).segments for log in store.logs()}, store.written_lsn
    finally:
        store.close()


def state_events(journal: JournalScan) -> Iterator[StateEvent]:
    for entry in journal.entries():
        for operation in parse_operations(entry):
            if isinstance(operation, StateEvent):
                yield operation


def sync_segments(folder: DataFolder, segments: set[tuple[LogId, int]]) -> None:
    """Sync log files that another process may have written and never synced; missing files are skipped."""
    for log, base in sorted(segments):
        path = folder.stem(log, base) + LOG_SUFFIX
        if folder.files.exists(path):
            file = folder.files.open(path)
            try:
                file.sync()
            finally:
                file.close()
    for log in {log for log, _ in segments}:
        if folder.files.exists(folder.log_folder(log)):
            folder.files.sync_dir(folder.log_folder(log))


class _HeldFileSystem:
    """File system for a folder whose lock the caller holds: locking succeeds, and unlocking does nothing."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files

    def open(self, path: str, *, create: bool = False) -> File:
        return self._files.open(path, create=create)

    def exists(self, path: str) -> bool:
        return self._files.exists(path)

    def list(self, path: str) -> list[str]:
        return self._files.list(path)

    def make_dirs(self, path: str) -> None:
        self._files.make_dirs(path)

    def rename(self, source: str, target: str) -> None:
        self._files.rename(source, target)

    def remove(self, path: str) -> None:
        self._files.remove(path)

    def remove_dir(self, path: str) -> None:
        self._files.remove_dir(path)

    def sync_dir(self, path: str) -> None:
        self._files.sync_dir(path)

    def space(self, path: str) -> Space:
        return self._files.space(path)

    def lock(self, path: str) -> File | None:
        return MissingFile()

    def breathe(self) -> None:
        self._files.breathe()
