"""Delayed records of a partition: hidden until due, cancelled for good, moved, listed, forgotten."""

import pytest

from goqueue.core.delay.delays import Delays
from goqueue.core.delay.packing import unpack
from goqueue.core.delay.states import LATEST_NS, DelayState, DelayStatus, is_immediate
from goqueue.errors import InvalidRequest
from tests.unit.delay.scene import DAY, HOUR, MINUTE, MS, SECOND, START, Scene


@pytest.fixture
def scene() -> Scene:
    return Scene()


def offsets_listed(delays: Delays, skip: int = 0, limit: int = 100) -> list[int]:
    return [each.offset for each in delays.listing(skip=skip, limit=limit)]


# Hidden until due


def test_deciding_changes_nothing(scene):
    before = scene.delays.snapshot()
    scene.delays.schedule([1], [scene.now + SECOND], now=scene.now)
    assert scene.delays.snapshot() == before
    scene.delay({2: SECOND})
    before = scene.delays.snapshot()
    scene.delays.cancel(2)
    scene.delays.expire(2)
    scene.delays.reschedule(2, scene.now + HOUR)
    scene.delays.fire(now=scene.now + DAY)
    assert scene.delays.snapshot() == before
    assert scene.pass_time(SECOND) == [2]


def test_a_delayed_record_is_hidden_until_its_instant(scene):
    scene.delay({5: SECOND})
    assert scene.delays.hides(5)
    assert scene.pass_time(SECOND - 1) == []
    assert scene.delays.hides(5)
    assert scene.pass_time(1) == [5]
    assert not scene.delays.hides(5)
    assert scene.delays.lookup(5) == DelayStatus(DelayState.DELIVERED, None)


def test_a_delay_hides_no_other_record_and_none_of_another_partition(scene):
    other = Scene()
    scene.delay({5: SECOND})
    assert [offset for offset in range(10) if scene.delays.hides(offset)] == [5]
    assert not other.delays.hides(5)


@pytest.mark.parametrize("wait", [0, -1, -DAY])
def test_a_delay_of_nothing_or_into_the_past_is_no_delay(scene, wait):
    assert is_immediate(START + wait, now=START)
    assert scene.delay({5: wait}) is None
    assert scene.delay({6: wait, 7: MS, 8: wait}) is not None
    assert scene.delays.lookup(6) is None
    assert list(scene.delays.hidden(0, 10)) == [7]
    assert not is_immediate(START + 1, now=START)


def test_scheduling_no_records_is_nothing(scene):
    assert scene.delay({}) is None


def test_a_record_is_delayed_only_once(scene):
    scene.delay({5: SECOND, 6: HOUR, 7: HOUR})
    scene.pass_time(SECOND)
    scene.do(scene.delays.cancel(6))
    for known in (5, 6, 7):
        with pytest.raises(InvalidRequest, match="already"):
            scene.delay({known: MINUTE})
    with pytest.raises(InvalidRequest, match="already"):
        scene.delays.schedule([8, 8], [scene.now + 1, scene.now + 2], now=scene.now)


def test_hidden_records_of_a_range_include_its_first_and_not_its_end(scene):
    scene.delay(dict.fromkeys((3, 5, 7, 2_000_000, 5_000_000), SECOND))
    assert list(scene.delays.hidden(3, 7)) == [3, 5]
    assert list(scene.delays.hidden(4, 8)) == [5, 7]
    assert list(scene.delays.hidden(8, 100)) == []
    assert list(scene.delays.hidden(7, 7)) == []
    assert list(scene.delays.hidden(5, 5_000_000)) == [5, 7, 2_000_000]
    assert list(scene.delays.hidden(0, 2**63)) == [3, 5, 7, 2_000_000, 5_000_000]
    assert list(Scene().delays.hidden(0, 100)) == []


def test_the_latest_instant_is_that_of_64_bits(scene):
    scene.do(scene.delays.schedule([1], [LATEST_NS], now=scene.now))
    assert scene.delays.lookup(1) == DelayStatus(DelayState.PENDING, LATEST_NS)
    with pytest.raises(InvalidRequest, match="delay until"):
        scene.delays.schedule([2], [LATEST_NS + 1], now=scene.now)
    with pytest.raises(InvalidRequest, match="delay until"):
        scene.delays.reschedule(1, LATEST_NS + 1)


# Cancelled for good


@pytest.mark.parametrize("wait", [1, 5 * MS, SECOND, HOUR, DAY, 100 * DAY])
def test_cancelling_does_not_make_the_record_visible(scene, wait):
    scene.delay({5: wait, 6: wait})
    scene.do(scene.delays.cancel(5))
    assert scene.delays.hides(5)
    assert scene.pass_time(wait) == [6]
    assert scene.pass_time(1_000 * DAY) == []
    assert scene.delays.hides(5)
    scene.restart()
    assert scene.fire() == []
    assert scene.delays.hides(5)
    assert list(scene.delays.hidden(0, 10)) == [5]
    assert scene.delays.lookup(5) == DelayStatus(DelayState.CANCELLED, None)


def test_a_cancellation_holds_against_a_firing_that_was_decided_before(scene):
    scene.delay({5: SECOND, 6: SECOND})
    scene.now += SECOND
    firing = scene.delays.fire(now=scene.now)
    scene.do(scene.delays.cancel(5))
    scene.do(firing)
    assert scene.delays.hides(5)
    assert not scene.delays.hides(6)


def test_cancelling_many_is_all_or_nothing(scene):
    scene.delay({1: SECOND, 2: SECOND, 3: SECOND})
    with pytest.raises(InvalidRequest):
        scene.delays.cancel(1, 9)
    scene.do(scene.delays.cancel(1, 3))
    assert scene.pass_time(SECOND) == [2]


def test_what_is_over_or_was_never_delayed_cannot_be_changed(scene):
    scene.delay({1: SECOND, 2: HOUR, 3: HOUR})
    scene.pass_time(SECOND)
    scene.do(scene.delays.cancel(2))
    scene.do(scene.delays.expire(3))
    reasons = {1: "delivered already", 2: "cancelled already", 3: "expired already", 4: "not delayed"}
    for offset, reason in reasons.items():
        with pytest.raises(InvalidRequest, match=f"record {offset} cannot be cancelled: it is {reason}") as refusal:
            scene.delays.cancel(offset)
        assert refusal.value.hint
        with pytest.raises(InvalidRequest, match=f"rescheduled: it is {reason}"):
            scene.delays.reschedule(offset, scene.now + HOUR)
        with pytest.raises(InvalidRequest, match=f"expired: it is {reason}"):
            scene.delays.expire(offset)


def test_an_expired_record_stays_hidden(scene):
    scene.delay({5: HOUR})
    scene.do(scene.delays.expire(5))
    assert scene.pass_time(DAY) == []
    assert scene.delays.hides(5)
    assert scene.delays.lookup(5) == DelayStatus(DelayState.EXPIRED, None)


# Fired


def test_cancelling_a_neighbour_while_others_fire_orphans_nothing(scene):
    scene.delay(dict.fromkeys(range(100), SECOND))
    scene.now += SECOND
    fired = []
    for cancelled in range(0, 100, 10):
        scene.do(scene.delays.cancel(cancelled))
        event = scene.delays.fire(now=scene.now, limit=9)
        scene.do(event)
        fired += unpack(event.offsets)
    assert fired == [offset for offset in range(100) if offset % 10]
    assert len(scene.delays) == 0


def test_records_due_during_downtime_fire_at_once_after_a_restart(scene):
    scene.delay({1: MS, 2: SECOND, 3: HOUR, 4: 3 * DAY, 5: 30 * DAY, 6: 31 * DAY})
    scene.restart()
    assert scene.delays.next_due() <= scene.now + MS
    assert scene.pass_time(30 * DAY) == [1, 2, 3, 4, 5]
    assert scene.pass_time(DAY) == [6]


def test_a_firing_that_was_decided_but_never_written_is_decided_again(scene):
    scene.delay({1: MS, 2: 2 * MS})
    for _ in range(3):
        event = scene.delays.fire(now=scene.now + SECOND)
        assert list(unpack(event.offsets)) == [1, 2]
        assert scene.delays.hides(1)
        assert scene.delays.next_due() <= scene.now + SECOND
    assert scene.pass_time(SECOND) == [1, 2]


def test_a_firing_that_was_decided_but_not_written_before_the_clock_was_set_back_waits_again(scene):
    scene.delay({1: MINUTE, 2: HOUR})
    assert scene.delays.fire(now=scene.now + HOUR) is not None
    assert scene.delays.fire(now=scene.now) is None
    assert scene.pass_time(MINUTE) == [1]
    assert scene.pass_time(HOUR - MINUTE) == [2]


def test_many_due_at_once_fire_in_parts_and_in_order(scene):
    scene.delay({offset: SECOND + (offset * 7919) % 1_000 for offset in range(1_000)})
    scene.now += 2 * SECOND
    fired = []
    while (event := scene.delays.fire(now=scene.now, limit=64)) is not None:
        assert scene.delays.next_due() <= scene.now
        scene.do(event)
        fired += unpack(event.offsets)
    assert fired == sorted(range(1_000), key=lambda offset: ((offset * 7919) % 1_000, offset))


def test_records_that_become_due_while_others_are_left_over_take_their_place_in_order(scene):
    scene.delay({1: SECOND, 2: 2 * SECOND, 3: HOUR})
    scene.now += MINUTE
    assert list(unpack(scene.delays.fire(now=scene.now, limit=1).offsets)) == [1]
    scene.do(scene.delays.reschedule(3, START + 1))
    assert scene.fire() == [3, 1, 2]


def test_the_next_instant_is_known_to_the_nanosecond_when_near(scene):
    scene.delay({1: 3 * MS + 1, 2: HOUR})
    assert scene.delays.next_due() <= scene.now + 3 * MS + 1
    scene.pass_time(3 * MS)
    assert scene.delays.next_due() == START + 3 * MS + 1


def test_the_next_instant_may_be_before_that_of_a_record_that_is_due_already(scene):
    scene.delay({1: SECOND, 2: HOUR})
    assert scene.delays.fire(now=scene.now + SECOND) is not None
    scene.do(scene.delays.reschedule(2, scene.now + MS))
    assert scene.delays.next_due() <= scene.now + MS


def test_without_pending_delays_there_is_no_next_instant(scene):
    assert scene.delays.next_due() is None
    scene.delay({1: HOUR, 2: 30 * DAY})
    scene.do(scene.delays.cancel(1, 2))
    assert scene.delays.next_due() is None


@pytest.mark.parametrize("wait", [8 * DAY, 30 * DAY, 3_650 * DAY])
def test_there_is_no_longest_delay(scene, wait):
    scene.delay({1: wait, 2: wait + 1})
    woken = 0
    while (ahead := scene.delays.next_due()) < START + wait:
        scene.now, woken = ahead, woken + 1
        assert scene.fire() == []
    assert woken <= 4
    assert scene.pass_time(START + wait - scene.now) == [1]
    assert scene.pass_time(1) == [2]


# Moved


@pytest.mark.parametrize("before", [5 * MS, SECOND, HOUR, DAY, 30 * DAY])
@pytest.mark.parametrize("after", [1, 5 * MS, SECOND, HOUR, DAY, 30 * DAY])
def test_a_rescheduled_record_fires_at_its_new_instant_only(scene, before, after):
    scene.delay({1: before})
    scene.do(scene.delays.reschedule(1, scene.now + after))
    assert scene.delays.lookup(1) == DelayStatus(DelayState.PENDING, START + after)
    assert scene.pass_time(after - 1) == []
    assert scene.pass_time(1) == [1]
    assert scene.pass_time(100 * DAY) == []


@pytest.mark.parametrize("due", [START, START - HOUR, 0, -5])
def test_a_record_rescheduled_into_the_past_fires_at_once(scene, due):
    scene.delay({1: HOUR})
    scene.do(scene.delays.reschedule(1, due))
    assert scene.delays.next_due() <= scene.now
    assert scene.fire() == [1]


# Seen


def test_pending_delays_are_listed_by_instant_then_by_offset_a_page_at_a_time(scene):
    waits = {offset: (offset * 765_432_198_765_431) % (20 * DAY) // HOUR * HOUR + 1 for offset in range(500)}
    scene.delay(waits)
    scene.pass_time(DAY)
    expected = sorted((o for o in waits if waits[o] > DAY), key=lambda o: (waits[o], o))
    assert offsets_listed(scene.delays, limit=1_000) == expected
    pages = [offsets_listed(scene.delays, skip=skip, limit=7) for skip in range(0, 504, 7)]
    assert [offset for page in pages for offset in page] == expected
    assert offsets_listed(scene.delays, limit=0) == []
    assert scene.delays.listing(limit=1)[0].due == START + waits[expected[0]]


def test_what_is_due_and_not_fired_yet_is_listed_first(scene):
    scene.delay({1: SECOND, 2: MINUTE, 3: HOUR})
    assert scene.delays.fire(now=scene.now + MINUTE) is not None
    scene.do(scene.delays.reschedule(3, START))
    assert offsets_listed(scene.delays) == [3, 1, 2]


def test_delays_are_counted_by_state(scene):
    scene.delay(dict.fromkeys(range(4), HOUR) | {4: SECOND, 5: HOUR})
    scene.pass_time(SECOND)
    scene.do(scene.delays.cancel(0, 1))
    scene.do(scene.delays.expire(2))
    assert [scene.delays.count(state) for state in DelayState] == [2, 1, 2, 1]
    assert len(scene.delays) == 2


# Forgotten


def test_what_retention_removed_is_forgotten_whatever_its_state(scene):
    scene.delay({1: SECOND, 2: HOUR, 3: HOUR, 4: HOUR, 12: HOUR, 13: HOUR, 14: SECOND})
    scene.pass_time(SECOND)
    scene.do(scene.delays.cancel(2, 12))
    scene.do(scene.delays.expire(3))
    scene.delays.forget_below(10)
    assert [scene.delays.lookup(offset) for offset in (1, 2, 3, 4)] == [None] * 4
    assert list(scene.delays.hidden(0, 100)) == [12, 13]
    assert offsets_listed(scene.delays) == [13]
    assert scene.delays.lookup(14).state is DelayState.DELIVERED
    before = scene.delays.snapshot()
    scene.delays.forget_below(10)
    assert scene.delays.snapshot() == before
    assert scene.pass_time(HOUR) == [13]


# A log that ends earlier than it did


def test_what_is_known_of_records_beyond_the_end_of_the_log_is_forgotten(scene):
    scene.delay({number: SECOND * (number + 1) for number in range(6)})
    scene.do(scene.delays.cancel(4))
    assert scene.pass_time(SECOND) == [0]
    scene.delays.forget_from(3)
    assert offsets_listed(scene.delays) == [1, 2]
    assert not any(scene.delays.lookup(number) for number in (3, 4, 5))
    scene.delay({3: HOUR, 4: HOUR})
    assert scene.pass_time(HOUR) == [1, 2, 3, 4]
    scene.delays.forget_from(0)
    assert not scene.delays.has_any
    assert scene.delays.next_due() is None


def test_there_is_something_to_remember_also_when_all_delays_are_over(scene):
    assert not scene.delays.has_any
    scene.delay({1: SECOND})
    assert scene.pass_time(SECOND) == [1]
    assert scene.delays.has_any
