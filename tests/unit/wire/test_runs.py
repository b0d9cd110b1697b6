"""Offsets as runs, and back."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.model.runs import offsets_of, runs_of


@given(st.sets(st.integers(0, 60) | st.integers(2**63, 2**63 + 9)))
def test_runs_are_the_same_offsets_in_as_few_runs_as_can_be(offsets):
    runs = runs_of(sorted(offsets))
    assert list(offsets_of(runs)) == sorted(offsets)
    assert len(runs) == sum(offset - 1 not in offsets for offset in offsets)
