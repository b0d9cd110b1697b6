"""Bring a sound journal's content into the logs and put a checkpoint behind it, as recovery would."""

from collections.abc import Iterator

import msgspec

from goqueue.adapters.disk.checkpoint import CheckpointState
from goqueue.adapters.disk.files import FileSystem
from goqueue.adapters.disk.journal_format import RedoRecords, parse_operations
from goqueue.adapters.disk.segment import LOG_SUFFIX
from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.engine.ports import Entropy, StateEvent, StorageObserver
from goqueue.model.log import LogId, SegmentInfo
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.journal_scan import JournalScan
from goqueue.offline.repair.held_lock import HeldFileSystem
from goqueue.offline.repair.journal_restart import restart_journal

__all__ = ["settle", "state_events", "sync_segments"]


THROWN_AWAY_BYTES = 64 * 1024
"""Size of the journal file that opening a store begins: nothing is written to it, and it is removed again."""


class _Unread:
    """State machines are not needed to bring logs up to date; their events are carried over unread."""

    def restore(self, stream: str, snapshot: bytes) -> None:
        pass

    def apply(self, event: StateEvent) -> None:
        pass


def settle(
    folder: DataFolder, state: CheckpointState, journal: JournalScan, entropy: Entropy, observer: StorageObserver
) -> CheckpointState:
    """Run recovery, then make its outcome the checkpoint; the caller holds the lock."""
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
    held: FileSystem = HeldFileSystem(folder.files)
    store = DiskStore(folder.path, held, entropy, observer, StoreSettings(journal_file_bytes=THROWN_AWAY_BYTES))
    store.open(_Unread())
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
    """Make log files durable that a process may have written and never synced; those that are gone are left out."""
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
