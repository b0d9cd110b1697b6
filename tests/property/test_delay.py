"""Delays under a clock that creeps, jumps and is set back, beside a plain dictionary that says what must be."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from pyroaring import BitMap64

from goqueue.core.delay.delays import Delays
from goqueue.core.delay.events import DelayEvent
from goqueue.core.delay.packing import unpack
from goqueue.core.delay.states import DelayState, DelayStatus
from goqueue.core.delay.wheel import TimerWheel
from goqueue.errors import InvalidRequest
from tests.unit.delay.scene import DAY, HOUR, MINUTE, MS, SECOND, START, restored

PENDING = DelayState.PENDING

# Scales of time, so that every level of the wheel and what lies beyond it are all met often.
SCALES = [20, 30 * MS, 3 * SECOND, 3 * MINUTE, 3 * HOUR, 8 * DAY, 40 * DAY]
DURATIONS = st.sampled_from(SCALES).flatmap(lambda scale: st.integers(0, scale))
WAITS = st.one_of(DURATIONS, DURATIONS, DURATIONS.map(int.__neg__))


class DelayedRecords(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.now = START
        self.delays = Delays()
        self.history = []
        self.middle = self.delays.snapshot()
        self.since_middle = 0
        self.next_offset = 0
        self.log_start = 0
        self.model: dict[int, DelayStatus] = {}

    # Steps that rules share

    def do(self, event):
        """As through the journal."""
        event = msgspec.msgpack.decode(msgspec.msgpack.encode(event), type=DelayEvent)
        self.history.append(event)
        self.delays.apply(event)

    def pending(self):
        """In the order in which they are due."""
        waiting = [(status.due, offset) for offset, status in self.model.items() if status.state is PENDING]
        return [(offset, due) for due, offset in sorted(waiting)]

    def pick(self, data, *, pending):
        """A record that is pending, or one that is not: because it is over, or was never delayed."""
        known = [*self.model, self.next_offset]
        fitting = [offset for offset in known if self.is_pending(offset) is pending]
        return data.draw(st.sampled_from(fitting)) if fitting else None

    def is_pending(self, offset):
        return offset in self.model and self.model[offset].state is PENDING

    def end(self, offset, state):
        self.model[offset] = DelayStatus(state, None)

    def new_batch(self, waits, gap):
        base = self.next_offset + gap
        self.next_offset = base + len(waits)
        return list(range(base, self.next_offset)), [self.now + wait for wait in waits]

    # What happens

    @rule(waits=st.lists(WAITS, min_size=1, max_size=6), gap=st.sampled_from([0, 0, 1, 70_000]))
    def publish(self, waits, gap):
        offsets, dues = self.new_batch(waits, gap)
        event = self.delays.schedule(offsets, dues, now=self.now)
        later = {offset: due for offset, due in zip(offsets, dues, strict=True) if due > self.now}
        assert (event is None) is (not later)
        if event is not None:
            self.do(event)
        self.model |= {offset: DelayStatus(PENDING, due) for offset, due in later.items()}

    @rule(data=st.data())
    def cancel(self, data):
        offset = self.pick(data, pending=True)
        if offset is not None:
            self.do(self.delays.cancel(offset))
            self.end(offset, DelayState.CANCELLED)

    @rule(data=st.data())
    def expire(self, data):
        offset = self.pick(data, pending=True)
        if offset is not None:
            self.do(self.delays.expire(offset))
            self.end(offset, DelayState.EXPIRED)

    @rule(data=st.data(), wait=WAITS)
    def reschedule(self, data, wait):
        offset = self.pick(data, pending=True)
        if offset is not None:
            self.do(self.delays.reschedule(offset, self.now + wait))
            self.model[offset] = DelayStatus(PENDING, self.now + wait)

    @rule(data=st.data())
    def change_what_cannot_be_changed(self, data):
        offset = self.pick(data, pending=False)
        if offset is not None:
            for command in (self.delays.cancel, self.delays.expire, lambda o: self.delays.reschedule(o, self.now)):
                with pytest.raises(InvalidRequest):
                    command(offset)

    @rule(duration=DURATIONS)
    def time_passes(self, duration):
        self.now += duration

    @rule(duration=DURATIONS)
    def the_clock_is_set_back(self, duration):
        self.now -= duration

    @rule(limit=st.sampled_from([1, 3, 10_000]), is_written=st.sampled_from([True, True, True, False]))
    def fire(self, limit, is_written):
        event = self.delays.fire(now=self.now, limit=limit)
        expected = [offset for offset, due in self.pending() if due <= self.now][:limit]
        assert (list(unpack(event.offsets)) if event else []) == expected
        if event is not None and is_written:
            self.do(event)
            for offset in expected:
                self.end(offset, DelayState.DELIVERED)

    @precondition(lambda self: self.next_offset > self.log_start)
    @rule(data=st.data())
    def retention_removes_the_oldest(self, data):
        self.log_start = data.draw(st.integers(self.log_start, self.next_offset))
        self.delays.forget_below(self.log_start)
        self.model = {offset: status for offset, status in self.model.items() if offset >= self.log_start}

    @rule()
    def restart(self):
        self.delays = restored(self.delays.snapshot())

    @rule()
    def note_the_middle(self):
        self.middle = self.delays.snapshot()
        self.since_middle = len(self.history)

    # What holds at all times

    @invariant()
    def every_record_is_in_the_state_it_should_be_in(self):
        for offset, status in self.model.items():
            assert self.delays.lookup(offset) == status
        by_state = self.delays.by_state(BitMap64(range(self.next_offset + 3)))
        for state in DelayState:
            offsets = [offset for offset, status in self.model.items() if status.state is state]
            assert self.delays.count(state) == len(offsets)
            assert list(by_state[state]) == sorted(offsets)

    @invariant()
    def readers_skip_what_is_pending_cancelled_or_expired_and_nothing_else(self):
        hidden = [offset for offset, status in self.model.items() if status.state is not DelayState.DELIVERED]
        assert list(self.delays.hidden(0, self.next_offset)) == hidden
        assert all(map(self.delays.hides, hidden))
        assert list(self.delays.hidden(3, 7)) == [offset for offset in hidden if 3 <= offset < 7]

    @invariant()
    def every_pending_record_is_listed_once_and_in_order(self):
        expected = self.pending()
        assert self.delays.listing(limit=len(expected) + 1) == expected
        assert self.delays.listing(skip=2, limit=3) == expected[2:5]

    @invariant()
    def whoever_sleeps_until_the_next_instant_misses_nothing(self):
        pending = self.pending()
        if not pending:
            assert self.delays.next_due() is None
        else:
            assert self.delays.next_due() <= pending[0][1]

    @invariant()
    def replaying_from_the_start_and_from_the_middle_gives_the_same_delays(self):
        now = self.delays.snapshot()
        early, late = Delays(), restored(self.middle)
        for event in self.history:
            early.apply(event)
        for event in self.history[self.since_middle :]:
            late.apply(event)
        for replayed in (early, late):
            # As a restart does, by what its segments say.
            replayed.forget_below(self.log_start)
        assert early.snapshot() == now
        assert late.snapshot() == now

    def teardown(self):
        """Sleep until everything has fired: each at its very instant, or at once if that has passed."""
        self.fire(10_000, True)
        wake_ups, left = 0, len(self.pending())
        most = 5 * left
        while self.pending():
            ahead = self.delays.next_due()
            assert ahead > self.now, "nothing is left to fire now, yet there is no sleep"
            self.now, wake_ups = ahead, wake_ups + 1
            before = dict(self.pending())
            self.fire(10_000, True)
            assert all(before[offset] == self.now for offset in before if not self.is_pending(offset))
        assert wake_ups <= most


TestDelayedRecords = DelayedRecords.TestCase
TestDelayedRecords.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


@given(
    start=st.integers(START, START + 8 * DAY),
    entries=st.lists(st.tuples(st.sampled_from(SCALES[:-1]).flatmap(lambda s: st.integers(0, s)), st.booleans())),
    moves=st.lists(st.tuples(DURATIONS, st.sampled_from([1, 1, 1, -1])), max_size=8),
)
@settings(max_examples=150)
def test_a_wheel_gives_out_exactly_what_is_due_at_every_move_of_the_clock(start, entries, moves):
    dues: dict[int, int] = {}
    wheel = TimerWheel(dues.__getitem__)
    now = start
    wheel.advance(now)
    waiting = {}
    for offset, (wait, is_cancelled) in enumerate(entries):
        dues[offset] = due = start + wait
        if not wheel.fits(due):
            continue
        wheel.add(offset, due)
        if is_cancelled:
            assert wheel.cancel(offset, due)
        else:
            waiting[offset] = due
    for duration, direction in moves:
        now += direction * duration
        ready = sorted((due, offset) for offset, due in waiting.items() if due <= now)
        assert wheel.advance(now) == [offset for _, offset in ready]
        for _, offset in ready:
            del waiting[offset]
        assert len(wheel) == len(waiting)
        assert (wheel.next_due() is None) is (not waiting)
        assert not waiting or now < wheel.next_due() <= min(waiting.values())
