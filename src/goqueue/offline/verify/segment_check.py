"""Segment check: every record of its file, then its indexes and its description in the checkpoint."""

from collections.abc import Iterator

from goqueue.adapters.disk.segment import LOG_SUFFIX
from goqueue.adapters.disk.walk import Gap, Run, walk
from goqueue.model.log import LogId
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.expected_logs import ExpectedSegment
from goqueue.offline.findings import Finding, Kind, Progress, Severity
from goqueue.offline.verify.index_check import IndexCheck

__all__ = ["ENDS_EARLY", "SegmentCheck"]

ENDS_EARLY = "file ends early"
CUT = "cut out of the file; its bytes are kept in lost+found, every intact record stays"
FROM_JOURNAL = "written again from the journal, which has these records; a start of the broker does it too"


class SegmentCheck:
    """Check of one segment, used once."""

    def __init__(
        self, folder: DataFolder, log: LogId, segment: ExpectedSegment, *, sealed: bool, progress: Progress
    ) -> None:
        self._folder = folder
        self._segment = segment
        self._info = segment.info
        self._sealed = sealed
        self._progress = progress
        self._stem = folder.stem(log, segment.info.base_offset)
        self._name = folder.relative(segment.path)
        self._left_out = 0
        self._next_expected = segment.info.base_offset

    def run(self) -> Iterator[Finding]:
        info, files = self._info, self._folder.files
        if not files.exists(self._segment.path):
            yield from self._missing()
            return
        index = IndexCheck(files, self._stem, self._folder.relative(self._stem), sealed=self._sealed)
        file = files.open(self._segment.path)
        try:
            for found in walk(file, 0, info.size, expected_offset=info.base_offset, next_offset=info.next_offset):
                if isinstance(found, Gap):
                    index.skip()
                    yield self._gap(found)
                else:
                    yield from self._run(found, index.follow(found))
            surplus = file.size() - info.size
        finally:
            file.close()
        yield from self._afterwards(surplus, index)
        if self._segment.path == self._stem + LOG_SUFFIX:
            yield from index.findings(info.size)

    def _missing(self) -> Iterator[Finding]:
        info = self._info
        if info.size == 0 and self._sealed:
            return
        if info.size == 0 or self._segment.journaled_from == 0:
            yield Finding(
                self._name, Kind.LOG_NOT_WRITTEN, Severity.INFO, "the file is not there yet", remedy=FROM_JOURNAL
            )
            return
        yield Finding(
            self._name,
            Kind.LOG_MISSING,
            Severity.ERROR,
            "the file is missing",
            0,
            info.size,
            info.base_offset,
            info.next_offset - 1,
            "written off: an empty file takes its place",
        )

    def _run(self, run: Run, count: int) -> Iterator[Finding]:
        self._progress.advance(len(run.records))
        self._left_out += run.last_offset + 1 - self._next_expected - count
        self._next_expected = run.last_offset + 1
        if run.last_offset >= self._info.next_offset:
            yield Finding(
                self._name,
                Kind.LOG_MISPLACED,
                Severity.ERROR,
                f"intact records that do not belong here: the segment ends before offset {self._info.next_offset}",
                run.position,
                len(run.records),
                max(run.first_offset, self._info.next_offset),
                run.last_offset,
            )

    def _gap(self, gap: Gap) -> Finding:
        self._progress.advance(gap.length)
        self._next_expected = gap.last_offset + 1
        if gap.position < self._segment.journaled_from:
            kind, severity, remedy = Kind.LOG_DAMAGED, Severity.ERROR, CUT
        elif gap.reason == ENDS_EARLY:
            kind, severity, remedy = Kind.LOG_NOT_WRITTEN, Severity.INFO, FROM_JOURNAL
        else:
            kind, severity, remedy = Kind.LOG_DAMAGED, Severity.WARNING, FROM_JOURNAL
        return Finding(
            self._name,
            kind,
            severity,
            gap.reason,
            gap.position,
            gap.length,
            gap.first_offset,
            gap.last_offset,
            remedy,
        )

    def _afterwards(self, surplus: int, index: IndexCheck) -> Iterator[Finding]:
        info = self._info
        self._left_out += max(0, info.next_offset - self._next_expected)
        if self._left_out > 0:
            what = f"{self._left_out} offsets are not there: compacted, or cut by an earlier repair"
            yield Finding(self._name, Kind.LOG_GAPS, Severity.INFO, what)
        if surplus > 0:
            what = "bytes beyond the known end: written, never confirmed"
            yield Finding(self._name, Kind.LOG_SURPLUS, Severity.INFO, what, info.size, surplus)
        if index.newest_ns > info.max_timestamp_ns:
            what = f"a record is of {index.newest_ns}, the checkpoint says {info.max_timestamp_ns} is the newest"
            yield Finding(self._name, Kind.LOG_TIME, Severity.WARNING, what, remedy="counted again from the log")
