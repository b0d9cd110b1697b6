"""The table of a record's life and the machine that keeps it say the same: nothing else happens, and all of it can."""

from collections.abc import Callable

import pytest
from hypothesis import settings

from goqueue.core.delivery.delivery import Delivery, Looked, Returns
from goqueue.core.delivery.events import DeliveryEvent, Extended, Forgotten, Leased, Repositioned, Returned, Settled
from goqueue.core.delivery.life_cycle import ENDS, STATES, STEPS, TRANSITIONS, State, Step
from goqueue.core.delivery.packed import unpack
from goqueue.core.delivery.policy import RetryPolicy
from goqueue.core.priority.lane_index import LaneIndex
from goqueue.model.ids import InstantNs
from tests.property.test_delivery import KeyedQueue, Queue

POLICY = RetryPolicy(max_attempts=3, backoff_ms=0, max_backoff_ms=0)
NOW = InstantNs(1_000_000_000)
DEADLINE = InstantNs(2_000_000_000)
KEY = 7
BEFORE, RECORD, END = 0, 1, 2
NORMAL = 2


class Partition:
    """Two records of one key: another one, and the one whose life is looked at."""

    def __init__(self) -> None:
        self.lanes = LaneIndex()
        self.lanes.add(BEFORE, bytes([NORMAL] * END))
        self.queue = Delivery(self.lanes)
        self.queue.apply(self.queue.open(0, in_key_order=True))

    @property
    def state(self) -> State:
        return self.queue.standing(RECORD).state

    def look(self, looked: Looked) -> None:
        event = self.queue.lease(looked, "worker", deadline=DEADLINE, now=NOW)
        assert event is not None
        self.queue.apply(event)

    def grant(self, offset: int) -> int:
        return next(grant.number for grant in self.queue.grants_of("worker") if offset in grant.records)

    def take_other(self) -> None:
        self.look(Looked([BEFORE], {}, keys=[KEY]))

    # One method for each step.

    def hide(self) -> None:
        self.look(Looked([], {NORMAL: END}, asleep=[RECORD]))

    def hold(self) -> None:
        self.take_other()
        self.look(Looked([], {NORMAL: END}, deferred=[(RECORD, KEY)]))

    def turn(self) -> None:
        self.queue.apply(self.queue.settle({self.grant(BEFORE): [BEFORE]}))

    def take(self) -> None:
        self.look(Looked([RECORD], {NORMAL: END}, keys=[KEY]))

    def pass_over(self) -> None:
        self.look(Looked([], {NORMAL: END}, skipped=[RECORD]))

    def extend(self) -> None:
        self.queue.apply(self.queue.extend(self.grant(RECORD), [RECORD], InstantNs(DEADLINE + 1)))

    def ack(self) -> None:
        self.queue.apply(self.queue.settle({self.grant(RECORD): [RECORD]}))

    def bury(self) -> None:
        self.queue.apply(self.queue.settle({self.grant(RECORD): [RECORD]}, is_dead=True))

    def retry(self) -> None:
        event = self.queue.fail(Returns(self.grant(RECORD), [RECORD], "broken"), POLICY, now=NOW).event
        assert event is not None
        self.queue.apply(event)

    def give_back(self) -> None:
        self.queue.apply(self.queue.give_back(Returns(self.grant(RECORD), [RECORD], "stopping"), now=NOW))

    def rewind(self) -> None:
        self.queue.apply(self.queue.reposition(BEFORE))

    def skip(self) -> None:
        self.queue.apply(self.queue.reposition(END))

    def forget(self) -> None:
        event = self.queue.forget_below(END)
        assert event is not None
        self.queue.apply(event)


WAYS: dict[State, tuple[Step, ...]] = {
    "waiting": (),
    "asleep": ("hide",),
    "deferred": ("hold",),
    "leased": ("take",),
    "resting": ("take", "retry"),
    "settled": ("take", "ack"),
    "dead": ("take", "bury"),
}


def do(partition: Partition, step: Step) -> None:
    method: Callable[[], None] = getattr(partition, step)
    method()


@pytest.mark.parametrize(("state", "step"), TRANSITIONS)
def test_every_step_of_the_table_leads_where_it_says(state, step):
    partition = Partition()
    for way in WAYS[state]:
        do(partition, way)
    assert partition.state == state
    do(partition, step)
    assert partition.state == TRANSITIONS[state, step]


def test_the_table_has_every_state_and_every_step_and_an_end():
    assert {state for state, _ in TRANSITIONS} | set(TRANSITIONS.values()) == set(STATES)
    assert {step for _, step in TRANSITIONS} == set(STEPS)
    by_operator = {"rewind", "skip", "forget"}
    assert {
        state
        for state in STATES
        if not any(TRANSITIONS.get((state, step)) for step in STEPS if step not in by_operator)
    } == ENDS


def steps_in(event: DeliveryEvent) -> dict[int, Step]:
    """What an event says of single records; those that it does not name can only get their turn."""
    match event:
        case Leased():
            return {
                **dict.fromkeys(unpack(event.records), "take"),
                **dict.fromkeys(unpack(event.asleep), "hide"),
                **dict.fromkeys(unpack(event.skipped), "pass_over"),
                **dict.fromkeys((offset for offset, _ in event.deferred), "hold"),
            }
        case Settled(parts, is_dead):
            return dict.fromkeys((one for part in parts for one in unpack(part.records)), "bury" if is_dead else "ack")
        case Returned():
            return dict.fromkeys(event.offsets, "retry" if event.is_failure else "give_back")
        case Extended(part):
            return dict.fromkeys(unpack(part.records), "extend")
        case Forgotten(below):
            return dict.fromkeys(range(below), "forget")
        case Repositioned() | _:
            return {}


class WatchedQueue(Queue):
    """As in the test against the model, looking at each record before and after each event."""

    def write(self, event: DeliveryEvent) -> None:
        end = getattr(self, "end", 0)
        before = [self.live.standing(offset).state for offset in range(end)]
        super().write(event)
        steps = steps_in(event)
        for offset, state in enumerate(before):
            after = self.live.standing(offset).state
            step = steps.get(offset, "turn")
            if after != state:
                assert TRANSITIONS.get((state, step)) == after, (state, step, after)


class WatchedKeyedQueue(WatchedQueue, KeyedQueue):
    keyed = True


TestWatchedQueue = WatchedQueue.TestCase
TestWatchedKeyedQueue = WatchedKeyedQueue.TestCase
TestWatchedQueue.settings = TestWatchedKeyedQueue.settings = settings(max_examples=30, stateful_step_count=30)
