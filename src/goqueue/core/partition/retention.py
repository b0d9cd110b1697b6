"""Retention: segments of a log that have expired."""

from collections.abc import Sequence

from goqueue.model.ids import InstantNs
from goqueue.model.log import SegmentInfo

__all__ = ["expired_segments"]

NS_PER_MS = 1_000_000


def expired_segments(
    segments: Sequence[SegmentInfo], *, retention_ms: int | None, retention_bytes: int | None, now: InstantNs
) -> tuple[int, ...]:
    """Base offsets of the segments to drop, always the oldest ones.

    By time, a segment is dropped when its newest record is too old, including the last segment, so that an idle topic
    does not keep old records for ever. By size, the last segment always stays.
    """
    by_time = 0
    if retention_ms is not None:
        horizon = now - retention_ms * NS_PER_MS
        last = len(segments) - 1
        while by_time <= last and _is_past(segments[by_time], horizon, is_last=by_time == last):
            by_time += 1
    by_size = 0
    if retention_bytes is not None:
        surplus = sum(segment.size for segment in segments) - retention_bytes
        while surplus > 0 and by_size < len(segments) - 1:
            surplus -= segments[by_size].size
            by_size += 1
    return tuple(segment.base_offset for segment in segments[: max(by_time, by_size)])


def _is_past(segment: SegmentInfo, horizon: int, *, is_last: bool) -> bool:
    """An empty segment has no timestamps: one emptied by compaction may go, the last one is kept for new records."""
    return not is_last if segment.size == 0 else segment.max_timestamp_ns < horizon
