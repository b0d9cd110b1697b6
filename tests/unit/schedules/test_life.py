"""From being made to having ended: which occurrences a schedule fires while the broker is there."""

import msgspec
import pytest

from goqueue.core.schedules.events import RecordPlace
from goqueue.core.schedules.schedule import SchedulePatch
from goqueue.core.schedules.schedules import MOST_SCHEDULES
from goqueue.core.schedules.state import Status
from goqueue.errors import InvalidRequest, ScheduleExists, UnknownSchedule
from tests.unit.schedules.scene import MINUTE, SECOND, Scene, at, config, replayed, shown


def test_each_occurrence_fires_once_at_its_time():
    scene = Scene()
    scene.create()
    assert shown(scene.schedules.next_due()) == "2026-06-01 13:00"
    assert scene.run("2026-06-01 15:30") == ["2026-06-01 13:00", "2026-06-01 14:00", "2026-06-01 15:00"]
    assert scene.fire() == []


def test_a_firing_carries_the_record_and_an_identity():
    scene = Scene()
    scene.create(key=b"k", headers=(("h", b"v"),), priority=1)
    (firing,) = scene.clock("2026-06-01 13:00").schedules.decide_firings(now=scene.now).firings
    assert (firing.topic, firing.record.value, firing.record.key) == ("reports", b"go", b"k")
    assert (firing.record.headers, firing.record.priority) == ((("h", b"v"),), 1)
    assert firing.identity == f"report@{at('2026-06-01 13:00')}"


def test_deciding_changes_nothing():
    scene = Scene()
    scene.create(misfire="all")
    before = scene.schedules.snapshot()
    scene.clock("2026-06-02 13:00")
    first = scene.schedules.decide_firings(now=scene.now)
    assert first == scene.schedules.decide_firings(now=scene.now)
    assert scene.schedules.snapshot() == before


def test_a_crash_before_the_entry_is_written_fires_again_and_one_after_it_does_not():
    scene = Scene()
    scene.create()
    scene.clock("2026-06-01 13:00").schedules.decide_firings(now=scene.now)
    scene.restart()
    assert scene.fire() == ["2026-06-01 13:00"]
    scene.restart()
    assert scene.fire() == []


def test_a_firing_that_is_not_the_next_one_cannot_be_written():
    scene = Scene()
    scene.create(every_s=10)
    scene.clock("2026-06-01 12:31")
    first, second, *_ = scene.schedules.decide_firings(now=scene.now).firings
    with pytest.raises(AssertionError, match="not the next"):
        scene.schedules.fired(second, now=scene.now)
    scene.write(scene.schedules.fired(first, now=scene.now))
    with pytest.raises(AssertionError, match="not the next"):
        scene.schedules.fired(first, now=scene.now)


def test_a_clock_set_back_fires_nothing_twice():
    scene = Scene()
    scene.create()
    scene.run("2026-06-01 14:30")
    scene.clock("2026-06-01 12:45")
    assert scene.run("2026-06-01 15:00") == ["2026-06-01 15:00"]


def test_a_clock_set_back_fires_nothing_twice_after_a_pause_or_a_change_either():
    scene = Scene()
    scene.create()
    scene.run("2026-06-01 14:30")
    scene.clock("2026-06-01 12:45").pause()
    scene.resume()
    assert scene.run("2026-06-01 14:30") == []
    scene.clock("2026-06-01 12:45").change(cron="0,30 * * * *")
    assert scene.run("2026-06-01 15:00") == ["2026-06-01 14:30", "2026-06-01 15:00"]


def test_a_schedule_made_at_an_occurrence_begins_with_the_next_one():
    scene = Scene("2026-06-01 13:00")
    scene.create()
    assert scene.run("2026-06-01 14:00") == ["2026-06-01 14:00"]


def test_a_fixed_rate_begins_one_period_after_it_was_made():
    scene = Scene()
    scene.now += 123_456_789
    scene.create(every_s=90)
    assert scene.schedules.next_due() == at("2026-06-01 12:31:30") + 123_000_000
    assert len(scene.run("2026-06-01 12:40")) == 6


def test_a_fixed_rate_with_a_start_begins_there():
    scene = Scene()
    scene.create(every_s=90, start=scene.now)
    assert scene.run("2026-06-01 12:33") == ["2026-06-01 12:30", "2026-06-01 12:31:30", "2026-06-01 12:33"]
    scene = Scene()
    scene.create(every_s=3600, start=at("2026-01-01 00:20"))
    assert scene.run("2026-06-01 14:00") == ["2026-06-01 13:20"]


def test_start_and_end_are_part_of_the_time_between_them():
    scene = Scene()
    scene.create(start=at("2026-06-01 15:00"), end=at("2026-06-01 17:00"))
    assert scene.run("2026-06-02 00:00") == ["2026-06-01 15:00", "2026-06-01 16:00", "2026-06-01 17:00"]
    assert scene.state.status is Status.ENDED
    assert scene.schedules.next_due() is None


def test_a_start_to_come_can_be_moved_to_an_earlier_time():
    scene = Scene()
    scene.create(start=at("2027-01-01 00:00"))
    scene.change(start=at("2026-06-01 14:00"))
    assert scene.run("2026-06-01 15:00") == ["2026-06-01 14:00", "2026-06-01 15:00"]


def test_a_schedule_that_has_fired_as_often_as_it_may_has_ended():
    scene = Scene()
    scene.create(max_firings=2)
    assert len(scene.run("2026-06-02 12:30")) == 2
    assert (scene.state.status, scene.state.fired) == (Status.ENDED, 2)
    scene.change(max_firings=3)
    assert scene.state.status is Status.ACTIVE
    assert scene.run("2026-06-02 18:00") == ["2026-06-02 13:00"]


def test_an_ended_schedule_that_is_prolonged_does_not_make_up_for_the_time_between():
    scene = Scene()
    scene.create(end=at("2026-06-01 13:00"), misfire="all")
    scene.run("2026-06-01 20:30")
    scene.change(end=None)
    assert scene.run("2026-06-01 21:00") == ["2026-06-01 21:00"]


def test_a_schedule_that_could_never_fire_is_refused():
    scene = Scene()
    for never in ({"end": at("2026-06-01 12:45")}, {"cron": "* * */20 * 1L"}):
        with pytest.raises(InvalidRequest, match="never fire"):
            scene.create(**never)
    scene.create()
    with pytest.raises(InvalidRequest, match="never fire"):
        scene.change(cron="* * */20 * 1L")


def test_what_falls_into_a_pause_is_not_made_up_for():
    scene = Scene()
    scene.create(misfire="all")
    scene.run("2026-06-01 13:30")
    scene.pause()
    assert (scene.state.status, scene.schedules.next_due()) == (Status.PAUSED, None)
    assert scene.run("2026-06-01 16:30") == []
    scene.resume()
    assert scene.run("2026-06-01 17:00") == ["2026-06-01 17:00"]


def test_pausing_twice_and_resuming_what_runs_change_nothing():
    scene = Scene()
    scene.create()
    scene.resume()
    scene.pause()
    scene.pause()
    assert len(scene.written) == 2


def test_a_schedule_can_be_made_paused_and_resumed_by_a_change():
    scene = Scene()
    scene.create(paused=True, misfire="all")
    assert scene.run("2026-06-01 15:30") == []
    scene.change(paused=False)
    assert scene.run("2026-06-01 16:00") == ["2026-06-01 16:00"]


def test_a_change_of_other_things_than_times_loses_no_occurrence_that_is_due():
    scene = Scene()
    scene.create()
    scene.clock("2026-06-01 13:00").change(value=b"new", description="d")
    (firing,) = scene.schedules.decide_firings(now=scene.now).firings
    assert (shown(firing.occurrence), firing.record.value) == ("2026-06-01 13:00", b"new")


def test_other_times_hold_from_now_on():
    scene = Scene()
    scene.create()
    scene.run("2026-06-01 13:10")
    scene.change(cron="5,20 * * * *")
    assert scene.run("2026-06-01 14:00") == ["2026-06-01 13:20"]
    scene.change(every_s=600)
    assert scene.run("2026-06-01 14:20") == ["2026-06-01 14:10", "2026-06-01 14:20"]


def test_a_change_that_changes_nothing_writes_nothing():
    scene = Scene()
    scene.create()
    assert scene.schedules.change("report", SchedulePatch(priority=2), now=scene.now) == []


def test_a_wrong_change_is_refused_and_leaves_all_as_it_was():
    scene = Scene()
    scene.create()
    before = scene.schedules.snapshot()
    with pytest.raises(InvalidRequest):
        scene.change(zone="Nowhere")
    assert scene.schedules.snapshot() == before


def test_a_deleted_schedule_fires_no_more_and_is_unknown():
    scene = Scene()
    scene.create()
    scene.delete()
    assert scene.schedules.next_due() is None
    assert len(scene.schedules) == 0
    for ask in (scene.pause, scene.resume, scene.delete, scene.change):
        with pytest.raises(UnknownSchedule, match="no schedule report"):
            ask()


def test_an_id_is_given_once():
    scene = Scene()
    scene.create()
    with pytest.raises(ScheduleExists, match="already"):
        scene.create()


def test_there_is_a_limit_to_schedules():
    scene = Scene()
    scene.create(every_s=60)
    replace = msgspec.structs.replace
    scene.schedules.restore(
        tuple(replace(scene.state, config=config(id=f"s{number}", every_s=60)) for number in range(MOST_SCHEDULES))
    )
    with pytest.raises(InvalidRequest, match=f"{MOST_SCHEDULES} schedules") as refusal:
        scene.schedules.create(config(id="one-more"), now=scene.now)
    assert "delete" in refusal.value.hint


def test_schedules_fire_in_the_order_of_their_times_and_so_many_at_once_at_most():
    scene = Scene()
    for number in (3, 1, 2):
        scene.create(id=f"s{number}", every_s=number)
    scene.now += 3 * SECOND
    decision = scene.schedules.decide_firings(now=scene.now, most=4)
    assert [firing.schedule for firing in decision.firings] == ["s1", "s1", "s1", "s2"]
    for firing in decision.firings:
        scene.write(scene.schedules.fired(firing, now=scene.now))
    assert scene.schedules.next_due() == scene.now
    assert scene.fire() == ["2026-06-01 12:30:03"]


def test_history_keeps_the_last_twenty_with_their_places():
    scene = Scene()
    scene.create(every_s=60)
    scene.run("2026-06-01 13:00")
    scene.now += MINUTE
    (firing,) = scene.schedules.decide_firings(now=scene.now).firings
    scene.write(scene.schedules.fired(firing, now=scene.now, place=RecordPlace(2, 7)))
    assert len(scene.state.history) == 20
    assert scene.history()[0] == ("2026-06-01 12:42", "fired", 1)
    assert (scene.state.history[-1].place, scene.state.history[-1].at) == (RecordPlace(2, 7), scene.now)


def test_an_occurrence_that_cannot_be_published_is_passed_over_with_the_reason():
    scene = Scene()
    scene.create(max_firings=1)
    (firing,) = scene.clock("2026-06-01 13:00").schedules.decide_firings(now=scene.now).firings
    scene.write(scene.schedules.passed_over(firing, now=scene.now, reason="there is no topic reports"))
    assert scene.history() == [("2026-06-01 13:00", "skipped", 1)]
    assert scene.state.history[0].reason == "there is no topic reports"
    assert (scene.state.fired, shown(scene.schedules.next_due())) == (0, "2026-06-01 14:00")


def test_replaying_what_was_written_rebuilds_the_state_exactly():
    scene = Scene()
    scene.create(misfire="skip")
    scene.create(id="other", every_s=600, jitter_ms=5000, max_firings=30)
    scene.run("2026-06-01 15:10")
    scene.pause()
    scene.run("2026-06-01 16:10")
    scene.resume()
    scene.change(cron="*/10 * * * *", zone="Europe/Berlin")
    scene.clock("2026-06-03 16:10").fire()
    again = replayed(scene.written)
    assert again.snapshot() == scene.schedules.snapshot()
    assert again.next_due() == scene.schedules.next_due()
