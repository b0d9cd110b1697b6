"""Lanes change the order in which records are delivered, never whether they are."""

import pytest

from goqueue.core.priority.policy import LanePolicy
from goqueue.model.priority import NORMAL
from tests.unit.priority.scene import BACKGROUND, CRITICAL, HIGH, LOW, Partition


@pytest.fixture(params=[False, True], ids=["weighted", "strict"])
def partition(request) -> Partition:
    return Partition(LanePolicy(strict=request.param))


def test_of_four_records_of_mixed_priority_all_four_are_delivered(partition):
    partition.publish([NORMAL, CRITICAL, LOW, NORMAL])
    assert sorted(partition.poll(10)) == [0, 1, 2, 3]
    assert partition.poll(10) == []


def test_a_later_critical_record_does_not_hide_the_earlier_ones(partition):
    partition.publish([BACKGROUND, NORMAL])
    partition.publish([CRITICAL])
    assert partition.poll(1) == [2]
    assert sorted(partition.poll(1) + partition.poll(1)) == [0, 1]


@pytest.mark.parametrize("limit", [1, 2, 7, 100, 5000])
def test_polls_of_any_size_deliver_every_record_once(partition, limit):
    partition.publish(number * number % 5 for number in range(500))
    partition.publish([NORMAL] * 100)
    partition.publish([HIGH] * 100)
    delivered = []
    while polled := partition.poll(limit):
        delivered += polled
    assert sorted(delivered) == list(range(700))


def test_records_that_come_between_polls_are_delivered_too(partition):
    delivered = []
    for number in range(60):
        partition.publish([number % 5, NORMAL, BACKGROUND])
        delivered += partition.poll(2)
    while polled := partition.poll(2):
        delivered += polled
    assert sorted(delivered) == list(range(180))


def test_each_lane_is_delivered_in_the_order_of_its_offsets(partition):
    partition.publish([3, 0, 2, 3, 1, 0, 2, 4, 4, 0] * 20)
    delivered = []
    while polled := partition.poll(3):
        delivered += polled
    for lane in range(5):
        of_lane = [offset for offset in delivered if partition.index.priority_of(offset) == lane]
        assert of_lane == sorted(of_lane)


def test_an_answer_that_has_no_room_for_all_that_was_planned_loses_nothing(partition):
    partition.publish([0, 1, 2, 3, 4] * 40)
    delivered = []
    while polled := partition.poll(50, fits=3):
        assert len(polled) <= 3
        delivered += polled
    assert sorted(delivered) == list(range(200))


def test_a_record_the_index_was_never_told_of_is_delivered_as_normal(partition):
    partition.publish([CRITICAL, LOW])
    partition.end += 3
    assert sorted(partition.poll(10)) == [0, 1, 2, 3, 4]
