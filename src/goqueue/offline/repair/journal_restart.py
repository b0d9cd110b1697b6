"""Start the journal anew behind a new checkpoint, carrying over the state events that no snapshot has.

Positions in the journal are positions in log files, so no log file may be written anew while the journal still
speaks of it. Nor may the journal simply be dropped: state events are nowhere else. So they are written again, into
files of their own, and one act switches from the old to the new: saving the checkpoint.

With N the last LSN in use, the new checkpoint says N+1 and the events get N+2 and up. Before the switch recovery
finds N+1 missing and nobody who calls it durable, so it drops what follows as a torn tail; after the switch it
skips everything up to N+1 and takes it.
"""

from collections.abc import Iterable

import msgspec

from goqueue.adapters.disk.checkpoint import CheckpointState, save_checkpoint
from goqueue.adapters.disk.files import File
from goqueue.adapters.disk.journal import JOURNAL_FILE_BYTES, journal_path
from goqueue.adapters.disk.journal_format import HEAD_SIZE, encode_frame, encode_operation, file_head
from goqueue.engine.ports import Entropy, StateEvent
from goqueue.offline.data_folder import DataFolder

__all__ = ["restart_journal"]


def restart_journal(
    folder: DataFolder, entropy: Entropy, state: CheckpointState, events: Iterable[StateEvent], last_lsn: int
) -> CheckpointState:
    """Make `state` the checkpoint, with only `events` behind it. The logs must be as `state` says, and synced."""
    old = folder.journal_sequences()
    writer = _EventWriter(folder, entropy, max(old, default=0), last_lsn + 2)
    try:
        for event in events:
            writer.add(event)
    finally:
        writer.close()
    folder.files.sync_dir(folder.journal)
    state = msgspec.structs.replace(state, lsn=last_lsn + 1)
    save_checkpoint(folder.files, folder.path, state)
    # Durably, before anyone writes a log file anew: entries with positions in the old one must not come back.
    for sequence in old:
        folder.files.remove(journal_path(folder.journal, sequence))
    folder.files.sync_dir(folder.journal)
    return state


class _EventWriter:
    """Journal files with one state event per entry."""

    def __init__(self, folder: DataFolder, entropy: Entropy, last_sequence: int, first_lsn: int) -> None:
        self._folder = folder
        self._entropy = entropy
        self._sequence = last_sequence
        self._lsn = first_lsn
        self._nonce = 0
        self._position = 0
        self._file: File | None = None

    def add(self, event: StateEvent) -> None:
        parts = encode_operation(event)
        size = sum(map(len, parts))
        if self._file is None or self._position + size > JOURNAL_FILE_BYTES:
            self.close()
            self._file = self._begin()
        frame = encode_frame(parts, 1, nonce=self._nonce, lsn=self._lsn, durable_lsn=0)
        self._file.write(self._position, frame)
        self._position += sum(map(len, frame))
        self._lsn += 1

    def _begin(self) -> File:
        self._sequence += 1
        self._nonce = int.from_bytes(self._entropy.token_bytes(8), "big")
        file = self._folder.files.open(journal_path(self._folder.journal, self._sequence), create=True)
        file.truncate(0)
        file.write(0, [file_head(self._sequence, self._nonce)])
        self._position = HEAD_SIZE
        return file

    def close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            try:
                file.sync()
            finally:
                file.close()
