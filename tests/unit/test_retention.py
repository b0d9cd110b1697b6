from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.partition.retention import expired_segments
from goqueue.core.partition.space import DiskGuard
from goqueue.core.partition.watermark import Watermark
from goqueue.model.log import SegmentInfo

MS = 1_000_000


def segments(*sizes_and_times: tuple[int, int]) -> list[SegmentInfo]:
    return [SegmentInfo(10 * n, 10 * n + 10, size, at * MS) for n, (size, at) in enumerate(sizes_and_times)]


def test_without_limits_nothing_expires():
    assert expired_segments(segments((9, 1), (9, 2)), retention_ms=None, retention_bytes=None, now=10**18) == ()


def test_segments_expire_by_time_from_the_oldest_up_to_the_first_that_is_young_enough():
    kept = segments((9, 100), (9, 400), (9, 200), (9, 500))
    assert expired_segments(kept, retention_ms=150, retention_bytes=None, now=400 * MS) == (0,)


def test_the_last_segment_expires_by_time_but_an_empty_one_never():
    assert expired_segments(segments((9, 1), (9, 2)), retention_ms=1, retention_bytes=None, now=100 * MS) == (0, 10)
    assert expired_segments(segments((0, 0)), retention_ms=1, retention_bytes=None, now=100 * MS) == ()


def test_a_segment_that_compaction_emptied_does_not_hold_back_older_time():
    kept = segments((0, 0), (9, 1), (9, 900))
    assert expired_segments(kept, retention_ms=1, retention_bytes=None, now=500 * MS) == (0, 10)


@given(st.lists(st.integers(1, 100), min_size=1, max_size=20), st.integers(0, 500))
def test_by_size_as_few_as_possible_go_and_the_last_stays(sizes, limit):
    found = segments(*((size, 0) for size in sizes))
    gone = len(expired_segments(found, retention_ms=None, retention_bytes=limit, now=0))
    assert gone < len(sizes)
    assert sum(sizes[gone:]) <= limit or gone == len(sizes) - 1
    assert gone == 0 or sum(sizes[gone - 1 :]) > limit


def test_the_disk_guard_does_not_flicker_at_its_edge():
    guard = DiskGuard()
    answers = []
    for used in (0.899, 0.9, 0.895, 0.899, 0.889, 0.895):
        guard.update(used)
        answers.append(guard.is_full)
    assert answers == [False, True, True, True, False, False]


def test_the_watermark_moves_in_the_order_of_the_appends_however_they_are_confirmed():
    watermark = Watermark(5)
    first, second, third = (watermark.begin(offset) for offset in (6, 8, 9))
    watermark.confirm(second)
    assert watermark.offset == 5
    watermark.confirm(first)
    assert watermark.offset == 8
    watermark.refuse(third)
    assert watermark.offset == 8
    assert watermark.is_idle
