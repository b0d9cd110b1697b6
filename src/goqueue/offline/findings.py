"""Findings in a data folder, and the progress interface of long operations."""

from enum import StrEnum
from typing import Protocol

import msgspec

__all__ = ["NO_PROGRESS", "Finding", "Kind", "Progress", "Severity", "SilentProgress"]


class Severity(StrEnum):
    """Severity of a finding. A folder with INFO findings only is clean."""

    INFO = "info"
    """Normal, or left by an unclean stop; the broker handles it by itself."""
    WARNING = "warning"
    """Damage to a file that has a second copy or can be rebuilt: no data is lost."""
    ERROR = "error"
    """Data is unreadable or missing."""


class Kind(StrEnum):
    """Stable names of findings, for scripts."""

    CHECKPOINT_COPY = "checkpoint_copy_damaged"
    CHECKPOINT_LOST = "checkpoint_lost"
    CHECKPOINTS_DIFFER = "checkpoint_copies_differ"
    SNAPSHOT_COPY = "snapshot_copy_damaged"
    SNAPSHOT_LOST = "snapshot_lost"
    SNAPSHOT_UNUSED = "snapshot_unused"
    JOURNAL_MISSING = "journal_missing"
    JOURNAL_HEAD = "journal_head_damaged"
    JOURNAL_DAMAGED = "journal_entries_damaged"
    JOURNAL_TORN = "journal_tail_torn"
    JOURNAL_OLD = "journal_old_entries_damaged"
    LOG_DAMAGED = "log_damaged"
    LOG_NOT_WRITTEN = "log_behind_journal"
    LOG_MISSING = "log_file_missing"
    LOG_MISPLACED = "log_offsets_misplaced"
    LOG_GAPS = "log_offsets_left_out"
    LOG_SURPLUS = "log_bytes_beyond_end"
    LOG_TIME = "log_newest_time_wrong"
    LOG_UNKNOWN = "log_unknown"
    INDEX_DAMAGED = "index_damaged"
    INDEX_WRONG = "index_disagrees"
    INDEX_INCOMPLETE = "index_incomplete"
    FILE_LEFT = "file_left_over"
    FILE_UNKNOWN = "file_unknown"


class Finding(msgspec.Struct, frozen=True):
    """One finding; `file` is relative to the data folder, `remedy` is the action that repair would take."""

    file: str
    kind: Kind
    severity: Severity
    what: str
    position: int | None = None
    length: int | None = None
    first_offset: int | None = None
    last_offset: int | None = None
    remedy: str | None = None


class Progress(Protocol):
    """Receiver of the progress of a long operation."""

    def begin(self, title: str, total_bytes: int) -> None: ...
    def advance(self, done_bytes: int) -> None: ...


class SilentProgress:
    """Progress that is not shown."""

    def begin(self, title: str, total_bytes: int) -> None:
        pass

    def advance(self, done_bytes: int) -> None:
        pass


NO_PROGRESS = SilentProgress()
