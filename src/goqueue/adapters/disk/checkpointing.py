"""Checkpoint work: sync the logs, write the snapshots, then save the LSN up to which the journal is not needed."""

from collections.abc import Mapping

from goqueue.adapters.disk.checkpoint import CheckpointState, remove_old_snapshots, save_checkpoint, save_snapshots
from goqueue.adapters.disk.files import FileSystem
from goqueue.adapters.disk.group_write import refusal_of
from goqueue.adapters.disk.log import DiskLog
from goqueue.engine.ports import Payload
from goqueue.errors import LogReadOnly

__all__ = ["CheckpointWork"]


class CheckpointWork:
    """One checkpoint. The constructor captures the state between two writes; `run` may run during later writes."""

    def __init__(
        self,
        files: FileSystem,
        folder: str,
        lsn: int,
        logs: Mapping[str, DiskLog],
        snapshots: Mapping[str, Payload | None],
        earlier_snapshots: Mapping[str, int],
    ) -> None:
        self._files = files
        self._folder = folder
        self._snapshots = {stream: payload for stream, payload in snapshots.items() if payload is not None}
        self._unsynced = [(log, unsynced) for log in logs.values() if (unsynced := log.unsynced())]
        self._sizes = [(segment, segment.info.size) for _, segments in self._unsynced for segment in segments]
        self.synced_before = {log: log.segments[-1].base_offset for log in logs.values() if log.segments}
        self.state = CheckpointState(
            lsn,
            {name: log.segments for name, log in logs.items()},
            {
                **{stream: old for stream, old in earlier_snapshots.items() if stream not in snapshots},
                **dict.fromkeys(self._snapshots, lsn),
            },
        )

    def run(self) -> None:
        for log, segments in self._unsynced:
            try:
                log.sync(segments)
            except OSError as error:
                # The kernel may have dropped pages that it could not write, and reports that once only. The journal
                # has their content, so it must be kept from here on.
                log.sync_failed = True
                log.failure = LogReadOnly(refusal_of(error, log.id).message)
                raise log.failure from error
        try:
            save_snapshots(self._files, self._folder, self.state.lsn, self._snapshots)
            save_checkpoint(self._files, self._folder, self.state)
            remove_old_snapshots(self._files, self._folder, self.state.snapshots)
        except OSError as error:
            raise refusal_of(error, "the checkpoint") from error
        for segment, size in self._sizes:
            segment.settle(size)
