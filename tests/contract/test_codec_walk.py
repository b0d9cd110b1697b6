"""What both codecs promise about stored bytes: scan, find_next, seek, seek_time and index_entries."""

import importlib
import struct
from array import array

import pytest

from goqueue.errors import CorruptBatch
from goqueue.model.record import Flag, Record

EVERYTHING = (0, 2**63 - 1)


@pytest.fixture(params=["goqueue.codec.record", "goqueue.codec.record_py"])
def codec(request):
    return importlib.import_module(request.param)


def record(offset: int, value: bytes = b"value", *, at: int = 0) -> Record:
    return Record(value=value, key=b"key", headers=(("h", b"x"),), offset=offset, timestamp_ns=at)


def size_of(codec, *records: Record) -> int:
    return len(codec.encode(records))


# --- scan


def test_a_scan_counts_intact_records_to_the_end(codec):
    data = codec.encode([record(10, at=3), record(11, at=9), record(15, at=4)])
    assert codec.scan(data) == (3, len(data), 10, 15, 9, "end")
    assert codec.scan(data, size_of(codec, record(0))) == (2, len(data), 11, 15, 9, "end")
    assert codec.scan(data, len(data)) == (0, len(data), -1, -1, -1, "end")
    assert codec.scan(b"") == (0, 0, -1, -1, -1, "end")


def test_a_scan_stops_before_the_limit(codec):
    data = codec.encode([record(10), record(12), record(14)])
    one = size_of(codec, record(0))
    assert codec.scan(data, limit_offset=13) == (2, 2 * one, 10, 12, 0, "limit")
    assert codec.scan(data, limit_offset=12) == (1, one, 10, 10, 0, "limit")
    assert codec.scan(data, limit_offset=-5) == (0, 0, -1, -1, -1, "limit")
    assert codec.scan(data, limit_offset=15).stop == "end"
    assert codec.scan(codec.encode([record(2**63 - 1)]), limit_offset=2**63).stop == "end"
    assert codec.scan(codec.encode([record(2**63 - 1)]), limit_offset=2**63 - 1).stop == "limit"


def test_a_scan_calls_a_cut_record_torn(codec):
    one = size_of(codec, record(1))
    data = codec.encode([record(1), record(2)])
    for size in range(one + 1, len(data)):
        assert codec.scan(data[:size]) == (1, one, 1, 1, 0, "torn")


def test_a_scan_calls_a_header_that_cannot_be_damaged_even_if_the_bytes_end_there(codec):
    data = bytearray(codec.encode([record(1)]))
    data[24] = 9
    assert codec.scan(data[:34]).stop == "damaged"
    assert codec.scan(bytes(34)).stop == "damaged"
    assert codec.scan(bytes(33)).stop == "torn"


def test_a_scan_finds_every_flipped_bit_of_a_stored_record(codec):
    stored = bytearray(codec.encode([record(5), record(6), record(7)]))
    one = size_of(codec, record(5))
    for position in range(one, 2 * one):
        for bit in range(8):
            stored[position] ^= 1 << bit
            result = codec.scan(stored)
            assert (result.count, result.end, result.last_offset) == (1, one, 5), (position, bit)
            assert result.stop in {"damaged", "torn"}
            stored[position] ^= 1 << bit
    assert codec.scan(stored).count == 3


def test_a_scan_stops_where_offsets_do_not_rise(codec):
    one = size_of(codec, record(5))
    for second in (5, 4, 0):
        assert codec.scan(codec.encode([record(5), record(second)])) == (1, one, 5, 5, 0, "damaged")


def test_a_scan_of_more_than_64_kib_gives_the_same_as_many_small_ones(codec):
    records = [record(i, bytes(1000), at=i % 7) for i in range(300)]
    data = codec.encode(records)
    assert codec.scan(data) == (300, len(data), 0, 299, 6, "end")
    damaged = bytearray(data)
    damaged[-1] ^= 1
    assert codec.scan(damaged) == (299, len(data) * 299 // 300, 0, 298, 6, "damaged")
    batch = bytearray(data)
    assert codec.stamp(batch, 50, 3)[:2] == (300, 3)
    assert codec.scan(batch) == (300, len(data), 50, 349, 3, "end")


@pytest.mark.parametrize("start", [-1, 1, 2**70, -(2**70)])
def test_a_start_outside_the_buffer_is_a_value_error(codec, start):
    for work in (
        lambda: codec.scan(b"", start),
        lambda: codec.find_next(b"", start, 0, 1),
        lambda: codec.seek(b"", 0, start),
        lambda: codec.seek_time(b"", 0, start),
    ):
        with pytest.raises(ValueError, match="is outside the buffer of 0 bytes"):
            work()


# --- find_next


def test_the_next_record_after_damage_is_found(codec):
    one = size_of(codec, record(5))
    for position in range(one):
        data = bytearray(codec.encode([record(5), record(6), record(7)]))
        data[position] ^= 0x10
        assert codec.find_next(data, 1, *EVERYTHING) == one
        assert codec.find_next(data, one + 1, *EVERYTHING) == 2 * one
    assert codec.find_next(data, 2 * one + 1, *EVERYTHING) == -1


def test_the_next_record_may_begin_right_at_the_start(codec):
    data = codec.encode([record(5)])
    assert codec.find_next(data, 0, 5, 5) == 0
    assert codec.find_next(data, len(data), *EVERYTHING) == -1


def test_a_record_inside_a_value_is_passed_over_when_its_offset_cannot_be(codec):
    inner = codec.encode([record(3)])
    outer = bytearray(codec.encode([record(100, b"GQ" + inner + b"G"), record(101)]))
    outer[0] ^= 1
    assert codec.find_next(outer, 1, 101, 1000) == len(outer) - size_of(codec, record(101))
    assert codec.find_next(outer, 1, 3, 3) == 34 + 3 + 2


def test_the_offset_bounds_of_a_search_are_inclusive_and_may_be_any_numbers(codec):
    data = codec.encode([record(5), record(2**63 - 1)])
    one = size_of(codec, record(5))
    assert codec.find_next(data, 0, 5, 5) == 0
    assert codec.find_next(data, 0, 6, 7) == -1
    assert codec.find_next(data, 0, -(2**80), 2**80) == 0
    assert codec.find_next(data, 0, 6, 2**80) == one
    assert codec.find_next(data, 0, 2**63, 2**80) == -1
    assert codec.find_next(data, 0, -5, -1) == -1
    assert codec.find_next(data, 0, 7, 6) == -1


def test_a_candidate_that_runs_past_the_end_is_passed_over(codec):
    fake = struct.pack(">2sBBIqqBBHIH", b"GQ", 1, 0, 0, 9, 0, 2, 0, 0, 1 << 20, 0)
    data = fake + codec.encode([record(10)])
    assert codec.find_next(data, 0, *EVERYTHING) == len(fake)
    assert codec.find_next(data[:-1], 0, *EVERYTHING) == -1


def test_bytes_full_of_magic_are_searched_to_the_end(codec):
    noise = b"G" * 5000 + b"GQ" * 5000 + b"GQ\x01" * 5000
    assert codec.find_next(noise + codec.encode([record(1)]) + noise, 0, *EVERYTHING) == len(noise)
    assert codec.find_next(noise, 0, *EVERYTHING) == -1


def test_a_search_sums_no_more_than_its_budget(codec):
    """80 fakes of 13 MiB would take 1,040 MiB of CRC: the last few are not looked at, nor is a long record after."""
    claim = 13 << 20
    fake = struct.pack(">2sBBIqqBBHIH", b"GQ", 1, 0, 0, 9, 0, 2, 0, 0, claim, 0)
    fits, cost = codec.FIND_BUDGET // (claim + 26), claim + 26
    left = codec.FIND_BUDGET - fits * cost
    assert 0 < left < cost
    long = codec.encode([record(10, bytes(left))])
    short = codec.encode([record(11)])
    body = bytes(claim)
    assert codec.find_next(fake * (fits - 1) + long + short + body, 0, *EVERYTHING) == 34 * (fits - 1)
    assert codec.find_next(fake * fits + long + short + body, 0, *EVERYTHING) == 34 * fits + len(long)


# --- seek


def test_a_seek_gives_the_first_record_at_or_after_the_offset(codec):
    one = size_of(codec, record(0))
    data = codec.encode([record(10), record(20), record(30)])
    assert codec.seek(data, 0) == (0, 10)
    assert codec.seek(data, -(2**90)) == (0, 10)
    assert codec.seek(data, 10) == (0, 10)
    assert codec.seek(data, 11) == (one, 20)
    assert codec.seek(data, 30) == (2 * one, 30)
    assert codec.seek(data, 31) == (3 * one, -1)
    assert codec.seek(data, 2**90) == (3 * one, -1)
    assert codec.seek(data, 0, one) == (one, 20)
    assert codec.seek(b"", 0) == (0, -1)


def test_a_seek_by_time_gives_the_first_record_at_or_after_the_time(codec):
    one = size_of(codec, record(0))
    data = codec.encode([record(1, at=50), record(2, at=70), record(3, at=60)])
    assert codec.seek_time(data, 0) == (0, 1)
    assert codec.seek_time(data, 51) == (one, 2)
    assert codec.seek_time(data, 61, 2 * one) == (3 * one, -1)
    assert codec.seek_time(data, 60, 2 * one) == (2 * one, 3)
    assert codec.seek_time(data, 2**90) == (3 * one, -1)


def test_a_seek_ends_where_the_bytes_are_no_record_any_more(codec):
    one = size_of(codec, record(0))
    data = codec.encode([record(1), record(2)])
    for size in range(one, len(data)):
        assert codec.seek(data[:size], 2) == (one, -1)
        assert codec.seek_time(data[:size], 1) == (one, -1)
    assert codec.seek(data[:one] + bytes(100), 2) == (one, -1)


def test_a_seek_does_not_look_at_the_crc(codec):
    data = bytearray(codec.encode([record(1), record(2)]))
    data[40] ^= 1
    assert codec.seek(data, 2)[1] == 2


# --- index entries


def entries(data: bytes, codec) -> list[tuple[int, int]]:
    found = []
    for at in range(0, len(data), 16):
        number, position, crc = struct.unpack(">qII", data[at : at + 16])
        assert crc == codec.crc32c(data[at : at + 12])
        found.append((number, position))
    return found


def test_an_index_entry_is_made_once_per_interval(codec):
    one = size_of(codec, record(0))
    data = codec.encode([record(i, at=100 - i) for i in range(10)])
    result = codec.index_entries(data, 1000, 0, 2 * one + 1, -1)
    assert entries(result.offsets, codec) == [(i, 1000 + i * one) for i in (0, 3, 6, 9)]
    assert entries(result.times, codec) == [(-1, 1000)] + [(100, 1000 + i * one) for i in (3, 6, 9)]
    assert result.next_at == 1000 + 9 * one + 2 * one + 1
    assert result.max_timestamp_ns == 100


def test_index_entries_go_on_where_the_last_call_ended(codec):
    records = [record(i, bytes(i * 7 % 50), at=i * 13 % 40) for i in range(40)]
    whole = codec.index_entries(codec.encode(records), 0, 0, 200, -1)
    offsets, times, position, next_at, newest = b"", b"", 0, 0, -1
    for i in range(0, 40, 3):
        part = codec.encode(records[i : i + 3])
        made = codec.index_entries(part, position, next_at, 200, newest)
        offsets, times = offsets + made.offsets, times + made.times
        position, next_at, newest = position + len(part), made.next_at, made.max_timestamp_ns
    assert (offsets, times, next_at, newest) == whole


def test_a_search_from_the_last_time_entry_below_a_time_misses_nothing(codec):
    stamps = [5, 3, 9, 9, 2, 11, 30, 8, 31, 31, 4, 40]
    data = codec.encode([record(i, at=at) for i, at in enumerate(stamps)])
    made = codec.index_entries(data, 0, 0, 1, 0)
    for time in range(1, 42):
        below = [position for newest, position in entries(made.times, codec) if newest < time]
        assert codec.seek_time(data, time, below[-1]) == codec.seek_time(data, time, 0)


def test_nothing_is_indexed_before_it_is_due(codec):
    data = codec.encode([record(1, at=7)])
    assert codec.index_entries(data, 10, 11, 4096, 3) == (b"", b"", 11, 7)
    assert codec.index_entries(b"", 10, 0, 4096, 3) == (b"", b"", 0, 3)


def test_index_entries_end_where_the_bytes_are_no_record_any_more(codec):
    data = codec.encode([record(1, at=7)])
    assert codec.index_entries(data + b"torn", 0, 0, 1, -1) == codec.index_entries(data, 0, 0, 1, -1)


@pytest.mark.parametrize(
    "arguments",
    [
        (-1, 0, 1, 0),
        (2**32, 0, 1, 0),
        (2**32 - 10, 0, 1, 0),
        (0, -1, 1, 0),
        (0, 2**63, 1, 0),
        (0, 0, 0, 0),
        (0, 0, 2**32, 0),
        (0, 0, 1, -2),
        (0, 0, 1, 2**63),
    ],
)
def test_impossible_index_arguments_are_a_value_error(codec, arguments):
    with pytest.raises(ValueError, match=r"is outside|do not fit"):
        codec.index_entries(codec.encode([record(1)]), *arguments)


# --- pick


def packed(*offsets: int) -> bytes:
    return array("q", offsets).tobytes()


def test_a_pick_gives_the_records_with_those_offsets_and_says_which_it_found(codec):
    data = codec.encode([record(number, b"%d" % number) for number in (10, 11, 15, 16)])
    records, found = codec.pick(data, packed(3, 11, 12, 16, 20))
    assert ([one.value for one in codec.decode(records)], found) == ([b"11", b"16"], packed(11, 16))
    assert codec.pick(data, packed(10, 11, 15, 16)) == (data, packed(10, 11, 15, 16))
    assert codec.pick(data, b"") == codec.pick(b"", packed(1)) == (b"", b"")


def test_a_pick_leaves_out_control_records(codec):
    marker = Record(value=b"", offset=11, flags=Flag.CONTROL)
    data = codec.encode([record(10), marker, record(12)])
    assert codec.pick(data, packed(10, 11, 12))[1] == packed(10, 12)


def test_a_pick_raises_at_a_record_that_is_not_intact(codec):
    data = bytearray(codec.encode([record(10), record(11)]))
    data[-1] ^= 1
    assert codec.pick(data, packed(10))[1] == packed(10)
    with pytest.raises(CorruptBatch):
        codec.pick(data, packed(11))


def test_a_pick_looks_no_further_than_at_the_frame_of_what_it_passes_over(codec):
    first = codec.encode([record(10)])
    data = bytearray(first + codec.encode([record(11)]))
    data[len(first) - 1] ^= 1
    assert codec.pick(data, packed(11))[1] == packed(11)
    data[0] ^= 1
    with pytest.raises(CorruptBatch):
        codec.pick(data, packed(11))


# --- starts


def test_starts_are_where_records_begin_and_the_last_one_ends(codec):
    parts = [codec.encode([record(number, b"x" * number)]) for number in (3, 70, 5)]
    data = b"".join(parts)
    begin = [sum(map(len, parts[:number])) for number in range(4)]
    assert codec.starts(data) == packed(*begin)
    assert codec.starts(bytearray(data)) == packed(*begin)
    assert codec.starts(b"") == packed(0)


def test_starts_are_found_by_frames_alone(codec):
    data = bytearray(codec.encode([record(10), record(11)]))
    data[-1] ^= 1
    assert len(codec.starts(data)) == 3 * 8
    with pytest.raises(CorruptBatch):
        codec.starts(data[:-1])
    data[0] ^= 1
    with pytest.raises(CorruptBatch):
        codec.starts(data)


# --- unfold


def test_runs_are_unfolded_to_their_offsets(codec):
    assert codec.unfold(((7, 1), (3, 2), (2**62, 1)), 4) == packed(7, 3, 4, 2**62)
    assert codec.unfold((), 0) == b""
    assert codec.unfold(((2**63 - 2, 1),), 1) == packed(2**63 - 2)


@pytest.mark.parametrize(
    "runs",
    [
        ((1, 4), (9, 2)),
        ((1, 2**70),),
        ((1, 0),),
        ((1, -1),),
        ((-1, 1),),
        ((-(2**70), 1),),
        ((2**64, 1),),
        ((2**63 - 1, 1),),
        ((2**63 - 2, 2),),
    ],
)
def test_runs_of_too_many_or_of_none_or_of_what_is_no_offset_are_not_unfolded(codec, runs):
    assert codec.unfold(runs, 5) is None
    assert codec.unfold((*runs, (5, 1)), 5) is None
