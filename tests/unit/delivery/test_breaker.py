"""The breaker over dead letters."""

import pytest

from goqueue.core.delivery.breaker import Breaker

S = 1_000_000_000


def test_so_many_within_a_minute_trip_it():
    breaker = Breaker()
    assert not breaker.add(3, 5, now=0)
    assert not breaker.add(2, 5, now=30 * S)
    assert breaker.add(1, 5, now=59 * S)


def test_those_of_more_than_a_minute_ago_do_not_count():
    breaker = Breaker()
    for minute in range(10):
        assert not breaker.add(5, 5, now=minute * 60 * S)
    assert breaker.count(now=9 * 60 * S) == 5
    assert breaker.count(now=10 * 60 * S) == 0


def test_after_it_tripped_it_counts_from_nothing():
    breaker = Breaker()
    assert breaker.add(6, 5, now=0)
    assert not breaker.add(5, 5, now=1)


def test_without_a_limit_it_never_trips():
    assert not Breaker().add(10**9, None, now=0)


@pytest.mark.parametrize("back", [1, 61, 3600])
def test_time_that_is_set_back_does_no_harm(back):
    breaker = Breaker()
    now = 10_000 * S
    assert not breaker.add(3, 5, now=now)
    assert not breaker.add(2, 5, now=now - back * S)
    assert breaker.add(1, 5, now=now)


def test_it_keeps_no_more_than_a_count_for_each_second():
    breaker = Breaker()
    for step in range(10_000):
        breaker.add(1, None, now=step * S // 10)
    assert len(breaker._steps) <= 61
    assert breaker.count(now=999 * S) == 600
