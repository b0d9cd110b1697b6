"""Offsets of leases come as runs or one by one: what they stand for, and which are refused."""

from array import array

import pytest

from goqueue.engine.queue.by_lease import MOST_SETTLED, check_runs
from goqueue.engine.queue.settle import LARGEST_OFFSET, MOST_UNFOLDED, offsets_of
from goqueue.errors import InvalidRequest, UnknownReceipt

LAST = LARGEST_OFFSET - 1


@pytest.mark.parametrize(
    ("runs", "offsets"),
    [
        ((), []),
        (((5, 3),), [5, 6, 7]),
        (((5, 1), (1, 2)), [1, 2, 5]),
        (((5, 2), (6, 2), (5, 1)), [5, 6, 7]),
        (((LAST, 1), (0, 1)), [0, LAST]),
        (((0, MOST_UNFOLDED), (MOST_UNFOLDED + 1, 1)), [*range(MOST_UNFOLDED), MOST_UNFOLDED + 1]),
    ],
)
def test_runs_stand_for_their_offsets(runs, offsets):
    check_runs([runs])
    assert list(offsets_of(runs)) == offsets


def test_offsets_that_are_named_one_by_one_count_once_with_those_of_runs():
    assert list(offsets_of((), array("Q", [9, 3, 9]))) == [3, 9]
    assert list(offsets_of(((2, 2), (9, 1)), array("Q", [3, 7]))) == [2, 3, 7, 9]
    assert list(offsets_of(((2, 2),), array("Q"))) == [2, 3]
    assert list(offsets_of((), array("Q", [LAST]))) == [LAST]


@pytest.mark.parametrize("offset", [LARGEST_OFFSET, 1 << 63, (1 << 64) - 1])
@pytest.mark.parametrize("runs", [(), ((1, 1),)])
def test_an_offset_that_no_record_can_have_is_nobodys_among_others_either(offset, runs):
    with pytest.raises(UnknownReceipt):
        offsets_of(runs, array("Q", [1, offset]))


@pytest.mark.parametrize("first", [-1, LARGEST_OFFSET, 1 << 63, 1 << 64])
@pytest.mark.parametrize("others", [(), ((1, 1),), ((1, MOST_UNFOLDED),)])
def test_offsets_that_no_record_can_have_are_nobodys(first, others):
    with pytest.raises(UnknownReceipt):
        offsets_of(((first, 1), *others))


@pytest.mark.parametrize(
    "leases",
    [
        [((1, 0),)],
        [((1, 1),), ((2, 1), (3, -1))],
        [((1, MOST_SETTLED + 1),)],
        [((1, 1), (7, MOST_SETTLED))],
        [((1, MOST_SETTLED - 1),), ((1, 1), (7, 1))],
        [((1, 1 << 62), (7, 1))],
    ],
)
def test_runs_of_nothing_and_of_too_much_are_refused(leases):
    with pytest.raises(InvalidRequest):
        check_runs(leases)


def test_what_is_named_one_by_one_counts_with_the_runs():
    check_runs([((1, 1),)], MOST_SETTLED - 1)
    with pytest.raises(InvalidRequest):
        check_runs([((1, 1),)], MOST_SETTLED)
