"""Compaction by key: of the records with the same key in sealed segments, only the newest stays.

Sealed segments are rewritten to `{base}.cleaned`, several small ones to one file. A journal entry then replaces the
old segments by the new ones, and only after it files are renamed and removed: a crash at any point leaves either the
old segments or the new ones.
"""

from array import array
from collections.abc import Sequence

import msgspec
from pyroaring import BitMap64

from goqueue import codec
from goqueue.adapters.disk.files import Buffer, FileSystem
from goqueue.adapters.disk.group_write import refusal_of
from goqueue.adapters.disk.log import DiskLog, cleaned_path
from goqueue.adapters.disk.segment import Segment
from goqueue.adapters.disk.walk import Gap, Run
from goqueue.engine.ports import CompactionPolicy

__all__ = ["KEYS_PER_PASS", "CleanedSegments", "CompactionWork"]

KEYS_PER_PASS = 500_000
"""Maximum of keys held in memory, about 80 MB; a log with more keys is compacted in several passes."""
BREATHE_AFTER_BYTES = 64 * 1024


class CleanedSegments(msgspec.Struct, frozen=True):
    """Old segments whose remaining records are in the cleaned file of the first."""

    base_offsets: tuple[int, ...]
    kept_bytes: int
    dropped_bytes: int


class CompactionWork:
    """One compaction. `run` writes only files of its own, so appends and reads may go on meanwhile."""

    def __init__(
        self, files: FileSystem, log: DiskLog, segments: Sequence[Segment], policy: CompactionPolicy, segment_bytes: int
    ) -> None:
        self.log = log
        self._files = files
        self._segments = segments
        self.policy = policy
        self._segment_bytes = segment_bytes
        self.cleaned: list[CleanedSegments] = []
        self.clean_before = log.clean_before

    def run(self) -> None:
        try:
            self._compact()
            # The journal entry will refer to these files, so their names must be durable before it.
            self._files.sync_dir(self.log.folder)
        except OSError as error:
            if not self.log.removed:
                raise refusal_of(error, f"the compaction of {self.log.id}") from error
            self.cleaned = []

    def discard(self, cleaned: CleanedSegments) -> None:
        """Remove the cleaned file of segments if one of them was dropped meanwhile."""
        self._files.remove(cleaned_path(self.log.folder, cleaned.base_offsets[0]))

    def _compact(self) -> None:
        latest: dict[bytes, int] = {}
        covered = 0
        for segment in self._segments:
            if len(latest) >= KEYS_PER_PASS:
                break
            if segment.info.base_offset >= self.log.clean_before:
                self._remember_keys(segment, latest)
            covered += 1
        self.clean_before = self._segments[covered - 1].info.next_offset
        group: list[Segment] = []
        for segment in self._segments[:covered]:
            if group and sum(s.info.size for s in group) + segment.info.size > self._segment_bytes:
                self._clean(group, latest)
                group = []
            group.append(segment)
        self._clean(group, latest)

    def _remember_keys(self, segment: Segment, latest: dict[bytes, int]) -> None:
        for found in segment.walk():
            if isinstance(found, Run):
                codec.latest_by_key(self._seen(found), latest, KEYS_PER_PASS + (1 << 32))
                self._breathe(found)

    def _seen(self, run: Run) -> Buffer:
        """Records of a run without those that were never visible."""
        first, end = run.first_offset, run.last_offset + 1
        if not self.policy.never_seen.range_cardinality(first, end):
            return run.records
        others = BitMap64()
        others.add_range(first, end)
        others -= self.policy.never_seen
        return codec.pick(run.records, array("q", others).tobytes())[0]

    def _newest_by_key(self, segment: Segment, records: Buffer, latest: dict[bytes, int]) -> dict[bytes, int]:
        """`latest`, for a compacted segment plus its own keys, each the newest unless a later segment has it."""
        if segment.info.base_offset >= self.log.clean_before:
            return latest
        own: dict[bytes, int] = {}
        codec.latest_by_key(records, own, len(records))
        return own | {key: latest[key] for key in own.keys() & latest.keys()}

    def _clean(self, group: list[Segment], latest: dict[bytes, int]) -> None:
        if self.log.removed:
            return
        bases = tuple(segment.info.base_offset for segment in group)
        path = cleaned_path(self.log.folder, bases[0])
        file = self._files.open(path, create=True)
        size = 0
        try:
            file.truncate(0)
            for segment in group:
                for found in segment.walk():
                    if isinstance(found, Gap):
                        # A damaged segment is left for `goqueue storage repair`, which reports what it cuts out.
                        self._files.remove(path)
                        return
                    records = self._seen(found)
                    newest = self._newest_by_key(segment, records, latest)
                    kept = codec.retain_latest(records, newest, self.policy.drop_tombstones_before_ns)
                    if kept:
                        file.write(size, [kept])
                        size += len(kept)
                    self._breathe(found)
            file.write_back(0, size)
            file.sync()
        finally:
            file.close()
        dropped = sum(segment.info.size for segment in group) - size
        if dropped == 0 and len(group) == 1:
            self._files.remove(path)
        else:
            self.cleaned.append(CleanedSegments(bases, size, dropped))

    def _breathe(self, run: Run) -> None:
        """Pause for other threads: compaction is not urgent, and publishes would wait for the interpreter."""
        if len(run.records) >= BREATHE_AFTER_BYTES:
            self._files.breathe()
