"""Counters of rare events, counted as they occur: plain numbers, so that the metrics library is loaded on demand."""

import threading

from goqueue.adapters.telemetry.family import Family, Row

__all__ = ["FAMILIES", "Count", "Counts"]

DAMAGED_RANGES = Family("goqueue_storage_damaged_ranges", "counter", "Unreadable ranges met in log files")
DAMAGED_BYTES = Family("goqueue_storage_damaged_bytes", "counter", "Bytes in unreadable ranges of log files")
FAILED_READS = Family(
    "goqueue_storage_failed_reads", "counter", "Reads of partition logs that the disk or the operating system refused"
)
DAMAGED_FILES = Family(
    "goqueue_storage_damaged_files",
    "counter",
    "Copies of checkpoints and snapshots, and indexes, that could not be used: another copy was, or they were rebuilt",
)
DAMAGED_ENTRIES = Family(
    "goqueue_storage_damaged_journal_entries", "counter", "Journal entries found unreadable after they were durable"
)
DROPPED_TAIL = Family(
    "goqueue_storage_dropped_tail_bytes", "counter", "Bytes cut at recovery that had never been confirmed"
)
FAILED_LOGS = Family("goqueue_storage_failed_logs", "counter", "Partition logs that went read-only")
STORAGE_FAILED = Family("goqueue_storage_failed", "gauge", "1 when the journal failed and all writes are refused")
DISK_FULL = Family("goqueue_storage_disk_full", "gauge", "1 while writes are refused because the disk is full")
DROPPED_SEGMENTS = Family("goqueue_storage_dropped_segments", "counter", "Segments removed by retention")
DROPPED_BYTES = Family("goqueue_storage_dropped_bytes", "counter", "Bytes removed by retention")
REBUILDS = Family("goqueue_storage_id_index_rebuilds", "counter", "Times the index of ids was built again")
TRIPPED = Family(
    "goqueue_consumer_tripped_breakers", "counter", "Groups paused because their dead letters came too fast"
)
EXPIRED_GROUPS = Family("goqueue_consumer_expired_groups", "counter", "Groups forgotten after they were empty for long")
FORGOTTEN_PRODUCERS = Family(
    "goqueue_broker_forgotten_producers", "counter", "Silent producers forgotten, in each partition they wrote to"
)
EXPIRED_TRANSACTIONAL_IDS = Family(
    "goqueue_broker_expired_transactional_ids", "counter", "Transactional ids forgotten after they were idle for long"
)
FAILED_JOBS = Family("goqueue_storage_failed_jobs", "counter", "Maintenance jobs that failed, by name", ("task",))
SPANS_SENT = Family("goqueue_broker_spans_sent", "counter", "Spans written or exported", ("to",))
SPANS_DROPPED = Family(
    "goqueue_broker_spans_dropped", "counter", "Spans for which there was no room on their way out", ("to",)
)
SPANS_FAILED = Family("goqueue_broker_spans_failed", "counter", "Spans that could not be written or exported", ("to",))
FAMILIES = (
    *(DAMAGED_RANGES, DAMAGED_BYTES, DAMAGED_FILES, FAILED_READS, DAMAGED_ENTRIES, DROPPED_TAIL),
    *(FAILED_LOGS, STORAGE_FAILED, DISK_FULL),
    *(DROPPED_SEGMENTS, DROPPED_BYTES, REBUILDS, TRIPPED, EXPIRED_GROUPS, FORGOTTEN_PRODUCERS),
    *(EXPIRED_TRANSACTIONAL_IDS, FAILED_JOBS, SPANS_SENT, SPANS_DROPPED, SPANS_FAILED),
)


class Count:
    """Numbers by set of labels. May be used by any thread."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self._turn = threading.Lock()
        self._numbers: dict[tuple[str, ...], int] = {}
        if not family.labels:
            self.begin()

    def begin(self, *labels: str) -> None:
        """Start at 0, so that the first event shows as an increase."""
        self._numbers.setdefault(labels, 0)

    def add(self, amount: int = 1, *labels: str) -> None:
        with self._turn:
            self._numbers[labels] = self.of(*labels) + amount

    def set(self, number: int, *labels: str) -> None:
        self._numbers[labels] = number

    def of(self, *labels: str) -> int:
        return self._numbers.get(labels, 0)

    def rows(self) -> list[Row]:
        return [(labels, number) for labels, number in tuple(self._numbers.items())]


class Counts:
    """One `Count` for each family."""

    def __init__(self) -> None:
        self.damaged_ranges = Count(DAMAGED_RANGES)
        self.damaged_bytes = Count(DAMAGED_BYTES)
        self.failed_reads = Count(FAILED_READS)
        self.damaged_files = Count(DAMAGED_FILES)
        self.lost_journal_entries = Count(DAMAGED_ENTRIES)
        self.dropped_tail_bytes = Count(DROPPED_TAIL)
        self.failed_logs = Count(FAILED_LOGS)
        self.storage_failed = Count(STORAGE_FAILED)
        self.disk_full = Count(DISK_FULL)
        self.dropped_segments = Count(DROPPED_SEGMENTS)
        self.dropped_bytes = Count(DROPPED_BYTES)
        self.id_index_rebuilds = Count(REBUILDS)
        self.tripped_breakers = Count(TRIPPED)
        self.expired_groups = Count(EXPIRED_GROUPS)
        self.forgotten_producers = Count(FORGOTTEN_PRODUCERS)
        self.expired_transactional_ids = Count(EXPIRED_TRANSACTIONAL_IDS)
        self.failed_jobs = Count(FAILED_JOBS)
        self.spans_sent = Count(SPANS_SENT)
        self.spans_dropped = Count(SPANS_DROPPED)
        self.spans_failed = Count(SPANS_FAILED)

    def all(self) -> tuple[Count, ...]:
        return tuple(vars(self).values())
