"""The sparse index: finding, cutting, and noticing that it is damaged."""

import pytest

from goqueue import codec
from goqueue.adapters.disk.index import ENTRY_SIZE, DamagedIndex, SparseIndex

MAGIC = b"GQIX"


def entry(number: int, position: int) -> bytes:
    head = number.to_bytes(8, "big") + position.to_bytes(4, "big")
    return head + codec.crc32c(head).to_bytes(4, "big")


def index_of(*pairs: tuple[int, int]) -> SparseIndex:
    index = SparseIndex(MAGIC)
    index.add(b"".join(entry(number, position) for number, position in pairs))
    return index


TENS = [(n * 10, n * 4096) for n in range(8)]


def test_an_empty_index_finds_nothing():
    index = SparseIndex(MAGIC)
    assert len(index) == 0
    assert index.floor(0, inclusive=True) == -1
    index.cut(0)
    assert len(index) == 0


@pytest.mark.parametrize("inclusive", [True, False])
def test_floor_is_the_last_entry_below_or_at_a_number(inclusive):
    index = index_of(*TENS)
    for value in range(-5, 90):
        below = [n for n, (number, _) in enumerate(TENS) if number < value or (inclusive and number == value)]
        assert index.floor(value, inclusive=inclusive) == (below[-1] if below else -1)


def test_of_equal_numbers_floor_is_the_last_or_the_one_before_the_first():
    index = index_of((5, 0), (5, 10), (5, 20), (9, 30))
    assert index.floor(5, inclusive=True) == 2
    assert index.floor(5, inclusive=False) == -1
    assert index.floor(9, inclusive=False) == 2


def test_entries_are_counted_from_either_end():
    index = index_of(*TENS)
    assert index.entry(0) == (0, 0)
    assert index.entry(7) == index.entry(-1) == (70, 7 * 4096)
    assert index.entry(-8) == (0, 0)


@pytest.mark.parametrize(
    ("size", "left"), [(0, 0), (1, 1), (4096, 1), (4097, 2), (7 * 4096, 7), (7 * 4096 + 1, 8), (1 << 32, 8)]
)
def test_cut_forgets_entries_at_or_beyond_a_size(size, left):
    index = index_of(*TENS)
    index.cut(size)
    assert len(index) == left
    assert [index.entry(n) for n in range(left)] == TENS[:left]


def test_keep_forgets_all_but_the_first():
    index = index_of(*TENS)
    index.keep(3)
    assert [index.entry(n) for n in range(len(index))] == TENS[:3]
    index.keep(5)
    assert len(index) == 3


def test_what_is_written_is_loaded_again():
    written = index_of(*TENS)
    content = written.content(0, 3) + written.content(3, 8)
    assert len(content) == (1 + 8) * ENTRY_SIZE
    loaded = SparseIndex(MAGIC)
    loaded.load(content)
    assert [loaded.entry(n) for n in range(len(loaded))] == TENS


@pytest.mark.parametrize("length", range(0, 5 * ENTRY_SIZE))
def test_a_file_cut_short_gives_its_whole_entries(length):
    loaded = SparseIndex(MAGIC)
    loaded.load(index_of(*TENS).content(0, 8)[:length])
    assert len(loaded) == max(0, length // ENTRY_SIZE - 1)
    assert [loaded.entry(n) for n in range(len(loaded))] == TENS[: len(loaded)]


def test_a_file_of_another_kind_or_version_or_with_a_damaged_head_gives_nothing():
    content = index_of(*TENS).content(0, 8)
    for position in range(ENTRY_SIZE):
        damaged = bytearray(content)
        damaged[position] ^= 1
        loaded = SparseIndex(MAGIC)
        loaded.load(bytes(damaged))
        assert len(loaded) == 0
    other = SparseIndex(b"GQTX")
    other.load(content)
    assert len(other) == 0


def test_every_flipped_bit_of_an_entry_is_noticed():
    content = index_of(*TENS).content(0, 8)
    for position in range(ENTRY_SIZE, len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[position] ^= 1 << bit
            loaded = SparseIndex(MAGIC)
            loaded.load(bytes(damaged))
            with pytest.raises(DamagedIndex):
                loaded.entry(position // ENTRY_SIZE - 1)


def test_searching_never_believes_a_damaged_entry():
    """Not every search looks at every entry; one that does must say so, the others must be right."""
    content = bytearray(index_of(*TENS).content(0, 8))
    content[ENTRY_SIZE * 4] ^= 0x40
    index = SparseIndex(MAGIC)
    index.load(bytes(content))
    noticed = 0
    for value in range(80):
        try:
            assert index.floor(value, inclusive=True) == value // 10
        except DamagedIndex:
            noticed += 1
    assert noticed
