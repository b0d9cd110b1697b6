"""Repair of a data folder: intact data is kept, derived files are rebuilt, and every cut is reported."""

from collections.abc import Collection

import msgspec

from goqueue.adapters.disk.checkpoint import COPY_SUFFIX, CheckpointState, save_checkpoint
from goqueue.adapters.disk.files import read_whole, write_atomically
from goqueue.engine.ports import Entropy, StorageObserver
from goqueue.model.log import LogId, SegmentInfo
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.expected_logs import ExpectedLogs
from goqueue.offline.findings import NO_PROGRESS, Finding, Kind, Progress, Severity
from goqueue.offline.journal_scan import JournalScan
from goqueue.offline.repair.journal_restart import restart_journal
from goqueue.offline.repair.lost_and_found import Cut, LostAndFound
from goqueue.offline.repair.recovery import recover_logs
from goqueue.offline.repair.salvage import KnownLogs, NoKnownLogs, Salvage
from goqueue.offline.repair.segment_rewrite import SegmentKey, cut_damage, rebuild_indexes, segments_of
from goqueue.offline.state_copies import read_checkpoints, read_snapshots
from goqueue.offline.verify.verification import Verification, bytes_to_check

__all__ = ["Repair", "RepairOutcome", "needs_repair"]

_SEGMENT_KINDS = frozenset({Kind.LOG_DAMAGED, Kind.LOG_MISSING, Kind.LOG_TIME, Kind.LOG_MISPLACED})
_INDEX_KINDS = frozenset({Kind.INDEX_DAMAGED, Kind.INDEX_WRONG, Kind.INDEX_INCOMPLETE})
_JOURNAL_KINDS = frozenset(
    {Kind.JOURNAL_MISSING, Kind.JOURNAL_HEAD, Kind.JOURNAL_DAMAGED, Kind.JOURNAL_TORN, Kind.LOG_UNKNOWN}
)
_CHECKPOINT_KINDS = frozenset({Kind.CHECKPOINT_COPY, Kind.CHECKPOINTS_DIFFER})


class RepairOutcome(msgspec.Struct, frozen=True):
    """Result of a repair: the steps done, the ranges cut out, and the remaining problems."""

    done: tuple[str, ...]
    cuts: tuple[Cut, ...]
    lost_and_found: str | None
    """Folder with the bytes that were cut out, and a report."""
    notes: tuple[str, ...]
    """Problems that repair could not fix, and facts that it could not determine."""


def needs_repair(verification: Verification) -> tuple[Finding, ...]:
    """Findings that repair would act on."""
    return tuple(f for f in verification.findings if f.severity is not Severity.INFO and f.remedy is not None)


class Repair:
    """One repair of a folder whose lock the caller holds. An interrupted repair can be run again."""

    def __init__(
        self,
        folder: DataFolder,
        entropy: Entropy,
        observer: StorageObserver,
        *,
        label: str,
        known_logs: KnownLogs | None = None,
        progress: Progress = NO_PROGRESS,
    ) -> None:
        self._folder = folder
        self._entropy = entropy
        self._observer = observer
        self._known_logs = known_logs or NoKnownLogs()
        self._progress = progress
        self._lost = LostAndFound(folder, label)
        self._done: list[str] = []
        self._notes: list[str] = []
        self._suspects: set[SegmentKey] = set()
        self._to_index: set[SegmentKey] = set()

    def run(self, before: Verification) -> RepairOutcome:
        """Repair the findings of a verification."""
        findings = needs_repair(before)
        if findings:
            self._suspects = self._segments(findings, _SEGMENT_KINDS)
            # An incomplete index alone is no reason for a repair, but it is completed along with one.
            self._to_index = self._segments(before.findings, _INDEX_KINDS)
            kinds = {finding.kind for finding in before.findings if finding.severity is not Severity.INFO}
            self._repair(kinds)
        self._notes += [finding.what for finding in before.findings if _is_beyond_repair(finding)]
        where = self._folder.relative(self._lost.path) if self._lost.cuts else None
        return RepairOutcome(tuple(self._done), tuple(self._lost.cuts), where, tuple(self._notes))

    def _segments(self, findings: Collection[Finding], kinds: Collection[Kind]) -> set[SegmentKey]:
        keys = (self._folder.segment_of(finding.file) for finding in findings if finding.kind in kinds)
        return {key for key in keys if key is not None}

    def _repair(self, kinds: set[Kind]) -> None:
        state = read_checkpoints(self._folder).newest
        self._restore_snapshot_copies(state)
        journal = JournalScan(self._folder, state.lsn if state else None)
        if state is None or kinds & _JOURNAL_KINDS or (Kind.SNAPSHOT_LOST in kinds and self._suspects):
            state = self._salvage(state, journal)
            segments = list(segments_of(state))
        elif self._suspects:
            state = recover_logs(self._folder, state, journal, self._entropy, self._observer)
            self._done.append("wrote what the journal held to the logs, and a new checkpoint after it")
            segments = list(segments_of(state))
        else:
            if kinds & _CHECKPOINT_KINDS:
                save_checkpoint(self._folder.files, self._folder.path, state)
                self._done.append("wrote both copies of the checkpoint again")
            expected = ExpectedLogs(self._folder, state, journal).logs()
            segments = [(log, segment.info) for log, found in expected.items() for segment in found]
        if self._suspects:
            state, rewritten = cut_damage(self._folder, state, self._suspects, self._lost)
            self._done += [
                f"rewrote {_name(self._folder, segment)} without its damage" for segment in sorted(rewritten)
            ]
            self._to_index |= rewritten
            segments = list(segments_of(state))
        self._rebuild_indexes(segments)

    def _rebuild_indexes(self, segments: list[tuple[LogId, SegmentInfo]]) -> None:
        wanted = [(log, info) for log, info in segments if (log, info.base_offset) in self._to_index]
        self._done += [f"built the indexes of {name} again" for name in rebuild_indexes(self._folder, wanted)]

    def _salvage(self, state: CheckpointState | None, journal: JournalScan) -> CheckpointState:
        self._progress.begin("reading logs", bytes_to_check(self._folder))
        salvage = Salvage(self._folder, state, journal, self._lost, self._known_logs, self._progress)
        found = salvage.run()
        self._suspects |= salvage.suspects
        self._notes += salvage.notes
        what = "rewrote the journal" if state else "built the checkpoint again from the logs and the journal"
        self._done.append(f"{what}; {len(found.logs)} logs, {sum(map(len, found.logs.values()))} segments")
        return restart_journal(self._folder, self._entropy, found, salvage.events(), salvage.last_lsn)

    def _restore_snapshot_copies(self, state: CheckpointState | None) -> None:
        files = self._folder.files
        for copies in read_snapshots(self._folder, state):
            if copies.snapshot is None or not copies.findings:
                continue
            paths = {copies.path, copies.path + COPY_SUFFIX}
            bad = {f"{self._folder.path}/{finding.file}" for finding in copies.findings}
            content = read_whole(files, (paths - bad).pop())
            for path in bad:
                write_atomically(files, path, content)
                self._done.append(f"restored {self._folder.relative(path)} from its other copy")


def _is_beyond_repair(finding: Finding) -> bool:
    return finding.severity is not Severity.INFO and finding.remedy is None


def _name(folder: DataFolder, segment: SegmentKey) -> str:
    return folder.relative(folder.stem(*segment))
