"""Walking over a damaged log file: everything intact is found, and what is missing is bounded."""

import struct

import pytest

from goqueue import codec
from goqueue.adapters.disk.walk import WINDOW_BYTES, Gap, Run, walk
from goqueue.model.record import Record
from tests.unit.disk.making import KIB, MIB, RECORD_BYTES, numbered, stamped, time_of

COUNT = 50
VALUE_LENGTH_AT = 28


class Bytes:
    """A file in memory that counts what is read from it."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.bytes_read = 0

    def size(self) -> int:
        return len(self.content)

    def read(self, position: int, length: int) -> bytes:
        data = self.content[position : position + length]
        self.bytes_read += len(data)
        return data


def found_in(content: bytes, *, end: int | None = None, count: int = COUNT, **options) -> list[Run | Gap]:
    size = len(content) if end is None else end
    return list(walk(Bytes(content), 0, size, expected_offset=0, next_offset=count, **options))


def offsets_of(found: list[Run | Gap]) -> list[int]:
    return [record.offset for run in found if isinstance(run, Run) for record in codec.decode(run.records)]


def gaps_of(found: list[Run | Gap]) -> list[Gap]:
    return [gap for gap in found if isinstance(gap, Gap)]


def log_of(count: int = COUNT) -> bytes:
    return stamped(0, numbered(0, count))


def without(*damaged: int, count: int = COUNT) -> list[int]:
    return [offset for offset in range(count) if offset not in damaged]


def test_an_intact_file_is_one_run():
    (run,) = found_in(log_of())
    assert (run.position, run.first_offset, run.last_offset) == (0, 0, COUNT - 1)
    assert run.max_timestamp_ns == time_of(COUNT - 1)
    assert bytes(run.records) == log_of()


@pytest.mark.parametrize("window", [0, 1, 33, 34, RECORD_BYTES, RECORD_BYTES + 1, 1000])
def test_a_window_of_any_size_finds_every_record(window):
    found = found_in(log_of(), window=window)
    assert offsets_of(found) == list(range(COUNT))
    assert gaps_of(found) == []
    assert [run.position for run in found[1:]] == [run.position + len(run.records) for run in found[:-1]]


def test_nothing_at_or_above_the_limit_is_given():
    for limit in (0, 1, 25, COUNT, COUNT + 1):
        assert offsets_of(found_in(log_of(), limit_offset=limit)) == list(range(min(limit, COUNT)))


@pytest.mark.parametrize("byte", range(RECORD_BYTES))
def test_a_flipped_bit_anywhere_in_a_record_costs_that_record_only(byte):
    for damaged in (0, 10, COUNT - 1):
        content = bytearray(log_of())
        content[damaged * RECORD_BYTES + byte] ^= 1 << byte % 8
        found = found_in(bytes(content))
        assert offsets_of(found) == without(damaged)
        (gap,) = gaps_of(found)
        assert (gap.position, gap.length) == (damaged * RECORD_BYTES, RECORD_BYTES)
        assert (gap.first_offset, gap.last_offset) == (damaged, damaged)


def test_neighbouring_damage_is_one_gap_and_distant_damage_two():
    content = bytearray(log_of())
    for damaged in (10, 11, 12, 30):
        content[damaged * RECORD_BYTES + 60] ^= 0xFF
    found = found_in(bytes(content))
    assert offsets_of(found) == without(10, 11, 12, 30)
    assert [(gap.first_offset, gap.last_offset) for gap in gaps_of(found)] == [(10, 12), (30, 30)]
    assert [gap.length for gap in gaps_of(found)] == [3 * RECORD_BYTES, RECORD_BYTES]


def test_an_overwritten_stretch_is_one_gap():
    content = bytearray(log_of())
    content[1000:4000] = b"\xff" * 3000
    found = found_in(bytes(content))
    assert offsets_of(found) == without(*range(1000 // RECORD_BYTES, 4000 // RECORD_BYTES + 1))
    (gap,) = gaps_of(found)
    assert gap.position == 1000 // RECORD_BYTES * RECORD_BYTES


def test_a_file_of_noise_is_one_gap_over_everything():
    noise = bytes(n * n * 31 % 251 for n in range(5000))
    assert found_in(noise) == [Gap(0, 5000, 0, COUNT - 1, "damaged record")]


@pytest.mark.parametrize("claimed", [101, 16 * MIB - 1, 16 * MIB, 16 * MIB + 1, 0x7FFFFFFF, 0xFFFFFFFF])
def test_a_huge_claimed_length_costs_that_record_only(claimed):
    content = bytearray(log_of())
    struct.pack_into(">I", content, 20 * RECORD_BYTES + VALUE_LENGTH_AT, claimed)
    file = Bytes(bytes(content))
    found = list(walk(file, 0, len(content), expected_offset=0, next_offset=COUNT))
    assert offsets_of(found) == without(20)
    (gap,) = gaps_of(found)
    assert (gap.position, gap.length, gap.first_offset, gap.last_offset) == (20 * RECORD_BYTES, RECORD_BYTES, 20, 20)
    assert file.bytes_read <= 6 * len(content)


def test_claimed_lengths_in_every_record_do_not_make_the_walk_quadratic():
    content = bytearray(log_of(400))
    for damaged in range(0, 400, 2):
        struct.pack_into(">I", content, damaged * RECORD_BYTES + VALUE_LENGTH_AT, 16 * MIB)
    file = Bytes(bytes(content))
    found = list(walk(file, 0, len(content), expected_offset=0, next_offset=400, window=KIB))
    assert offsets_of(found) == list(range(1, 400, 2))
    assert file.bytes_read <= 2 * 200 * len(content)


def test_damage_longer_than_the_window_is_searched_to_its_end():
    big = stamped(1, [Record(value=bytes(2 * WINDOW_BYTES))])
    content = bytearray(stamped(0, numbered(0, 1)) + big + stamped(2, numbered(2, 3)))
    content[RECORD_BYTES + 5] ^= 1
    found = found_in(bytes(content), count=5)
    assert offsets_of(found) == [0, 2, 3, 4]
    (gap,) = gaps_of(found)
    assert (gap.length, gap.first_offset, gap.last_offset) == (len(big), 1, 1)


def test_damage_at_the_end_is_bounded_by_the_end_of_the_log():
    content = bytearray(log_of())
    content[48 * RECORD_BYTES] = 0
    content[49 * RECORD_BYTES] = 0
    found = found_in(bytes(content))
    assert offsets_of(found) == list(range(48))
    assert gaps_of(found) == [Gap(48 * RECORD_BYTES, 2 * RECORD_BYTES, 48, 49, "damaged record")]


@pytest.mark.parametrize("missing", [1, 60, RECORD_BYTES - 1])
def test_a_record_cut_off_by_the_end_is_torn(missing):
    content = log_of()[:-missing]
    found = found_in(content)
    assert offsets_of(found) == list(range(COUNT - 1))
    (gap,) = gaps_of(found)
    assert (gap.position, gap.length) == (49 * RECORD_BYTES, RECORD_BYTES - missing)
    assert (gap.first_offset, gap.last_offset, gap.reason) == (49, 49, "torn record")


def test_a_file_shorter_than_it_should_be_ends_early():
    content = log_of()
    found = found_in(content[: 30 * RECORD_BYTES], end=len(content))
    assert offsets_of(found) == list(range(30))
    assert gaps_of(found) == [Gap(30 * RECORD_BYTES, 20 * RECORD_BYTES, 30, 49, "file ends early")]


def test_an_empty_file_that_should_hold_records_is_one_gap():
    assert found_in(b"", end=1000) == [Gap(0, 1000, 0, COUNT - 1, "file ends early")]


@pytest.mark.parametrize("size", [0, 3 * WINDOW_BYTES], ids=["small", "large"])
@pytest.mark.parametrize("last", [False, True], ids=["in the middle", "at the end"])
@pytest.mark.parametrize("byte", [3, 5, 9, 17, 24, 40, -1])
def test_records_inside_the_value_of_a_damaged_one_are_not_taken_for_records(size, last, byte):
    """As when records of one log are copied into another: they are intact and their offsets may well fit."""
    inside = stamped(3, [Record(value=b"not of this log")]) + stamped(4, numbered(4, 3))
    outer = bytearray(stamped(3, [Record(value=bytes(size) + inside + b"end")]))
    outer[byte] ^= 1
    rest = b"" if last else stamped(4, numbered(4, 4))
    found = found_in(log_of(3) + bytes(outer) + rest, count=4 if last else 8)
    assert offsets_of(found) == without(3, count=4 if last else 8)
    assert gaps_of(found) == [Gap(3 * RECORD_BYTES, len(outer), 3, 3, "damaged record")]


def test_a_length_that_leads_past_an_intact_record_is_not_believed():
    """One flipped bit in the length of a 128-byte record leads exactly to the one after the next."""
    content = bytearray(stamped(0, numbered(0, 10, size=94)))
    content[5 * 128 + VALUE_LENGTH_AT + 3] ^= 128
    found = found_in(bytes(content), count=10)
    assert offsets_of(found) == without(5, count=10)


def test_after_damage_no_record_from_outside_the_bounds_is_taken():
    """Remains of another use of the same blocks: intact records, but not of this place in this log."""
    old = stamped(5, numbered(5, 1)) + stamped(900, numbered(900, 1))
    content = bytearray(log_of(20) + bytes(50) + old + stamped(30, numbered(30, 20)))
    found = found_in(bytes(content))
    assert offsets_of(found) == [*range(20), *range(30, 50)]
    (gap,) = gaps_of(found)
    assert (gap.first_offset, gap.last_offset) == (20, 29)


def test_records_whose_offsets_go_back_are_damage():
    content = log_of(20) + stamped(10, numbered(10, 5)) + stamped(20, numbered(20, 30))
    found = found_in(content)
    assert offsets_of(found) == list(range(COUNT))
    (gap,) = gaps_of(found)
    assert (gap.position, gap.length) == (20 * RECORD_BYTES, 5 * RECORD_BYTES)


def test_missing_offsets_without_missing_bytes_are_no_damage():
    """As after compaction."""
    content = stamped(3, numbered(3, 1)) + stamped(17, numbered(17, 2)) + stamped(40, numbered(40, 1))
    found = found_in(content)
    assert offsets_of(found) == [3, 17, 18, 40]
    assert gaps_of(found) == []
