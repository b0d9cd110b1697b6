"""Stray files in a data folder: files left by a crash, and files that are not GoQueue's."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence

from goqueue.adapters.disk.checkpoint import CHECKPOINT, COPY_SUFFIX, SNAPSHOTS
from goqueue.adapters.disk.journal import journal_sequence
from goqueue.adapters.disk.log import CLEANED_SUFFIX
from goqueue.adapters.disk.segment import LOG_SUFFIX, SIDE_SUFFIXES
from goqueue.model.log import LogId
from goqueue.offline.data_folder import LOST_AND_FOUND, DataFolder, is_partition
from goqueue.offline.expected_logs import ExpectedSegment
from goqueue.offline.findings import Finding, Kind, Severity

__all__ = ["stray_files"]

_FILES_AT_THE_TOP = ("lock", CHECKPOINT, CHECKPOINT + COPY_SUFFIX)
_AT_THE_TOP = {*_FILES_AT_THE_TOP, "journal", "logs", "ids", "traces", SNAPSHOTS, LOST_AND_FOUND}
_SNAPSHOT = re.compile(r"[0-9a-f]{32}-\d{20}\.snap(\.copy)?", re.ASCII)
_SPARE = re.compile(r"spare-\d{20}", re.ASCII)
_SEGMENT = re.compile(r"(\d{20})(\.\w+)", re.ASCII)


def stray_files(
    folder: DataFolder, logs: Mapping[LogId, Sequence[ExpectedSegment]], *, journal_is_sound: bool
) -> Iterator[Finding]:
    """Findings for files at the top of the folder, in the journal, among the snapshots and in the logs."""
    files = folder.files
    for name in files.list(folder.path):
        if name not in _AT_THE_TOP:
            yield _stray(name)
    for name in files.list(folder.journal):
        if journal_sequence(name) is None and not _SPARE.fullmatch(name):
            yield _stray(f"journal/{name}")
    for name in files.list(folder.snapshots):
        if not _SNAPSHOT.fullmatch(name):
            yield _stray(f"{SNAPSHOTS}/{name}")
    for topic in files.list(folder.logs):
        for name in files.list(f"{folder.logs}/{topic}"):
            if not is_partition(name):
                yield _stray(f"logs/{topic}/{name}")
                continue
            log = LogId(topic, int(name))
            if log in logs:
                yield from _in_log(folder, log, {segment.info.base_offset for segment in logs[log]})
            else:
                yield _unknown_log(folder, log, journal_is_sound=journal_is_sound)


def _stray(name: str) -> Finding:
    if name.endswith(".tmp"):
        return Finding(name, Kind.FILE_LEFT, Severity.INFO, "left over by a write that was cut short; harmless")
    return Finding(name, Kind.FILE_UNKNOWN, Severity.INFO, "not a file of GoQueue; it is left alone")


def _unknown_log(folder: DataFolder, log: LogId, *, journal_is_sound: bool) -> Finding:
    name = folder.relative(folder.log_folder(log))
    if journal_is_sound:
        what = "a log that is in neither checkpoint nor journal: it was being made or removed; a start removes it"
        return Finding(name, Kind.LOG_UNKNOWN, Severity.INFO, what)
    what = "a log that is in neither checkpoint nor journal; a start of the broker would remove it"
    return Finding(name, Kind.LOG_UNKNOWN, Severity.WARNING, what, remedy="kept as a log if it has intact records")


def _in_log(folder: DataFolder, log: LogId, bases: Container[int]) -> Iterator[Finding]:
    path = folder.log_folder(log)
    for name in folder.files.list(path):
        match = _SEGMENT.fullmatch(name)
        suffix = match[2] if match else ""
        shown = folder.relative(f"{path}/{name}")
        if not match or suffix not in (LOG_SUFFIX, CLEANED_SUFFIX, *SIDE_SUFFIXES):
            yield _stray(shown)
        elif suffix == CLEANED_SUFFIX:
            what = "left over by a compaction or repair that was cut short; a start of the broker settles it"
            yield Finding(shown, Kind.FILE_LEFT, Severity.INFO, what)
        elif int(match[1]) not in bases and suffix != LOG_SUFFIX:
            yield Finding(shown, Kind.FILE_LEFT, Severity.INFO, "an index without a segment; harmless")
        elif int(match[1]) not in bases:
            what = "a segment that is in neither checkpoint nor journal: never confirmed; a start removes it"
            yield Finding(shown, Kind.LOG_SURPLUS, Severity.INFO, what)
