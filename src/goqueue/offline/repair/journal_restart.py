"""Journal restart after a new checkpoint: the state events that no snapshot has are copied to new files.

The journal refers to positions in log files, so no log file may be rewritten while journal entries refer to it. The
journal cannot simply be dropped either: it has the only copy of these state events. They are copied to new journal
files, and one step switches from the old files to the new: saving the checkpoint.

If N is the last LSN in use, the new checkpoint has N+1 and the events have N+2 and up. Before the switch, recovery
finds N+1 missing and no entry that records it as durable, so it drops the events as a torn tail. After the switch, it
skips everything up to N+1 and applies them.
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
    """Save `state` as the checkpoint, followed by `events` only. The logs must match `state` and be synced."""
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
    # Synced before any log file is rewritten: entries with positions in the old file must not reappear.
    for sequence in old:
        folder.files.remove(journal_path(folder.journal, sequence))
    folder.files.sync_dir(folder.journal)
    return state


class _EventWriter:
    """Writer of journal files with one state event per entry."""

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
