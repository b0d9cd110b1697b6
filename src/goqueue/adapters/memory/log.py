"""Log of a partition in memory: segments of records, in the chunks in which they were appended."""

from array import array
from bisect import bisect_right
from collections.abc import Mapping

from goqueue import codec
from goqueue.engine.ports import CompactionPolicy
from goqueue.errors import GoQueueError
from goqueue.model.log import Chunk, SegmentInfo

__all__ = ["MemoryLog", "MemorySegment"]


class MemorySegment:
    """Segment in memory. Chunks are only added, so a reader in another thread sees at worst a shorter segment."""

    def __init__(self, info: SegmentInfo) -> None:
        self.info = info
        self._chunks: list[bytes] = []
        self._first_offsets: list[int] = []

    def append(self, records: bytes, next_offset: int) -> None:
        found, info = codec.scan(records), self.info
        self._chunks.append(records)
        self._first_offsets.append(found.first_offset)
        newest = max(info.max_timestamp_ns, found.max_timestamp_ns)
        self.info = SegmentInfo(info.base_offset, next_offset, info.size + len(records), newest)

    def read(self, offset: int, max_bytes: int, limit_offset: int) -> Chunk:
        limit = min(limit_offset, self.info.next_offset)
        data = self._from(offset, max_bytes)
        start, first = codec.seek(data, offset)
        if not offset <= first < limit:
            return Chunk(b"", offset, max(offset, limit))
        records = memoryview(data)[start:]
        found = codec.scan(records[:max_bytes], 0, limit)
        if not found.count:
            found = codec.scan(records, 0, first + 1)
        return Chunk(records[: found.end], first, found.last_offset + 1)

    def peek(self, offset: int, max_bytes: int) -> bytes:
        return self._from(offset, max_bytes)

    def _from(self, offset: int, max_bytes: int) -> bytes:
        """Chunks from the one that may have `offset`, until more than `max_bytes` follow it."""
        at = max(0, bisect_right(self._first_offsets, offset) - 1)
        chunks: list[bytes] = []
        size = 0
        while at < len(self._chunks) and size <= max_bytes:
            chunks.append(self._chunks[at])
            size += len(chunks[-1]) if len(chunks) > 1 else 0
            at += 1
        return b"".join(chunks)

    def offset_at(self, timestamp_ns: int, limit_offset: int) -> int | None:
        for chunk in tuple(self._chunks):
            _, found = codec.seek_time(chunk, timestamp_ns)
            if found >= 0:
                return found if found < limit_offset else None
        return None

    def note_keys(self, latest: dict[bytes, int], policy: CompactionPolicy) -> None:
        for chunk in self._chunks:
            codec.latest_by_key(_seen(chunk, policy), latest, 1 << 62)

    def retained(self, latest: dict[bytes, int], policy: CompactionPolicy) -> "MemorySegment":
        """Segment with the same bounds and the records that compaction keeps."""
        old = self.info
        segment = MemorySegment(SegmentInfo(old.base_offset, old.next_offset, 0, old.max_timestamp_ns))
        for chunk in self._chunks:
            kept = codec.retain_latest(_seen(chunk, policy), latest, policy.drop_tombstones_before_ns)
            if kept:
                segment.append(kept, old.next_offset)
        return segment


def _seen(records: bytes, policy: CompactionPolicy) -> bytes:
    kept = [record.offset for record in codec.decode(records) if record.offset not in policy.never_seen]
    return codec.pick(records, array("q", kept).tobytes())[0]


class MemoryLog:
    """Log in memory. One owner writes; any thread reads. The tuple of segments is replaced, never changed in place."""

    def __init__(self, segment_bytes: int) -> None:
        self._segment_bytes = segment_bytes
        self._segments: tuple[MemorySegment, ...] = ()

    @property
    def start_offset(self) -> int:
        return self._segments[0].info.base_offset if self._segments else 0

    @property
    def tail_offset(self) -> int:
        return self._segments[-1].info.base_offset if self._segments else 0

    @property
    def next_offset(self) -> int:
        return self._segments[-1].info.next_offset if self._segments else 0

    @property
    def size(self) -> int:
        return sum(segment.info.size for segment in self._segments)

    @property
    def segments(self) -> tuple[SegmentInfo, ...]:
        return tuple(segment.info for segment in self._segments)

    @property
    def failure(self) -> GoQueueError | None:
        return None

    def append(self, records: bytes, next_offset: int) -> None:
        last = self._segments[-1].info if self._segments else None
        if last is None or (last.size and last.size + len(records) > self._segment_bytes):
            self._segments = (*self._segments, self._empty_at_end())
        self._segments[-1].append(records, next_offset)

    def peek(self, offset: int, max_bytes: int) -> bytes:
        segments = self._segments
        at = self._at(segments, offset)
        return segments[at].peek(offset, max_bytes) if at >= 0 else b""

    @staticmethod
    def _at(segments: tuple[MemorySegment, ...], offset: int) -> int:
        return bisect_right(segments, offset, key=lambda segment: segment.info.base_offset) - 1

    def read(self, offset: int, max_bytes: int, limit_offset: int) -> Chunk:
        segments = self._segments
        at = self._at(segments, offset)
        for segment in segments[max(0, at) :]:
            if segment.info.base_offset >= limit_offset:
                break
            chunk = segment.read(max(offset, segment.info.base_offset), max_bytes, limit_offset)
            if chunk.records:
                return chunk
            offset = max(offset, chunk.next_offset)
        return Chunk(b"", offset, offset)

    def offset_at(self, timestamp_ns: int, limit_offset: int) -> int | None:
        for segment in self._segments:
            found = segment.offset_at(timestamp_ns, limit_offset)
            if found is not None:
                return found
        return None

    def drop(self, base_offsets: tuple[int, ...]) -> None:
        """Remove segments; an empty one replaces the last, so that the end of the log is kept."""
        kept = tuple(segment for segment in self._segments if segment.info.base_offset not in base_offsets)
        if self._segments and self._segments[-1] not in kept:
            kept = (*kept, self._empty_at_end())
        self._segments = kept

    def sealed_below(self, limit_offset: int) -> tuple[MemorySegment, ...]:
        return tuple(segment for segment in self._segments[:-1] if segment.info.next_offset <= limit_offset)

    def replace(self, replacements: Mapping[MemorySegment, MemorySegment]) -> None:
        """Replace segments by others, if they still exist."""
        self._segments = tuple(replacements.get(segment, segment) for segment in self._segments)

    def remove(self) -> None:
        self._segments = ()

    def _empty_at_end(self) -> MemorySegment:
        end = self.next_offset
        return MemorySegment(SegmentInfo(end, end, 0, 0))
