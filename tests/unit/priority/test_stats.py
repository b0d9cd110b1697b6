import pytest

from goqueue.core.priority.stats import LaneFlow
from tests.unit.priority.scene import CRITICAL, HIGH, at


def test_a_steady_flow_shows_its_rate():
    flow = LaneFlow()
    for tenth in range(600):
        flow.note(CRITICAL, 5, now=at(tenth / 10))
    assert flow.per_second(CRITICAL, now=at(60)) == pytest.approx(50, rel=0.02)
    assert flow.total(CRITICAL) == 3000


def test_a_flow_that_stopped_fades():
    flow = LaneFlow()
    flow.note(CRITICAL, 1000, now=at(0))
    rates = [flow.per_second(CRITICAL, now=at(second)) for second in (0, 10, 60, 600)]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == 100 and rates[2] < 0.3 and rates[3] < 1e-9


def test_lanes_are_counted_apart_and_know_when_they_were_last_served():
    flow = LaneFlow()
    flow.note(CRITICAL, 1, now=at(3))
    flow.note(HIGH, 0, now=at(4))
    assert (flow.last(CRITICAL), flow.last(HIGH)) == (at(3), None)
    assert (flow.total(HIGH), flow.per_second(HIGH, now=at(4))) == (0, 0)


def test_a_clock_that_is_set_back_makes_no_rate_larger():
    flow = LaneFlow()
    flow.note(CRITICAL, 10, now=at(1000))
    assert flow.per_second(CRITICAL, now=at(10)) == flow.per_second(CRITICAL, now=at(1000))
