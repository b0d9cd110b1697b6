import msgspec

from goqueue.codec import encode, stamp
from goqueue.core.priority.lane_index import LaneIndex, LaneKept
from goqueue.model.priority import LANES, NORMAL
from goqueue.model.record import Record
from tests.unit.priority.scene import BACKGROUND, CRITICAL, HIGH, LOW

MILLION = 1_000_000


def test_normal_records_are_not_stored():
    index = LaneIndex()
    index.add(0, None)
    index.add(100, bytes([NORMAL] * 50))
    assert index.snapshot() == ()
    assert index.counts(0, MILLION) == (0, 0, MILLION, 0, 0)
    assert index.take(NORMAL, 500, MILLION, 3) == [500, 501, 502]


def test_the_normal_lane_is_what_is_in_no_other():
    index = LaneIndex()
    index.add(10, bytes([CRITICAL, NORMAL, LOW, NORMAL, BACKGROUND]))
    assert index.take(NORMAL, 8, 18, 100) == [8, 9, 11, 13, 15, 16, 17]
    assert index.take(NORMAL, 10, 18, 2) == [11, 13]
    assert [index.priority_of(offset) for offset in range(9, 16)] == [2, 0, 2, 3, 2, 4, 2]


def test_rare_normal_records_are_found_behind_a_million_others():
    index = LaneIndex()
    for base in range(0, MILLION, 10_000):
        index.add(base, bytes([HIGH] * 10_000))
    index.add(MILLION, bytes([NORMAL, CRITICAL, NORMAL]))
    assert index.take(NORMAL, 0, MILLION + 3, 100) == [MILLION, MILLION + 2]
    assert index.count(NORMAL, 0, MILLION + 3) == 2


def test_a_lane_ends_where_the_range_ends():
    index = LaneIndex()
    index.add(0, bytes([LOW] * 10))
    assert index.take(LOW, 4, 7, 100) == [4, 5, 6]
    assert index.take(LOW, 7, 7, 100) == index.take(NORMAL, 7, 7, 100) == index.take(LOW, 9, 3, 5) == []
    assert index.counts(7, 7) == index.counts(9, 3) == (0, 0, 0, 0, 0)


def test_adding_the_same_records_again_changes_nothing():
    index, once = LaneIndex(), LaneIndex()
    for each in (index, index, once):
        each.add(5, bytes([0, 1, 2, 3, 4]))
    assert index.snapshot() == once.snapshot()


def test_records_below_the_start_of_the_log_are_forgotten():
    index = LaneIndex()
    index.add(0, bytes([CRITICAL, LOW] * 50))
    index.forget_below(60)
    assert index.counts(0, 100) == (20, 0, 60, 20, 0)
    index.forget_below(100)
    assert index.snapshot() == ()


def test_offsets_given_again_after_a_cut_have_their_new_priority():
    index = LaneIndex()
    index.add(0, bytes([CRITICAL] * 10))
    index.forget_from(4)
    index.add(4, bytes([LOW, NORMAL]))
    assert [index.priority_of(offset) for offset in range(6)] == [0, 0, 0, 0, LOW, NORMAL]
    assert index.counts(0, 10) == (4, 0, 5, 1, 0)


def test_a_snapshot_goes_through_a_file_and_comes_back_the_same():
    index, restored = LaneIndex(), LaneIndex()
    index.add((1 << 40) + 7, bytes(number * number % 5 for number in range(5000)))
    restored.add(3, bytes([CRITICAL]))
    kept = msgspec.msgpack.encode(index.snapshot())
    restored.restore(msgspec.msgpack.decode(kept, type=tuple[LaneKept, ...]))
    assert restored.snapshot() == index.snapshot()
    assert restored.priority_of(3) == NORMAL
    restored.add((1 << 40) + 5007, bytes([HIGH]))
    assert index.priority_of((1 << 40) + 5007) == NORMAL


def test_a_million_records_in_long_runs_are_kept_in_a_few_bytes_and_mixed_ones_in_half_a_byte_each():
    runs, mixed = LaneIndex(), LaneIndex()
    for base in range(0, MILLION, 10_000):
        runs.add(base, bytes([base // 10_000 % 4]) * 10_000)
    pattern = bytes(number * 7919 % 10_007 % 5 for number in range(10_000))
    for base in range(0, MILLION, 10_000):
        mixed.add(base, pattern)
    assert sum(len(lane.offsets) for lane in runs.snapshot()) < 2_000
    assert sum(len(lane.offsets) for lane in mixed.snapshot()) < 550_000


def test_the_index_takes_what_a_stamp_tells():
    index = LaneIndex()
    batch = bytearray(encode([Record(b"v", priority=priority) for priority in (2, 0, 4)]))
    index.add(40, stamp(batch, 40, 1).priorities)
    usual = bytearray(encode([Record(b"v")]))
    index.add(43, stamp(usual, 43, 1).priorities)
    assert [index.priority_of(offset) for offset in range(40, 44)] == [2, 0, 4, Record(b"v").priority]
    assert NORMAL == Record(b"v").priority < LANES
