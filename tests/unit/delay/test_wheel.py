"""The timer wheel: every level, the edges between them, jumps of the clock, and nothing early."""

import pytest

from goqueue.core.delay.wheel import PAGE_NS, TICK_NS, TimerWheel
from tests.unit.delay.scene import DAY, HOUR, MINUTE, MS, SECOND, START

SLOT_NS = [TICK_NS, TICK_NS << 8, TICK_NS << 14, PAGE_NS]
ALIGNED = START // PAGE_NS * PAGE_NS
"""All levels begin a turn here."""


class Wheel:
    """A wheel with the instants it asks for."""

    def __init__(self, now: int) -> None:
        self.dues: dict[int, int] = {}
        self.wheel = TimerWheel(self.dues.__getitem__)
        self.wheel.advance(now)

    def add(self, offset: int, due: int) -> None:
        self.dues[offset] = due
        self.wheel.add(offset, due)

    def cancel(self, offset: int) -> bool:
        return self.wheel.cancel(offset, self.dues[offset])

    def wake(self) -> tuple[int, list[int]]:
        """Sleep as the wheel says until something fires."""
        while True:
            now = self.wheel.next_due()
            if fired := self.wheel.advance(now):
                return now, fired


def test_the_levels_are_as_wide_as_designed():
    assert SLOT_NS == [10 * MS, 2_560 * MS, 163_840 * MS, 10_485_760 * MS]
    assert 7.76 * DAY < 64 * PAGE_NS < 7.77 * DAY


@pytest.mark.parametrize("start", [START, ALIGNED, ALIGNED - 1, ALIGNED + PAGE_NS - TICK_NS])
@pytest.mark.parametrize(
    "wait", [1, MS, 10 * MS, 15 * MS, SECOND, 5 * SECOND, MINUTE, 10 * MINUTE, 2 * HOUR, 5 * HOUR, DAY, 7 * DAY]
)
def test_an_entry_fires_at_its_instant_and_not_a_nanosecond_before(start, wait):
    wheel = Wheel(start)
    wheel.add(7, start + wait)
    assert wheel.wheel.advance(start + wait - 1) == []
    assert wheel.wheel.advance(start + wait) == [7]
    assert len(wheel.wheel) == 0


@pytest.mark.parametrize("width", SLOT_NS)
@pytest.mark.parametrize("slots", [1, 2, 62])
@pytest.mark.parametrize("beside", [-TICK_NS, -1, 0, 1, TICK_NS])
def test_entries_at_the_edges_of_slots_fire_at_their_instant(width, slots, beside):
    """Woken only when the wheel asks for it: through every level on the way down."""
    due = ALIGNED + slots * width + beside
    for start in (ALIGNED - 1, ALIGNED, ALIGNED + TICK_NS // 2):
        if due > start:
            wheel = Wheel(start)
            wheel.add(1, due)
            assert wheel.wake() == (due, [1])
            assert wheel.wheel.next_due() is None


def test_a_delay_shorter_than_a_tick_does_not_fall_into_the_slot_just_passed():
    wheel = Wheel(ALIGNED + 3 * MS)
    wheel.add(1, ALIGNED + 3 * MS + 1)
    wheel.add(2, ALIGNED + 9 * MS)
    assert wheel.wheel.next_due() == ALIGNED + 3 * MS + 1
    assert wheel.wheel.advance(ALIGNED + 8 * MS) == [1]
    assert wheel.wheel.advance(ALIGNED + 9 * MS) == [2]


def test_an_instant_that_has_passed_fires_at_the_next_look():
    wheel = Wheel(START)
    wheel.add(1, START - DAY)
    wheel.add(2, START)
    assert wheel.wheel.next_due() == START - DAY
    assert wheel.wheel.advance(START) == [1, 2]


def test_what_is_due_comes_by_instant_then_by_offset():
    wheel = Wheel(START)
    for offset, wait in [(9, 2), (4, 1), (3, 2), (8, HOUR), (5, HOUR), (6, MINUTE), (7, MINUTE + 1)]:
        wheel.add(offset, START + wait)
    assert wheel.wheel.advance(START + DAY) == [4, 3, 9, 6, 7, 5, 8]


def test_cancelling_neighbours_while_a_slot_drains_orphans_nothing():
    wheel = Wheel(ALIGNED)
    dues = {offset: ALIGNED + 20 * MS + offset for offset in range(100)}
    for offset, due in dues.items():
        wheel.add(offset, due)
    fired = wheel.wheel.advance(ALIGNED + 20 * MS + 9)
    assert fired == list(range(10))
    assert all(wheel.cancel(offset) for offset in range(10, 100, 2))
    for offset in range(11, 100, 2):
        assert wheel.wheel.advance(dues[offset] - 1) == []
        assert wheel.wheel.advance(dues[offset]) == [offset]
    assert len(wheel.wheel) == 0


@pytest.mark.parametrize("wait", [1, 50 * MS, 10 * SECOND, 10 * MINUTE, DAY])
def test_a_cancelled_entry_is_gone_at_once_whatever_its_level(wait):
    wheel = Wheel(START)
    wheel.add(1, START + wait)
    wheel.add(2, START + wait)
    assert wheel.cancel(1)
    assert not wheel.cancel(1)
    assert len(wheel.wheel) == 1
    assert wheel.wheel.advance(START + 7 * DAY) == [2]


def test_an_entry_is_found_for_cancelling_on_every_step_down_the_levels():
    due = ALIGNED + 5 * PAGE_NS + 3 * SLOT_NS[2] + 9 * SLOT_NS[1] + 77 * TICK_NS + 5
    stops = [ALIGNED, ALIGNED + 5 * PAGE_NS, due - 20 * SLOT_NS[1], due - SLOT_NS[1], due - 30 * TICK_NS, due - 3]
    for stop in stops:
        wheel = Wheel(ALIGNED)
        wheel.add(1, due)
        assert wheel.wheel.advance(stop) == []
        assert wheel.cancel(1)
        assert wheel.wheel.advance(due) == []


@pytest.mark.parametrize("jump", [HOUR, DAY, 365 * DAY, 100 * 365 * DAY])
def test_a_jump_of_the_clock_fires_everything_due_without_counting_ticks(jump):
    """A hundred years are 3 × 10¹¹ ticks: if they were counted, this would not end."""
    wheel = Wheel(START)
    waits = [1, 40 * MS, SECOND, 20 * SECOND, 50 * MINUTE, 20 * HOUR, 6 * DAY]
    for offset, wait in enumerate(waits):
        wheel.add(offset, START + wait)
    due = [offset for offset, wait in enumerate(waits) if wait <= jump]
    assert wheel.wheel.advance(START + jump) == due
    assert wheel.wheel.advance(START + jump + 7 * DAY) == list(range(len(due), len(waits)))


@pytest.mark.parametrize("back", [1, MS, 25 * MS, 3 * SECOND, MINUTE, 3 * HOUR, 2 * DAY, 30 * DAY])
def test_a_clock_set_back_fires_nothing_early_and_loses_nothing(back):
    wheel = Wheel(START)
    waits = [5 * MS, 40 * MS, 5 * SECOND, 10 * MINUTE, 5 * HOUR, 6 * DAY]
    for offset, wait in enumerate(waits):
        wheel.add(offset, START + wait)
    assert wheel.wheel.advance(START - back) == []
    wheel.add(100, START - back + 3 * MS)
    assert wheel.wheel.advance(START - back + 3 * MS - 1) == []
    assert wheel.wheel.advance(START - back + 3 * MS) == [100]
    for offset, wait in enumerate(waits):
        assert wheel.wake() == (START + wait, [offset])


def test_an_entry_added_before_the_wheel_knows_that_the_clock_was_set_back_is_not_early():
    wheel = Wheel(START)
    wheel.add(1, START - 30 * MINUTE)
    assert wheel.wheel.next_due() <= START - 30 * MINUTE
    assert wheel.wheel.advance(START - HOUR) == []
    assert wheel.wake() == (START - 30 * MINUTE, [1])


def test_the_next_wake_up_is_after_now_once_everything_due_was_taken():
    wheel = Wheel(START)
    for offset in range(2_000):
        wheel.add(offset, START + (offset * 765_432_198_765_431) % (7 * DAY) + 1)
    now = START
    left, woken = 2_000, 0
    while left:
        ahead = wheel.wheel.next_due()
        assert now < ahead
        now, woken = ahead, woken + 1
        left -= len(wheel.wheel.advance(now))
    assert woken < 4 * 2_000, "at most once for each level"


def test_what_is_beyond_the_span_is_refused():
    wheel = Wheel(START)
    last = ALIGNED + 64 * PAGE_NS - 1
    assert wheel.wheel.fits(START + 7 * DAY)
    assert wheel.wheel.fits(last)
    assert not wheel.wheel.fits(last + 1)
    wheel.add(1, last)
    with pytest.raises(AssertionError):
        wheel.add(2, last + 1)
    assert wheel.wake() == (last, [1])


def test_what_did_not_fit_does_when_time_has_passed():
    wheel = Wheel(START)
    due = START + 9 * DAY
    assert not wheel.wheel.fits(due)
    wheel.wheel.advance(START + 2 * DAY)
    assert wheel.wheel.fits(due)
