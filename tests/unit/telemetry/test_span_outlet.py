import threading

import pytest

from goqueue.adapters.telemetry.counts import Counts
from goqueue.adapters.telemetry.span_metrics import SpanCounters
from goqueue.adapters.telemetry.span_outlet import SpanOutlet, running_outlet
from tests.behaviour.serving import eventually
from tests.unit.telemetry.listening import Listener, run_of


class Slow:
    """Takes runs only while it is let; room for 100 records."""

    name = "slow"
    room = 100

    def __init__(self):
        self.may_go = threading.Event()
        self.offsets = []
        self.ended = []

    def weight(self, run):
        return run.count

    def send(self, runs):
        sent = 0
        for run in runs:
            self.may_go.wait(120)
            self.offsets.append(run.offset)
            sent += run.count
        return sent, 0

    def close(self):
        self.ended.append("closed")

    def give_up(self):
        self.ended.append("gave up")


@pytest.fixture
def slow():
    destination = Slow()
    yield destination
    destination.may_go.set()


def outlet_to(destination):
    counts, listener = Counts(), Listener()
    return SpanOutlet(destination, listener, SpanCounters(counts)), counts, listener


def count(counts, what):
    return getattr(counts, f"spans_{what}").of("slow")


async def test_what_is_left_is_taken_further_in_order_until_the_stop(slow):
    outlet, counts, listener = outlet_to(slow)
    slow.may_go.set()
    async with running_outlet(outlet):
        for number in range(20):
            assert outlet.take((run_of(2 * number), run_of(2 * number + 1))) is None
    assert slow.offsets == list(range(40))
    assert slow.ended == ["closed"]
    assert (count(counts, "sent"), count(counts, "dropped"), count(counts, "failed")) == (40, 0, 0)
    assert listener.said == []


async def test_spans_beyond_the_room_are_dropped_counted_and_told_of_once(slow):
    outlet, counts, listener = outlet_to(slow)
    async with running_outlet(outlet):
        assert [outlet.take((run_of(number, 30),)) for number in range(6)] == [None] * 4 + [30, 30]
        assert count(counts, "dropped") == 60
        assert listener.events == ["spans are dropped: they come faster than they go"]
        slow.may_go.set()
        eventually(lambda: len(slow.offsets) == 4)
        eventually(lambda: outlet.take((run_of(9),)) is None)
    assert slow.offsets[:4] == [0, 1, 2, 3]


async def test_the_stop_does_not_wait_for_a_destination_that_hangs(slow):
    outlet, _, listener = outlet_to(slow)
    async with running_outlet(outlet):
        outlet.take((run_of(0),))
        outlet.take((run_of(1),))
    assert slow.offsets == []
    assert slow.ended == ["gave up"]
    assert listener.events == ["spans were left behind at the stop"]
    slow.may_go.set()
    outlet._thread.join(10)
    assert slow.offsets == [0]
