"""Recording observer: keeps everything storage reports, for assertions."""

from goqueue.errors import GoQueueError
from goqueue.model.log import Damage, LogId

__all__ = ["RecordingObserver"]


class RecordingObserver:
    """A `StorageObserver` that keeps every report."""

    def __init__(self) -> None:
        self.damage: list[Damage] = []
        self.damaged_files: list[str] = []
        self.failed_reads: list[LogId] = []
        self.journal_damage: list[tuple[str, int]] = []
        self.dropped: list[tuple[str, int]] = []
        self.failed_logs: list[tuple[LogId, GoQueueError]] = []
        self.failures: list[GoQueueError] = []

    def damaged(self, damage: Damage) -> None:
        self.damage.append(damage)

    def file_damaged(self, path: str, reason: str) -> None:
        self.damaged_files.append(path)

    def read_failed(self, log: LogId) -> None:
        self.failed_reads.append(log)

    def journal_damaged(self, description: str, entries: int) -> None:
        self.journal_damage.append((description, entries))

    def tail_dropped(self, where: str, size: int) -> None:
        self.dropped.append((where, size))

    def log_failed(self, log: LogId, failure: GoQueueError) -> None:
        self.failed_logs.append((log, failure))

    def storage_failed(self, failure: GoQueueError) -> None:
        self.failures.append(failure)
