"""Offsets packed into bytes, and back."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.wire.native.packed_offsets import OFFSET_BYTES, packed_offsets, unpacked_offsets


@given(st.lists(st.integers(0, 2**64 - 1)))
def test_packed_offsets_are_the_same_in_the_same_order(offsets):
    packed = packed_offsets(offsets)
    assert len(packed) == OFFSET_BYTES * len(offsets)
    assert list(unpacked_offsets(packed)) == offsets


def test_the_order_of_bytes_is_the_same_on_every_machine():
    assert packed_offsets([1, 2**40]) == bytes.fromhex("0100000000000000 0000000000010000")
