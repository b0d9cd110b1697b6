import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from goqueue.core.delivery.packed import pack, unpack


def test_nothing_takes_nothing():
    assert pack([]) == pack(BitMap64()) == b""
    assert unpack(b"") == BitMap64()


@pytest.mark.parametrize("count", [1, 100, 1_000_000])
def test_offsets_side_by_side_take_as_little_however_many_they_are(count):
    packed = pack(range(5, 5 + count))
    assert len(packed) < 40 + count // 1000
    assert unpack(packed) == BitMap64(range(5, 5 + count))


def test_scattered_offsets_take_two_bytes_each_and_a_little():
    assert len(pack(range(0, 500, 5))) < 2 * 100 + 40


@given(st.lists(st.integers(0, 300) | st.integers(2**40, 2**40 + 50)))
def test_what_is_packed_comes_out_again_in_whatever_order_it_was_given(offsets):
    assert unpack(pack(offsets)) == unpack(pack(BitMap64(offsets))) == BitMap64(offsets)


def test_what_is_named_twice_stands_for_no_other():
    assert unpack(pack([7, 7, 9])) == BitMap64([7, 9])
