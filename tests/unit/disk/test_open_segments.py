"""Segments that are kept open to be written to."""

from goqueue.adapters.disk.files import OsFileSystem
from goqueue.adapters.disk.segment import OpenSegments, Segment
from goqueue.model.log import SegmentInfo


def opened(folder, segments, base_offset):
    segment = Segment(OsFileSystem(), str(folder), SegmentInfo(base_offset, base_offset, 0, 0), segments)
    OsFileSystem().open(segment.path, create=True).close()
    segment.read(base_offset, 1, base_offset)
    return segment


def test_a_segment_that_was_deleted_or_is_full_is_not_kept_among_those_that_are_written_to(tmp_path):
    segments = OpenSegments(10, lambda *_: None)
    deleted, full, written = (opened(tmp_path, segments, offset) for offset in (0, 10, 20))
    assert segments.growing_count == 3
    deleted.forget()
    full.seal()
    assert segments.growing_count == 1
    written.forget()
    assert segments.growing_count == 0


def test_of_too_many_segments_the_one_opened_longest_ago_is_closed(tmp_path):
    segments = OpenSegments(10, lambda *_: None, growing_limit=2)
    for offset in (0, 10, 20, 30):
        opened(tmp_path, segments, offset)
    assert segments.growing_count == 2
