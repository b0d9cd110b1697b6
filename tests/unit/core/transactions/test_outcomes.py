"""Which records of transactions a reader sees, and how far it may go."""

import sys
import threading
import tracemalloc

import msgspec
import pytest

from goqueue.core.transactions.outcomes import Closed, Outcomes, Wrote
from tests.unit.core.transactions.scene import replayed_outcomes, restored_outcomes


def after(*events) -> Outcomes:
    return replayed_outcomes(events)


def test_without_transactions_everything_durable_is_stable_and_nothing_is_hidden():
    outcomes = Outcomes()
    assert not outcomes
    assert outcomes.stable(50) == 50
    assert not outcomes.hidden(0, 50)


def test_readers_wait_in_front_of_the_first_record_of_an_open_transaction():
    outcomes = after(Wrote(1, 10, 5), Wrote(1, 20, 5))
    assert outcomes
    assert outcomes.stable(100) == 10
    assert outcomes.stable(5) == 5
    assert list(outcomes.hidden(0, 100)) == [*range(10, 15), *range(20, 25)]


def test_committed_records_are_shown_once_the_marker_is_durable():
    outcomes = after(Wrote(1, 10, 5), Closed(1, True, 15))
    assert list(outcomes.hidden(0, 100)) == [15]
    assert outcomes.stable(15) == 10
    assert outcomes.stable(16) == 16
    assert list(outcomes.hidden(0, 100)) == [15]


def test_aborted_records_are_passed_over_once_the_marker_is_durable():
    outcomes = after(Wrote(1, 10, 5), Closed(1, False, 15))
    assert outcomes.stable(15) == 10
    assert outcomes.stable(16) == 16
    assert list(outcomes.hidden(12, 100)) == [12, 13, 14, 15]
    assert outcomes.aborted_count == 5
    assert list(outcomes.aborted()) == [10, 11, 12, 13, 14]
    assert outcomes.is_aborted(14)
    assert not outcomes.is_aborted(15)
    assert not outcomes.is_open_offset(14)


def test_readers_wait_for_the_older_one_of_two_transactions_whichever_ends_first():
    outcomes = after(Wrote(2, 3, 1), Wrote(1, 4, 1), Closed(2, True, 5))
    assert outcomes.stable(10) == 4
    outcomes = after(Wrote(2, 3, 1), Wrote(1, 4, 1), Closed(1, True, 5))
    assert outcomes.stable(10) == 3


@pytest.mark.parametrize("committed", [True, False])
def test_an_end_of_a_transaction_that_wrote_nothing_here_hides_its_marker_and_nothing_else(committed):
    outcomes = after(Wrote(1, 10, 5))
    outcomes.apply(Closed(2, committed, 30))
    assert list(outcomes.hidden(0, 100)) == [10, 11, 12, 13, 14, 30]
    assert (outcomes.open_numbers(), outcomes.aborted_count, outcomes.stable(100)) == ([1], 0, 10)


def test_an_empty_write_changes_nothing():
    outcomes = after(Wrote(1, 10, 5))
    before = outcomes.snapshot()
    outcomes.apply(Wrote(3, 30, 0))
    assert outcomes.snapshot() == before


@pytest.mark.parametrize("committed", [True, False])
def test_a_marker_is_never_shown_to_anybody(committed):
    outcomes = after(Wrote(1, 10, 2), Closed(1, committed, 12), Closed(2, committed, 13))
    for _ in range(2):
        assert list(outcomes.markers(0, 100)) == [12, 13]
        assert set(outcomes.markers(0, 100)) <= set(outcomes.hidden(0, 100))
        assert outcomes.is_never(12)
        assert not outcomes.is_aborted(12)
        assert not outcomes.is_open_offset(12)
        outcomes.stable(100)
    assert (list(outcomes.markers(13, 14)), list(outcomes.markers(14, 100))) == ([13], [])


def test_only_markers_and_aborted_records_are_hidden_for_good():
    outcomes = after(Wrote(1, 0, 1), Wrote(2, 1, 1), Wrote(3, 2, 1), Closed(1, True, 3), Closed(2, False, 4))
    assert [offset for offset in range(10) if outcomes.is_never(offset)] == [1, 3, 4]
    assert [offset for offset in range(10) if outcomes.is_open_offset(offset)] == [2]


def test_what_is_told_of_aborted_records_does_not_change_later():
    outcomes = after(Wrote(1, 0, 1), Closed(1, False, 1))
    told = outcomes.aborted()
    outcomes.apply(Wrote(2, 2, 1))
    outcomes.apply(Closed(2, False, 3))
    assert list(told) == [0]
    told.add(99)
    assert not outcomes.is_aborted(99)


def test_what_is_open_can_be_asked_for():
    outcomes = after(Wrote(5, 10, 2), Wrote(4, 12, 3), Wrote(5, 15, 1))
    assert outcomes.open_numbers() == [5, 4]
    assert (outcomes.first_offset(5), outcomes.count(5)) == (10, 3)
    assert (outcomes.first_offset(4), outcomes.count(4)) == (12, 3)
    assert (outcomes.first_offset(6), outcomes.count(6)) == (None, 0)
    assert outcomes.is_open_offset(15)
    assert not outcomes.is_open_offset(16)


def test_where_the_log_ends_sooner_nothing_is_known_of_what_was_behind():
    outcomes = after(Wrote(1, 5, 10), Wrote(2, 15, 5), Wrote(3, 20, 2), Closed(3, False, 22))
    outcomes.forget_from(10)
    assert outcomes.open_numbers() == [1]
    assert outcomes.count(1) == 5
    assert outcomes.aborted_count == 0
    outcomes.apply(Wrote(4, 10, 1))
    assert outcomes.stable(50) == 5
    assert list(outcomes.hidden(0, 50)) == [5, 6, 7, 8, 9, 10]


def test_readers_do_not_wait_for_a_marker_that_is_gone():
    outcomes = after(Wrote(1, 5, 5), Closed(1, False, 30))
    outcomes.forget_from(20)
    assert outcomes.stable(20) == 20
    assert outcomes.is_aborted(5)
    assert not outcomes.markers(0, 100)


def test_what_takes_the_place_of_a_lost_marker_is_shown():
    outcomes = after(Wrote(1, 5, 5), Closed(1, True, 10), Closed(2, False, 20), Closed(3, True, 21))
    outcomes.forget_from(21)
    assert list(outcomes.markers(0, 100)) == [10, 20]
    outcomes.forget_from(20)
    assert list(outcomes.markers(0, 100)) == list(outcomes.hidden(0, 100)) == [10]
    outcomes.forget_from(10)
    assert not outcomes.hidden(0, 100)
    assert outcomes.stable(10) == 10
    assert not outcomes


def test_markers_that_retention_took_are_forgotten():
    outcomes = after(Wrote(1, 5, 5), Closed(1, True, 10), Closed(2, False, 20))
    outcomes.stable(21)
    outcomes.forget_below(10)
    assert list(outcomes.markers(0, 100)) == [10, 20]
    outcomes.forget_below(11)
    assert list(outcomes.markers(0, 100)) == list(outcomes.hidden(0, 100)) == [20]
    outcomes.forget_below(21)
    assert not outcomes
    assert outcomes.snapshot() == Outcomes().snapshot()


def test_what_retention_took_is_forgotten():
    outcomes = after(Wrote(1, 5, 10), Closed(1, False, 15), Wrote(2, 16, 4), Wrote(2, 30, 1), Wrote(3, 20, 5))
    outcomes.stable(31)
    outcomes.forget_below(0)
    outcomes.forget_below(18)
    assert outcomes.aborted_count == 0
    assert outcomes.stable(40) == 18
    outcomes.forget_below(25)
    assert outcomes.open_numbers() == [2]
    assert outcomes.stable(40) == 30
    outcomes.forget_below(31)
    assert not outcomes
    assert outcomes.stable(40) == 40


def test_a_wide_range_is_cut_as_a_narrow_one():
    outcomes = after(Wrote(1, 10, 5), Wrote(1, 5_000_000, 5))
    assert list(outcomes.hidden(12, 5_000_002)) == [12, 13, 14, 5_000_000, 5_000_001]
    assert not outcomes.hidden(12, 12)


@pytest.mark.parametrize("seen", [False, True])
def test_a_snapshot_brings_everything_back(seen):
    events = [Wrote(1, 0, 3), Wrote(2, 3, 2), Wrote(1, 5, 1), Closed(2, False, 6), Wrote(3, 7, 1), Closed(3, True, 8)]
    outcomes = after(*events)
    if seen:
        outcomes.stable(9)
    again = restored_outcomes(outcomes.snapshot())
    assert again.snapshot() == outcomes.snapshot()
    assert again.stable(7) == outcomes.stable(7) == 0
    assert again.hidden(0, 10) == outcomes.hidden(0, 10)
    assert again.aborted_count == 2
    assert list(again.markers(0, 10)) == [6, 8]
    again.apply(Closed(1, True, 9))
    assert again.stable(10) == 10
    assert list(again.hidden(0, 10)) == [3, 4, 6, 8, 9]


def test_a_snapshot_brings_markers_back_that_have_no_records():
    outcomes = after(Closed(1, True, 0), Closed(2, False, 1))
    outcomes.stable(2)
    again = restored_outcomes(outcomes.snapshot())
    assert again
    assert list(again.markers(0, 10)) == list(again.hidden(0, 10)) == [0, 1]
    assert again.is_never(1)
    assert again.stable(5) == 5


def test_a_million_aborted_records_take_little():
    side_by_side = after(Wrote(1, 0, 1_000_000), Closed(1, False, 1_000_000))
    side_by_side.stable(2_000_000)
    assert len(msgspec.msgpack.encode(side_by_side.snapshot())) < 400
    in_tens = Outcomes()
    for n in range(0, 2_000_000, 20):
        in_tens.apply(Wrote(n, n, 10))
        in_tens.apply(Closed(n, False, n + 10))
        in_tens.stable(n + 11)
    assert in_tens.aborted_count == 1_000_000
    kept = in_tens.snapshot()
    assert len(kept.aborted) < 300_000
    assert len(kept.markers) < 2.1 * 100_000
    assert len(msgspec.msgpack.encode(kept)) < len(kept.aborted) + len(kept.markers) + 50


def test_an_open_transaction_takes_less_than_250_bytes():
    outcomes = Outcomes()
    tracemalloc.start()
    try:
        for number in range(1, 10_001):
            outcomes.apply(Wrote(number, number * 10, 5))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used / 10_000 < 250


def test_a_reader_in_another_thread_never_sees_an_aborted_record():
    """Transactions are written and aborted one behind another while a reader looks at them."""
    outcomes = Outcomes()
    end = [0]
    wrong: list[int] = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            upto = end[0]
            missing = upto - len(outcomes.hidden(0, upto))
            if missing:
                wrong.append(missing)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(3_000):
            outcomes.apply(Wrote(number, number, 1))
            end[0] = number + 1
            outcomes.apply(Closed(number, False, number))
            outcomes.stable(number + 1)
    finally:
        is_over.set()
        reader.join()
        sys.setswitchinterval(interval)
    assert wrong == []
