import itertools
from collections import Counter

import pytest

from goqueue.core.priority.drr import LaneScheduler, Take
from goqueue.core.priority.policy import LanePolicy
from goqueue.errors import InvalidRequest
from tests.unit.priority.scene import BACKGROUND, CRITICAL, HIGH, LOW, Partition, at

PLENTY = [10_000] * 5


def total(takes: list[Take]) -> list[int]:
    counts = [0] * 5
    for lane, count in takes:
        counts[lane] += count
    return counts


def test_a_poll_of_a_hundred_is_divided_by_the_weights():
    assert LaneScheduler(LanePolicy()).plan(PLENTY, 100, now=at(0)) == [
        Take(0, 50),
        Take(1, 25),
        Take(2, 15),
        Take(3, 7),
        Take(4, 3),
    ]


def test_polls_of_one_mix_the_lanes_instead_of_finishing_one_after_the_other():
    partition = Partition()
    partition.publish([0, 1, 2, 3, 4] * 100)
    served = [partition.poll_priorities(1)[0] for _ in range(100)]
    assert sorted(Counter(served).items()) == [(0, 50), (1, 25), (2, 15), (3, 7), (4, 3)]
    assert set(served[:20]) >= {0, 1, 2, 3}
    assert max(len(list(run)) for _, run in itertools.groupby(served)) <= 3


def test_what_empty_lanes_leave_is_divided_among_the_others():
    plan = LaneScheduler(LanePolicy()).plan([4, 1000, 0, 0, 1000], 100, now=at(0))
    assert plan == [Take(0, 4), Take(1, 86), Take(4, 10)]


def test_a_lane_alone_gets_the_whole_poll_at_once():
    assert LaneScheduler(LanePolicy()).plan([0, 0, 0, 0, 5000], 1000, now=at(0)) == [Take(4, 1000)]


def test_a_large_poll_is_made_of_rounds_so_that_a_cut_answer_has_served_every_lane():
    plan = LaneScheduler(LanePolicy()).plan(PLENTY, 1000, now=at(0))
    assert [take.priority for take in plan] == [0, 1, 2, 3, 4] * 10
    assert total(plan) == [500, 250, 150, 70, 30]
    assert total(plan[:5]) == [50, 25, 15, 7, 3]


def test_a_plan_changes_nothing():
    scheduler = LaneScheduler(LanePolicy())
    plans = {tuple(scheduler.plan(PLENTY, 7, now=at(second))) for second in (0, 0, 100)}
    assert len(plans) == 1


def test_what_was_planned_and_not_taken_is_made_up_for():
    scheduler = LaneScheduler(LanePolicy())
    scheduler.served(PLENTY, [Take(0, 50)], now=at(0))
    assert total(scheduler.plan(PLENTY, 50, now=at(0))) == [0, 25, 15, 7, 3]


def test_a_lane_that_runs_empty_loses_what_it_was_owed():
    scheduler = LaneScheduler(LanePolicy())
    scheduler.served([100, 0, 0, 0, 100], [Take(0, 50)], now=at(0))
    scheduler.served([100, 0, 0, 0, 0], [Take(0, 50)], now=at(0))
    # Of 53 records by 50 to 3, and nothing more for the time before.
    assert total(scheduler.plan([100, 0, 0, 0, 100], 53, now=at(0))) == [50, 0, 0, 0, 3]


def test_a_lane_that_could_not_be_served_for_long_does_not_take_all_polls_after_that():
    scheduler = LaneScheduler(LanePolicy(weights=(1, 1, 1, 1, 1)))
    for _ in range(1000):
        scheduler.served([1000, 1000, 0, 0, 0], [Take(0, 100)], now=at(0))
    plans = []
    for _ in range(4):
        plans.append(scheduler.plan([1000, 1000, 0, 0, 0], 100, now=at(0)))
        scheduler.served([1000, 1000, 0, 0, 0], plans[-1], now=at(0))
    assert [total(plan)[:2] for plan in plans] == [[0, 100], [0, 100], [50, 50], [50, 50]]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_poll_for_nothing_takes_nothing(limit):
    assert LaneScheduler(LanePolicy()).plan(PLENTY, limit, now=at(0)) == []
    assert LaneScheduler(LanePolicy()).plan([0] * 5, 10, now=at(0)) == []


# --- strict order and starvation


def test_strict_order_takes_the_highest_lane_that_has_records():
    partition = Partition(LanePolicy(strict=True))
    partition.publish([BACKGROUND, CRITICAL, LOW, HIGH, CRITICAL])
    assert partition.poll_priorities(4) == [CRITICAL, CRITICAL, HIGH, LOW]


def test_a_lane_passed_over_for_thirty_seconds_is_served_next_also_in_strict_order():
    partition = Partition(LanePolicy(strict=True))
    partition.publish([CRITICAL] * 1000 + [BACKGROUND] * 3)
    assert partition.poll_priorities(2, seconds=0) == [CRITICAL, CRITICAL]
    assert partition.poll_priorities(2, seconds=29.9) == [CRITICAL, CRITICAL]
    assert partition.poll_priorities(2, seconds=30) == [BACKGROUND, CRITICAL]
    assert partition.poll_priorities(2, seconds=59) == [CRITICAL, CRITICAL]
    assert partition.poll_priorities(1, seconds=60) == [BACKGROUND]


def test_of_several_starved_lanes_the_one_passed_over_longest_comes_first():
    partition = Partition(LanePolicy(strict=True))
    partition.publish([CRITICAL] * 100 + [LOW])
    partition.poll(1, seconds=0)
    partition.publish([HIGH, BACKGROUND])
    partition.poll(1, seconds=1)
    assert [partition.poll_priorities(1, seconds=40)[0] for _ in range(4)] == [LOW, CRITICAL, HIGH, BACKGROUND]


def test_a_lane_whose_weight_is_too_small_for_slow_polls_is_served_by_the_bound():
    partition = Partition(LanePolicy(weights=(1000, 1, 1, 1, 1)))
    partition.publish([CRITICAL] * 100 + [BACKGROUND] * 5)
    served = [partition.poll_priorities(1, seconds=10 * number)[0] for number in range(9)]
    assert served.count(BACKGROUND) == 2


def test_a_record_taken_because_of_starvation_counts_towards_the_share_of_its_lane():
    scheduler = LaneScheduler(LanePolicy())
    scheduler.served(PLENTY, [], now=at(0))
    scheduler.served(PLENTY, scheduler.plan(PLENTY, 100, now=at(0))[:4], now=at(20))
    plan = scheduler.plan(PLENTY, 103, now=at(30))
    assert plan[0] == Take(BACKGROUND, 1)
    assert total(plan) == [50, 25, 15, 7, 6]


def test_a_time_without_any_poll_is_not_starvation():
    partition = Partition(LanePolicy(strict=True))
    partition.poll(1, seconds=0)
    partition.publish([BACKGROUND, CRITICAL, CRITICAL])
    assert partition.poll_priorities(3, seconds=3600) == [CRITICAL, CRITICAL, BACKGROUND]


def test_a_clock_that_is_set_back_does_not_put_off_the_bound():
    partition = Partition(LanePolicy(strict=True))
    partition.publish([CRITICAL] * 10 + [LOW])
    partition.poll(1, seconds=5000)
    partition.poll(1, seconds=1000)
    partition.poll(1, seconds=1010)
    assert partition.poll_priorities(1, seconds=1030) == [LOW]


# --- policy


@pytest.mark.parametrize("weights", [(), (1, 1, 1, 1), (1,) * 6, (0, 1, 1, 1, 1), (1, 1, 1, 1, 1001), (-1, 1, 1, 1, 1)])
def test_weights_are_five_numbers_from_1_to_1000(weights):
    with pytest.raises(InvalidRequest, match="not weights of lanes"):
        LanePolicy(weights=weights)


@pytest.mark.parametrize("starvation_ms", [0, -5, 86_400_001])
def test_a_starvation_bound_is_a_millisecond_to_a_day(starvation_ms):
    with pytest.raises(InvalidRequest, match="starvation limit"):
        LanePolicy(starvation_ms=starvation_ms)
