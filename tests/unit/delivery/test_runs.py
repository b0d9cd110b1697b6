import itertools

from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from goqueue.core.delivery.runs import Run, bitmap_of, runs_of


def test_offsets_side_by_side_are_one_run():
    assert runs_of([]) == ()
    assert runs_of([0]) == (Run(0, 1),)
    assert runs_of([0, 1, 2, 5, 7, 8]) == (Run(0, 3), Run(5, 1), Run(7, 2))


def test_a_long_run_costs_as_much_as_a_short_one():
    assert runs_of(range(5, 1_000_005)) == (Run(5, 1_000_000),)
    assert len(bitmap_of((Run(5, 1_000_000),))) == 1_000_000


@given(st.sets(st.integers(0, 300) | st.integers(2**40, 2**40 + 50)))
def test_runs_and_bitmaps_say_the_same(offsets):
    runs = runs_of(sorted(offsets))
    assert bitmap_of(runs) == BitMap64(offsets)
    assert all(run.count >= 1 for run in runs)
    assert all(one.first + one.count < two.first for one, two in itertools.pairwise(runs))
