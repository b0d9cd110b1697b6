import itertools

from hypothesis import given
from hypothesis import strategies as st

from goqueue.model.runs import offsets_of, runs_of


def test_offsets_side_by_side_are_one_run():
    assert runs_of([]) == ()
    assert runs_of([0]) == ((0, 1),)
    assert runs_of([0, 1, 2, 5, 7, 8]) == ((0, 3), (5, 1), (7, 2))
    assert runs_of(range(5, 1_000_005)) == ((5, 1_000_000),)


@given(st.sets(st.integers(0, 300) | st.integers(2**40, 2**40 + 50)))
def test_runs_say_the_same_as_the_offsets_and_lie_apart(offsets):
    runs = runs_of(sorted(offsets))
    assert list(offsets_of(runs)) == sorted(offsets)
    assert all(count >= 1 for _, count in runs)
    assert all(one[0] + one[1] < two[0] for one, two in itertools.pairwise(runs))
