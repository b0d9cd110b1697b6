"""Compaction by key: of all records with a key, in sealed segments, only the newest stays.

Sealed segments are written anew, several small ones into one, into `{base}.cleaned`. The journal then says that
they take the place of the old ones, and only then are files renamed and removed: a crash at any point leaves
either the old segments or the new.
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
"""Keys remembered at a time, about 80 MB; a log with more is compacted in several passes."""
BREATHE_AFTER_BYTES = 64 * 1024


class CleanedSegments(msgspec.Struct, frozen=True):
    """Old segments whose remaining records are in the first one's cleaned file."""

    base_offsets: tuple[int, ...]
    kept_bytes: int
    dropped_bytes: int


class CompactionWork:
    """`run` reads and writes files of its own only, so it goes beside appends and reads."""

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
            # The journal is about to say that these files count, so they must have names that outlive a crash.
            self._files.sync_dir(self.log.folder)
        except OSError as error:
            if not self.log.removed:
                raise refusal_of(error, f"the compaction of {self.log.id}") from error
            self.cleaned = []

    def discard(self, cleaned: CleanedSegments) -> None:
        """Remove what was written for segments of which one has been dropped meanwhile."""
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
        """The records of a run that somebody may see, now or before."""
        first, end = run.first_offset, run.last_offset + 1
        if not self.policy.never_seen.range_cardinality(first, end):
            return run.records
        others = BitMap64()
        others.add_range(first, end)
        others -= self.policy.never_seen
        return codec.pick(run.records, array("q", others).tobytes())[0]

    def _newest_by_key(self, segment: Segment, records: Buffer, latest: dict[bytes, int]) -> dict[bytes, int]:
        """`latest`, for a compacted segment with its own keys, each of which is the newest unless a later one came."""
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
                        # A segment with damage is left for `goqueue storage repair`, which says what it cuts.
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
        """Let others have the interpreter: this is in no hurry, and every publish beside it would wait for its turn."""
        if len(run.records) >= BREATHE_AFTER_BYTES:
            self._files.breathe()
