"""Verification of a data folder: every byte that recovery depends on is checked, nothing is changed."""

from collections.abc import Iterator

import msgspec

from goqueue.adapters.disk.checkpoint import CheckpointState
from goqueue.adapters.disk.files import file_size
from goqueue.adapters.disk.journal import journal_path
from goqueue.adapters.disk.segment import LOG_SUFFIX
from goqueue.model.log import LogId
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.expected_logs import ExpectedLogs, ExpectedSegment
from goqueue.offline.findings import NO_PROGRESS, Finding, Kind, Progress, Severity
from goqueue.offline.journal_scan import JournalFault, JournalScan
from goqueue.offline.log_scan import measure_log
from goqueue.offline.state_copies import read_checkpoints, read_snapshots, unused_snapshots
from goqueue.offline.verify.segment_check import SegmentCheck
from goqueue.offline.verify.stray_files import stray_files

__all__ = ["Verification", "bytes_to_check", "verify"]

_JOURNAL_REMEDY = "the journal is rewritten; records of these entries that are in the logs are kept"
_ONLY_IN_LOGS = frozenset({Kind.LOG_SURPLUS, Kind.LOG_UNKNOWN})
_JOURNAL_MISSING = Finding(
    "journal",
    Kind.JOURNAL_MISSING,
    Severity.WARNING,
    "there is no journal, but the logs have more than the checkpoint says; a start of the broker would cut it off",
    remedy="what is intact in the logs is kept",
)


class Verification(msgspec.Struct, frozen=True):
    """Result of a verification: the amount of data checked, and all findings."""

    folder: str
    checkpoint_lsn: int | None
    journal_lsn: int
    logs: int
    segments: int
    log_bytes: int
    findings: tuple[Finding, ...]

    @property
    def clean(self) -> bool:
        return all(finding.severity is Severity.INFO for finding in self.findings)


def bytes_to_check(folder: DataFolder) -> int:
    """Bytes that a verification has to read, for a progress bar."""
    paths = [journal_path(folder.journal, sequence) for sequence in folder.journal_sequences()]
    paths += [folder.stem(log, base) + LOG_SUFFIX for log in folder.log_folders() for base in folder.segment_bases(log)]
    return sum(file_size(folder.files, path) for path in paths)


def verify(folder: DataFolder, progress: Progress = NO_PROGRESS) -> Verification:
    """Verify a folder that passed `folder.check()`; the caller holds its lock."""
    progress.begin("checking", bytes_to_check(folder))
    checkpoints = read_checkpoints(folder)
    state = checkpoints.newest
    found = list(checkpoints.findings)
    for copies in read_snapshots(folder, state):
        found += copies.findings
    journal = JournalScan(folder, state.lsn if state else None, progress)
    found += [_journal_finding(folder, fault) for fault in journal.faults]
    if state is None:
        logs = _logs_by_their_files(folder)
    else:
        found += unused_snapshots(folder, state)
        logs = ExpectedLogs(folder, state, journal).logs()
    for log, segments in logs.items():
        found += _check_log(folder, log, segments, progress)
    torn = any(fault.kind in ("damaged", "torn") for fault in journal.faults)
    found += stray_files(folder, logs, journal_is_sound=journal.is_there and not torn)
    if not journal.is_there and any(finding.kind in _ONLY_IN_LOGS for finding in found):
        found.append(_JOURNAL_MISSING)
    return _summary(folder, state, journal, logs, found)


def _summary(
    folder: DataFolder,
    state: CheckpointState | None,
    journal: JournalScan,
    logs: dict[LogId, list[ExpectedSegment]],
    found: list[Finding],
) -> Verification:
    return Verification(
        folder.path,
        state.lsn if state else None,
        journal.last_lsn,
        len(logs),
        sum(map(len, logs.values())),
        sum(segment.info.size for segments in logs.values() for segment in segments),
        tuple(found),
    )


def _check_log(
    folder: DataFolder, log: LogId, segments: list[ExpectedSegment], progress: Progress
) -> Iterator[Finding]:
    for number, segment in enumerate(segments):
        sealed = number + 1 < len(segments)
        yield from SegmentCheck(folder, log, segment, sealed=sealed, progress=progress).run()
        following = segments[number + 1].info.base_offset if sealed else segment.info.next_offset
        if following > segment.info.next_offset:
            yield Finding(
                folder.relative(folder.log_folder(log)),
                Kind.LOG_GAPS,
                Severity.INFO,
                "no segment has these offsets",
                first_offset=segment.info.next_offset,
                last_offset=following - 1,
            )


def _logs_by_their_files(folder: DataFolder) -> dict[LogId, list[ExpectedSegment]]:
    """Logs as their files show them, for a folder without a checkpoint."""
    logs = {}
    for log in folder.log_folders():
        measured = [one.info for one in measure_log(folder, log)]
        logs[log] = [
            ExpectedSegment(info, info.size, folder.stem(log, info.base_offset) + LOG_SUFFIX) for info in measured
        ]
    return logs


def _journal_finding(folder: DataFolder, fault: JournalFault) -> Finding:
    entries = f"{fault.first_lsn}" if fault.first_lsn == fault.last_lsn else f"{fault.first_lsn} to {fault.last_lsn}"
    kind, severity, what, remedy = {
        "head": (Kind.JOURNAL_HEAD, Severity.WARNING, "the head of the file is damaged", _JOURNAL_REMEDY),
        "damaged": (
            Kind.JOURNAL_DAMAGED,
            Severity.ERROR,
            f"journal entries {entries} are unreadable, they were durable once",
            _JOURNAL_REMEDY,
        ),
        "torn": (
            Kind.JOURNAL_TORN,
            Severity.WARNING,
            f"journal entry {fault.first_lsn} is unreadable: cut off by a crash before it was confirmed, or damaged",
            _JOURNAL_REMEDY,
        ),
        "old": (Kind.JOURNAL_OLD, Severity.INFO, f"journal entries {entries} are unreadable, and not needed", None),
    }[fault.kind]
    position = fault.position if fault.length or fault.position else None
    return Finding(folder.relative(fault.path), kind, severity, what, position, fault.length or None, remedy=remedy)
