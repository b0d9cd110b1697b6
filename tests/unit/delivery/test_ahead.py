"""Offsets of a lane that are looked up in advance are those that the lane has."""

import random

import pytest

from goqueue.core.delivery import ahead
from goqueue.core.delivery.ahead import Ahead
from goqueue.core.priority.lane_index import LaneIndex
from goqueue.model.priority import LANES, NORMAL


class Counting:
    """A lane index that says how often it was asked."""

    def __init__(self, index):
        self._index = index
        self.asked = 0

    def within(self, *arguments):
        self.asked += 1
        return self._index.within(*arguments)


@pytest.fixture
def index():
    found = LaneIndex()
    found.add(0, bytes(step % LANES for step in range(10_000)))
    return Counting(found)


def test_a_backlog_is_looked_up_once_for_several_polls(index):
    lane = Ahead(index, 1)
    for step in range(5):
        assert list(lane.find(250 * step, 10_000, 50)) == list(range(250 * step + 1, 250 * step + 251, 5))
    assert index.asked == 1
    assert lane.count(1250, 10_000, 100) >= 100
    assert index.asked == 1


def test_what_is_written_later_is_found(index):
    lane = Ahead(index, 1)
    assert list(lane.find(9_990, 10_000, 50)) == [9_991, 9_996]
    assert lane.count(9_990, 10_000, 50) == 2
    index._index.add(10_000, bytes((1, 1, 0)))
    assert list(lane.find(9_992, 10_003, 50)) == [9_996, 10_000, 10_001]
    assert lane.count(10_001, 10_003, 50) == 1


def test_a_lane_that_is_empty_up_to_the_end_is_not_looked_through_again(index):
    lane = Ahead(index, 1)
    assert lane.count(9_997, 10_000, 1) == 0
    assert list(lane.find(9_997, 10_000, 50)) == []
    assert index.asked == 1


def test_no_more_is_kept_than_that_however_dense_a_lane_becomes(index):
    index._index.add(10_000, bytes(100_000))
    lane = Ahead(index, 0)
    assert list(lane.find(9_999, 110_000, 50)) == list(range(10_000, 10_050))
    assert lane.count(9_999, 110_000, 50) == ahead.KEPT


def test_more_than_is_looked_up_at_a_time_can_be_asked_for(index):
    lane = Ahead(index, NORMAL)
    assert len(lane.find(0, 10_000, 1500)) == 1500
    assert lane.count(0, 10_000, 5000) == 2000


@pytest.mark.parametrize("seed", range(20))
def test_any_way_through_a_log_that_grows_is_the_way_of_the_lane_itself(seed, monkeypatch):
    monkeypatch.setattr(ahead, "KEPT", 7)
    monkeypatch.setattr(ahead, "WINDOW", 3)
    choose = random.Random(seed)
    index, end, firsts = LaneIndex(), 0, [0] * LANES
    lanes = [Ahead(index, lane) for lane in range(LANES)]
    for _ in range(200):
        if choose.random() < 0.4:
            batch = bytes(choose.choices(range(LANES), (1, 2, 30, 4, 0), k=choose.randrange(1, 40)))
            index.add(end, batch)
            end += len(batch)
        lane = choose.randrange(LANES)
        limit = choose.randrange(1, 20)
        there = index.count(lane, firsts[lane], end)
        counted = lanes[lane].count(firsts[lane], end, limit)
        assert there >= counted if counted >= limit else there == counted
        found = lanes[lane].find(firsts[lane], end, limit)
        assert list(found) == index.take(lane, firsts[lane], end, limit)
        if found and choose.random() < 0.8:
            firsts[lane] = choose.choice(found) + 1


def test_what_was_passed_is_found_again_when_one_has_to_go_back(index):
    lane = Ahead(index, 1)
    before = list(lane.find(1000, 10_000, 50))
    lane.find(9000, 10_000, 600)
    assert list(lane.find(1000, 10_000, 50)) == before
    lane.find(9000, 10_000, 600)
    assert lane.count(1000, 10_000, 5000) == 1800
