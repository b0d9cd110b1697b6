"""What happens after a downtime, for each policy."""

import pytest

from goqueue.core.schedules.schedule import Misfire
from tests.unit.schedules.scene import SECOND, Scene, at


def back_after(until, **given):
    """A broker that is away from 12:30 on, with a schedule made just before."""
    scene = Scene()
    scene.create(**given)
    scene.restart()
    return scene.clock(until)


def test_skip_goes_on_with_the_next_future_one():
    scene = back_after("2026-06-01 17:30", misfire="skip")
    assert scene.fire() == []
    assert scene.history() == [("2026-06-01 13:00", "skipped", 5)]
    assert scene.run("2026-06-01 18:00") == ["2026-06-01 18:00"]


def test_once_fires_one_time_for_all_as_the_latest():
    scene = back_after("2026-06-01 17:30", misfire="once")
    assert scene.fire() == ["2026-06-01 17:00"]
    assert scene.history() == [("2026-06-01 17:00", "caught_up", 5)]
    assert scene.run("2026-06-01 18:00") == ["2026-06-01 18:00"]


def test_all_fires_each_in_order():
    scene = back_after("2026-06-01 15:30", misfire="all")
    assert scene.fire() == ["2026-06-01 13:00", "2026-06-01 14:00", "2026-06-01 15:00"]
    assert {outcome for _, outcome, _ in scene.history()} == {"caught_up"}
    assert scene.run("2026-06-01 16:00") == ["2026-06-01 16:00"]


def test_all_beyond_its_bound_fires_the_latest_and_notes_the_rest_as_skipped():
    scene = back_after("2026-06-01 17:30", misfire="all", catch_up_most=2)
    assert scene.fire() == ["2026-06-01 16:00", "2026-06-01 17:00"]
    assert scene.history()[0] == ("2026-06-01 13:00", "skipped", 3)


def test_a_hundred_are_caught_up_unless_told_otherwise():
    scene = back_after("2026-06-30 12:30", misfire="all")
    assert len(scene.fire()) == 100
    assert scene.history()[-1][0] == "2026-06-30 12:00"


def test_catching_up_goes_on_after_a_crash_in_the_middle():
    scene = back_after("2026-06-01 17:30", misfire="all", catch_up_most=3)
    decision = scene.schedules.decide_firings(now=scene.now)
    scene.write(*decision.skips)
    scene.write(scene.schedules.fired(decision.firings[0], now=scene.now))
    scene.restart()
    assert scene.fire() == ["2026-06-01 16:00", "2026-06-01 17:00"]


@pytest.mark.parametrize("policy", Misfire)
def test_an_occurrence_that_is_a_little_late_was_not_missed(policy):
    scene = back_after("2026-06-01 13:01", misfire=policy)
    assert scene.fire() == ["2026-06-01 13:00"]
    assert scene.history() == [("2026-06-01 13:00", "fired", 1)]


def test_how_late_is_missed_can_be_chosen():
    scene = back_after("2026-06-01 13:00", misfire="skip", misfire_after_ms=0)
    assert scene.fire() == ["2026-06-01 13:00"]
    scene.now = at("2026-06-01 14:00") + 1
    assert scene.fire() == []


def test_what_is_on_time_after_a_downtime_fires_besides_skipped_and_caught_up_ones():
    scene = back_after("2026-06-01 15:00:20", misfire="skip")
    assert scene.fire() == ["2026-06-01 15:00"]
    assert scene.history() == [("2026-06-01 13:00", "skipped", 2), ("2026-06-01 15:00", "fired", 1)]
    scene = back_after("2026-06-01 15:00:20", misfire="all", catch_up_most=1)
    assert scene.fire() == ["2026-06-01 14:00", "2026-06-01 15:00"]
    assert [outcome for _, outcome, _ in scene.history()] == ["skipped", "caught_up", "fired"]


def test_once_is_once_also_when_the_latest_is_on_time():
    scene = back_after("2026-06-01 15:00:20", misfire="once")
    assert scene.fire() == ["2026-06-01 15:00"]
    assert scene.history() == [("2026-06-01 15:00", "caught_up", 3)]


@pytest.mark.parametrize("policy", Misfire)
def test_nothing_behind_the_end_is_caught_up(policy):
    scene = back_after("2026-06-05 12:30", misfire=policy, end=at("2026-06-01 14:30"))
    expected = {"skip": [], "once": ["2026-06-01 14:00"], "all": ["2026-06-01 13:00", "2026-06-01 14:00"]}
    assert scene.fire() == expected[policy.value]
    assert scene.state.status == "ended"


def test_catching_up_stops_when_it_has_fired_as_often_as_it_may():
    scene = back_after("2026-06-01 17:30", misfire="all", max_firings=2)
    assert scene.fire() == ["2026-06-01 13:00", "2026-06-01 14:00"]
    assert scene.state.status == "ended"


def test_missed_ones_are_counted_up_to_a_hundred():
    scene = back_after("2026-07-01 12:30", misfire="skip", cron="* * * * *")
    scene.fire()
    assert scene.history()[0] == ("2026-06-01 12:31", "skipped", 100)


def test_a_downtime_over_a_clock_change_catches_up_by_the_same_rules():
    scene = Scene("2026-10-24 12:00")
    scene.create(cron="30 2 * * *", zone="Europe/Berlin", misfire="all", dst_overlap="both")
    scene.restart()
    assert scene.clock("2026-10-26 12:00").fire() == ["2026-10-25 00:30", "2026-10-25 01:30", "2026-10-26 01:30"]


def test_years_of_seconds_are_settled_in_no_time():
    for policy, fired in (("skip", 61), ("once", 1), ("all", 161)):
        scene = back_after("2036-06-01 12:30", misfire=policy, every_s=1)
        decision = scene.schedules.decide_firings(now=scene.now, most=1000)
        assert len(decision.firings) == fired
        assert decision.firings[-1].occurrence == scene.now
        assert all(firing.occurrence > scene.now - 200 * SECOND for firing in decision.firings)
