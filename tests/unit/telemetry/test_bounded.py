import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.adapters.telemetry.bounded import Names, Sums
from goqueue.adapters.telemetry.families import histogram
from goqueue.adapters.telemetry.family import Family
from goqueue.engine.histogram import Histogram

NAMES = st.lists(st.sets(st.integers(0, 9)), max_size=30)


@given(st.integers(1, 5), NAMES)
def test_there_are_never_more_names_than_allowed_and_nobody_gains_or_loses_one(most, lives):
    names: Names[int] = Names(most, -1)
    before: dict[int, bool] = {}
    for present in lives:
        names.update(sorted(present))
        now = {one: one in names for one in present}
        assert sum(now.values()) <= most
        assert all(now[one] == had for one, had in before.items() if one in now)
        before = now


def test_a_name_that_is_given_up_goes_to_the_next_that_comes():
    names: Names[str] = Names(2, "others")
    names.update(["a", "b", "c"])
    names.update(["b", "c"])
    assert ["b" in names, "c" in names] == [True, False]
    names.update(["b", "c", "d", "e"])
    assert [one in names for one in "bcde"] == [True, False, True, False]


def test_who_is_called_as_the_others_are_together_is_one_of_them():
    names: Names[str] = Names(2, "others")
    names.update(["others", "a"])
    assert ["others" in names, "a" in names] == [False, True]


@given(st.lists(st.dictionaries(st.integers(0, 4), st.integers(0, 5)), max_size=20))
def test_totals_never_shrink_and_count_every_rise(rises):
    sums: Sums[int] = Sums(1)
    counts: dict[int, int] = {}
    total = before = 0
    for rise in rises:
        # Who is not named here is deleted, and begins at nothing should it come again.
        counts = {one: counts.get(one, 0) + more for one, more in rise.items()}
        total += sum(rise.values())
        sums.update({one: [count] for one, count in counts.items()})
        assert before <= sums.totals[0] == total
        before = sums.totals[0]


def test_a_counter_that_begins_anew_between_two_looks_counts_from_nothing():
    sums: Sums[str] = Sums(1)
    sums.update({"a": [10]})
    sums.update({"a": [3]})
    assert sums.totals == [13]


@pytest.mark.parametrize(("value", "bucket"), [(0, 0), (1, 0), (1.5, 1), (2, 1), (3, 2)])
def test_a_value_is_in_the_first_bucket_that_it_does_not_exceed(value, bucket):
    counted = Histogram((1, 2))
    counted.add(value)
    assert counted.counts[bucket] == 1 and sum(counted.counts) == 1


def test_buckets_are_exported_as_what_is_at_most_their_bound():
    counted = Histogram((1, 2))
    for value in (1, 2, 2, 9):
        counted.add(value)
    metric = histogram(Family("sizes", "histogram", "Sizes"), [((), counted)])
    shown = {sample.labels.get("le", sample.name): sample.value for sample in metric.samples}
    assert shown == {"1.0": 1, "2.0": 3, "+Inf": 4, "sizes_count": 4, "sizes_sum": 14}
