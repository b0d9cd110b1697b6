"""Firings that wait a little, so that not all come at once."""

from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.core.schedules.cron import CronTimes, EveryTimes, occurrences_between
from goqueue.core.schedules.jitter import MS_NS, due_at
from tests.unit.schedules.scene import MINUTE, Scene, at

NOW = at("2026-06-01 12:30")


def test_a_firing_waits_the_same_time_whenever_it_is_asked_for():
    # Literals, because a broker of another version has to come to the same.
    one = at("2026-06-01 13:00")
    waits = [due_at(name, CronTimes("0 * * * *"), 60_000, one) - one for name in ("a", "b")]
    assert waits == [27_863 * MS_NS, 29_978 * MS_NS]


def test_a_schedule_is_due_when_its_wait_is_over_and_the_occurrence_stays_what_it_is():
    scene = Scene()
    scene.create(jitter_ms=600_000)
    due = scene.schedules.next_due()
    assert at("2026-06-01 13:00") < due < at("2026-06-01 13:10")
    scene.restart()
    assert scene.schedules.next_due() == due
    scene.now = due - 1
    assert scene.schedules.decide_firings(now=scene.now).firings == []
    scene.now = due
    assert scene.fire() == ["2026-06-01 13:00"]


def test_schedules_of_one_time_are_spread():
    hourly = CronTimes("0 * * * *")
    waits = {due_at(f"s{number}", hourly, 60_000, NOW + 30 * MINUTE) for number in range(100)}
    assert len(waits) > 90


@settings(max_examples=100)
@given(
    times=st.one_of(
        st.sampled_from(["* * * * *", "0,1 2 * * *", "*/7 * * * *", "* * * * * *", "30 2,3 * * *"]).map(
            lambda text: CronTimes(text, "Europe/Berlin")
        ),
        st.integers(1, 100).map(lambda seconds: EveryTimes(seconds, NOW)),
    ),
    jitter_ms=st.integers(0, 24 * 3600 * 1000),
    name=st.text("abc", min_size=1, max_size=5),
    start=st.sampled_from([NOW, at("2026-03-28 22:00"), at("2026-10-24 22:00")]),
)
def test_occurrences_never_pass_each_other(times, jitter_ms, name, start):
    found = occurrences_between(times, start, start + 30 * 24 * 60 * MINUTE, 12)
    due = [due_at(name, times, jitter_ms, each) for each in found]
    for number, (occurrence, instant) in enumerate(zip(found, due, strict=True)):
        assert occurrence <= instant <= occurrence + jitter_ms * MS_NS
        assert number + 1 == len(found) or instant < found[number + 1]
