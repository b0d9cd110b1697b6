"""What the machine of one queue does where the property test does not look."""

from goqueue.core.delivery.delivery import KEPT_ENDS, KEPT_FAILURES, Delivery, Looked, Returns
from goqueue.core.delivery.events import Settled
from goqueue.core.delivery.policy import RetryPolicy
from goqueue.core.priority.lane_index import LaneIndex

NORMAL = 2


def opened(floor=0, **options):
    delivery = Delivery(LaneIndex())
    delivery.apply(delivery.open(floor, in_key_order=False, **options))
    return delivery


def leased(delivery, *offsets, skipped=(), now=0, deadline=100):
    frontier = {NORMAL: max((*offsets, *skipped)) + 1}
    event = delivery.lease(Looked(offsets, frontier, (), skipped), "worker", deadline=deadline, now=now)
    delivery.apply(event)
    return event.grant


def test_nothing_can_happen_before_it_is_opened():
    live = opened()
    grant = leased(live, 0, 1)
    settled = live.settle({grant: [0]})
    closed = Delivery(LaneIndex())
    before = closed.snapshot()
    for event in (
        settled,
        live.extend(grant, [0], 5),
        live.reposition(3),
        live.give_back(Returns(grant, [0], ""), now=0),
    ):
        closed.apply(event)
    assert closed.snapshot() == before
    assert not closed.is_open


def test_grants_are_numbered_on_from_where_they_are_told_to():
    delivery = opened(last_grant=1_000_000)
    assert leased(delivery, 0) == 1_000_001
    assert leased(delivery, 1) == 1_000_002
    delivery.apply(delivery.reposition(0))
    assert leased(delivery, 0) == 1_000_003
    again = Delivery(LaneIndex())
    again.restore(delivery.snapshot())
    assert leased(again, 1) == 1_000_004


def test_a_record_that_is_gone_when_its_retry_is_due_is_done_with():
    delivery = opened()
    grant = leased(delivery, 0)
    delivery.apply(delivery.fail(Returns(grant, [0], "broken"), RetryPolicy(), now=0).event)
    now = 1_000_000_000
    assert delivery.ready(1, now=now)[NORMAL] == 1
    delivery.apply(delivery.lease(Looked((), {}, (), [0]), "worker", deadline=now, now=now))
    assert delivery.ready(1, now=now) == [0] * 5
    assert (delivery.resting_count(now=now), delivery.next_rested(), delivery.floor) == (0, None, 1)
    again = Delivery(LaneIndex())
    again.restore(delivery.snapshot())
    assert again.ready(1, now=now) == [0] * 5


def test_a_record_whose_pause_is_over_is_ready_and_rests_no_more():
    """Also after a restart, and when it fails once more."""
    policy = RetryPolicy()
    delivery = opened()
    delivery.apply(delivery.fail(Returns(leased(delivery, 0, 1), [0], "broken"), policy, now=0).event)
    due = delivery.next_rested()
    assert (delivery.resting_count(now=due - 1), delivery.ready(2, now=due - 1)[NORMAL]) == (1, 0)
    for _ in range(2):
        assert (delivery.resting_count(now=due), delivery.ready(2, now=due)[NORMAL]) == (0, 1)
    again = Delivery(LaneIndex())
    again.restore(delivery.snapshot())
    assert (again.resting_count(now=due - 1), again.resting_count(now=due)) == (1, 0)
    event = again.lease(Looked([0], {NORMAL: 2}, (), ()), "worker", deadline=due + 100, now=due)
    again.apply(event)
    assert (again.resting_count(now=due), again.ready(2, now=due)[NORMAL]) == (0, 0)
    again.apply(again.fail(Returns(event.grant, [0], "broken"), policy, now=due).event)
    assert (again.resting_count(now=due), again.ready(2, now=due)[NORMAL]) == (1, 0)


def test_the_last_failures_are_kept_and_all_are_counted():
    delivery = opened()
    policy = RetryPolicy(max_attempts=1000)
    for number in range(KEPT_FAILURES + 5):
        grant = leased(delivery, 0)
        delivery.apply(delivery.fail(Returns(grant, [0], f"reason {number}"), policy, pause_ms=0, now=number).event)
        delivery.ready(1, now=number)
    attempts = delivery.attempts_of(0)
    assert attempts[:2] == (KEPT_FAILURES + 5, KEPT_FAILURES + 5)
    assert [failure.reason for failure in attempts.history] == [f"reason {5 + n}" for n in range(KEPT_FAILURES)]


def test_given_back_is_delivered_but_has_not_failed():
    delivery = opened()
    grant = leased(delivery, 0)
    delivery.apply(delivery.give_back(Returns(grant, [0], "stopping"), now=5))
    assert delivery.attempts_of(0) == (1, 0, ())
    assert delivery.next_rested() == 5
    assert delivery.ready(1, now=5)[NORMAL] == 1


def test_one_record_that_is_held_does_not_hold_up_a_million_others():
    delivery = opened()
    held = leased(delivery, 0)
    for first in range(1, 1_000_000, 50_000):
        grant = leased(delivery, *range(first, first + 50_000))
        delivery.apply(delivery.settle({grant: range(first, first + 50_000)}))
    assert (delivery.floor, delivery.leased_count) == (0, 1)
    assert len(delivery.snapshot().settled) < 1000
    delivery.apply(delivery.settle({held: [0]}))
    assert delivery.floor == 1_000_001
    assert delivery.unsettled(1_000_001) == 0


def test_acknowledged_records_take_next_to_nothing_in_the_journal():
    delivery = opened()
    grant = leased(delivery, *range(1000))
    event = delivery.settle({grant: range(1000)})
    assert isinstance(event, Settled)
    assert sum(len(part.records) for part in event.parts) < 40


def test_who_was_too_late_is_told_so_and_who_was_not_may_repeat_it():
    delivery = opened()
    first = leased(delivery, 0, 1, 2)
    delivery.apply(delivery.fail(Returns(first, [0, 1], "late"), RetryPolicy(), pause_ms=0, now=0).event)
    delivery.ready(3, now=0)
    second = leased(delivery, 0, 1)
    delivery.apply(delivery.settle({second: [0], first: [2]}))
    delivery.apply(delivery.settle({second: [1]}, is_dead=True))
    for known in (delivery, Delivery(LaneIndex())):
        known.restore(delivery.snapshot())
        assert [known.has_acked(second, offset) for offset in (0, 1, 2, 3)] == [True, False, True, False]
        assert [known.has_acked(first, offset) for offset in (0, 1, 2, 3)] == [False, False, True, False]
        assert [known.has_buried(second, offset) for offset in (0, 1, 2)] == [False, True, False]
        assert not known.has_buried(first, 1)


def test_how_records_ended_is_kept_of_the_last_ones_only():
    delivery = opened()
    grant = leased(delivery, *range(KEPT_ENDS + 10))
    delivery.apply(delivery.settle({grant: range(KEPT_ENDS + 10)}, is_dead=True))
    assert len(delivery.snapshot().ends) == KEPT_ENDS
    assert delivery.has_buried(grant, KEPT_ENDS + 9)
    delivery.apply(delivery.reposition(0))
    assert delivery.snapshot().ends == ()
