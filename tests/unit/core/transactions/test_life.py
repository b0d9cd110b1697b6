"""How transactions begin, grow and end."""

import tracemalloc

import pytest

from goqueue.core.transactions import coordinator as module
from goqueue.core.transactions.coordinator import Coordinator, Stats
from goqueue.core.transactions.endings import ENDINGS_REMEMBERED, TIME_IS_UP
from goqueue.core.transactions.transaction import TRANSITIONS, GroupOffset, PartitionPart, State, Step
from goqueue.errors import InvalidRequest, TransactionConflict, TransactionEnded, UnknownTransaction
from tests.unit.core.transactions.scene import MINUTE, MS, START, Scene, pledge, replayed, restored


@pytest.fixture
def scene():
    scene = Scene()
    scene.enlist()
    return scene


def test_what_is_over_stays_as_it_is():
    assert not any(state in (State.COMMITTED, State.ABORTED) for state, _ in TRANSITIONS)
    assert {state for state, step in TRANSITIONS if step is Step.ABORT} == {State.OPEN, State.PREPARED}


def test_a_transaction_is_shown_with_everything_it_will_do(scene):
    number = scene.begin()
    scene.do(scene.coordinator.join(number, "t", 3))
    scene.do(scene.coordinator.pledge(number, pledge((4, 2))))
    scene.do(scene.coordinator.add_offsets(number, [GroupOffset("g", "t", 0, 17)]))
    found = scene.coordinator.get(number)
    assert (found.number, found.producer_id, found.epoch, found.transactional_id, found.key) == (1, 7, 0, "app", "")
    assert (found.state, found.began_at, found.deadline) == (State.OPEN, START, START + MINUTE)
    assert found.partitions == (PartitionPart("t", 3),)
    assert found.pledges == (pledge((4, 2)),)
    assert found.offsets == (GroupOffset("g", "t", 0, 17),)
    assert not found.is_part
    assert list(scene.coordinator.live()) == [found]


def test_numbers_are_never_given_twice(scene):
    first = scene.begin()
    scene.end(first, committed=False)
    scene.restart()
    assert scene.begin() == first + 1


def test_a_partition_joins_with_the_first_write_and_once_only(scene):
    number = scene.begin()
    assert scene.do(scene.coordinator.join(number, "t", 0))
    assert scene.coordinator.join(number, "t", 0) is None
    assert scene.coordinator.join(number, "t", 1)


def test_there_are_only_so_many_partitions_in_a_transaction(scene, monkeypatch):
    monkeypatch.setattr(module, "MOST_PARTITIONS", 2)
    number = scene.begin()
    for partition in range(2):
        scene.do(scene.coordinator.join(number, "t", partition))
    with pytest.raises(InvalidRequest, match="2 partitions already"):
        scene.coordinator.join(number, "t", 2)
    assert scene.coordinator.join(number, "t", 1) is None


def test_there_are_only_so_many_transactions_at_a_time(scene, monkeypatch):
    monkeypatch.setattr(module, "MOST_LIVE", 1)
    number = scene.begin_part()
    with pytest.raises(InvalidRequest, match="no more"):
        scene.begin()
    scene.end(number, committed=False)
    scene.begin()


def test_a_record_is_pledged_in_one_live_transaction_of_its_group_only(scene):
    number, other = scene.begin(), scene.begin_part()
    scene.do(scene.coordinator.pledge(number, pledge((5, 3), (10, 1))))
    for taken in (number, other):
        with pytest.raises(TransactionConflict, match="record 7 of t/0"):
            scene.coordinator.pledge(taken, pledge((7, 2)))
    for free in (pledge((8, 2)), pledge((5, 1), group="h"), pledge((5, 1), partition=1), pledge((5, 1), topic="u")):
        assert scene.coordinator.pledge(other, free)
    assert list(scene.coordinator.pledged("g", "t", 0)) == [5, 6, 7, 10]
    assert scene.coordinator.is_pledged("g", "t", 0, 10)
    assert not scene.coordinator.is_pledged("g", "t", 0, 9)
    assert not scene.coordinator.is_pledged("h", "t", 0, 10)


@pytest.mark.parametrize("committed", [True, False])
def test_a_record_can_be_pledged_again_after_the_end(scene, committed):
    number = scene.begin()
    scene.do(scene.coordinator.pledge(number, pledge((5, 3))))
    scene.end(number, committed=committed)
    assert not scene.coordinator.pledged("g", "t", 0)
    assert scene.coordinator.pledge(scene.begin(), pledge((5, 3)))


@pytest.mark.parametrize("runs", [(), ((5, 0),), ((5, 2), (6, 1)), ((5, 1), (4, 1)), ((-1, 1),), ((2**63, 1),)])
def test_pledged_records_are_given_as_ascending_runs(scene, runs):
    number = scene.begin()
    with pytest.raises(InvalidRequest, match="ascending runs"):
        scene.coordinator.pledge(number, pledge(*runs))


def test_a_transaction_pledges_at_most_a_hundred_thousand_records(scene):
    number = scene.begin()
    scene.do(scene.coordinator.pledge(number, pledge((0, 99_999))))
    scene.coordinator.pledge(number, pledge((0, 1), group="h"))
    for runs in [((0, 2),), ((0, 2**60),)]:
        with pytest.raises(InvalidRequest, match="more than 100000 records"):
            scene.coordinator.pledge(number, pledge(*runs, group="h"))


def test_of_two_offsets_for_a_partition_the_later_one_counts(scene):
    number = scene.begin()
    scene.do(scene.coordinator.add_offsets(number, [GroupOffset("g", "t", 0, 5), GroupOffset("g", "t", 1, 6)]))
    scene.do(scene.coordinator.add_offsets(number, [GroupOffset("g", "t", 0, 9)]))
    assert scene.coordinator.get(number).offsets == (GroupOffset("g", "t", 0, 9), GroupOffset("g", "t", 1, 6))


@pytest.mark.parametrize(
    "offsets",
    [
        [],
        [GroupOffset("g", "t", 0, -1)],
        [GroupOffset("g", "t", 0, 1, "x" * 4097)],
        [GroupOffset("g", "t", partition, 1) for partition in range(10_001)],
    ],
    ids=["none", "negative", "long metadata", "too many"],
)
def test_offsets_that_cannot_be_committed_are_refused(scene, offsets):
    number = scene.begin()
    with pytest.raises(InvalidRequest) as refusal:
        scene.coordinator.add_offsets(number, offsets)
    assert refusal.value.hint


def test_nothing_can_be_added_to_a_transaction_that_ended(scene):
    number = scene.begin()
    scene.end(number, committed=True)
    for attempt in (
        lambda: scene.coordinator.join(number, "t", 0),
        lambda: scene.coordinator.pledge(number, pledge((1, 1))),
        lambda: scene.coordinator.add_offsets(number, [GroupOffset("g", "t", 0, 1)]),
        lambda: scene.coordinator.prepare(number, scene.now),
    ):
        with pytest.raises(TransactionEnded, match="was committed"):
            attempt()


@pytest.mark.parametrize("committed", [True, False])
def test_an_end_that_is_asked_for_again_is_fine_and_the_other_way_is_refused(scene, committed):
    number = scene.begin()
    assert scene.end(number, committed=committed)
    scene.restart()
    assert scene.coordinator.end(number, committed=committed, why="", now=scene.now) is None
    with pytest.raises(TransactionEnded):
        scene.coordinator.end(number, committed=not committed, why="", now=scene.now)


def test_the_last_end_of_a_transactional_id_is_known_however_many_ended_since(scene):
    earlier = scene.begin()
    scene.end(earlier, committed=False)
    last = scene.begin()
    scene.end(last, committed=True)
    for _ in range(ENDINGS_REMEMBERED):
        scene.end(scene.begin_part(), committed=False)
    scene.restart()
    assert scene.coordinator.end(last, committed=True, why="", now=scene.now) is None
    scene.coordinator.fence(last, 7, 0)
    with pytest.raises(UnknownTransaction, match="so long ago"):
        scene.coordinator.end(earlier, committed=False, why="", now=scene.now)
    assert scene.coordinator.ending(last).committed
    assert len(scene.coordinator.snapshot().ended) == ENDINGS_REMEMBERED


def test_transactions_whose_time_is_up_are_told_in_the_order_of_their_deadlines(scene):
    late = scene.begin()
    first = scene.begin_part(timeout_ms=5)
    second = scene.begin_part(timeout_ms=10)
    gone = scene.begin_part(timeout_ms=1)
    scene.end(gone, committed=False)
    coordinator = scene.coordinator
    assert coordinator.next_deadline() == START + 5 * MS
    assert coordinator.overdue(START + 5 * MS - 1, 10) == []
    assert coordinator.overdue(START + 10 * MS, 1) == [first]
    for _ in range(2):
        assert coordinator.overdue(START + MINUTE, 10) == [first, second, late]
    scene.do(coordinator.prepare(second, scene.now))
    scene.restart()
    for number in (first, second, late):
        scene.end(number, committed=False, why=TIME_IS_UP)
    assert scene.coordinator.next_deadline() is None
    assert scene.coordinator.stats() == Stats(open=0, prepared=0, committed=0, aborted=4, timed_out=3)


def test_deadlines_of_transactions_that_ended_do_not_pile_up(scene):
    for _ in range(5_000):
        scene.end(scene.begin(), committed=True)
    assert len(scene.coordinator._ledger.deadlines._heap) <= 1_001
    assert scene.coordinator.next_deadline() is None


def test_after_a_restart_what_was_open_is_to_be_aborted_and_what_was_prepared_waits(scene):
    number = scene.begin()
    prepared = scene.prepared_part()
    open_part = scene.begin_part()
    scene.restart()
    assert scene.coordinator.open_numbers() == [number, open_part]
    assert scene.coordinator.get(prepared).state is State.PREPARED
    assert scene.coordinator.stats()[:2] == (2, 1)


def test_a_snapshot_and_a_replay_bring_everything_back(scene):
    number = scene.begin()
    scene.do(scene.coordinator.join(number, "t", 3), scene.coordinator.pledge(number, pledge((4, 2))))
    scene.do(scene.coordinator.add_offsets(number, [GroupOffset("g", "t", 0, 17, "m")]))
    scene.decide("k", scene.prepared_part("k"))
    scene.prepared_part("l")
    scene.end(scene.begin_part("l"), committed=False, why=TIME_IS_UP)
    kept = scene.coordinator.snapshot()
    for again in (restored(kept), replayed(scene.history)):
        assert again.snapshot() == kept
        assert again.is_pledged("g", "t", 0, 5)
        assert again.next_deadline() == scene.coordinator.next_deadline()
        assert again.stats() == scene.coordinator.stats() == Stats(1, 1, 1, 1, 1)


def test_asking_changes_nothing(scene):
    number = scene.begin()
    part = scene.prepared_part()
    before = scene.coordinator.snapshot()
    scene.coordinator.join(number, "t", 0)
    scene.coordinator.pledge(number, pledge((1, 1)))
    scene.coordinator.end(number, committed=True, why="", now=scene.now)
    scene.coordinator.decide("batch-1", [part], scene.now)
    scene.coordinator.overdue(START + MINUTE, 5)
    scene.coordinator.enlist("new", 50, 0, 1, scene.now)
    assert scene.coordinator.snapshot() == before


def test_an_open_transaction_with_its_transactional_id_takes_less_than_1500_bytes():
    coordinator = Coordinator()
    tracemalloc.start()
    try:
        for producer_id in range(1, 10_001):
            coordinator.apply(coordinator.enlist(f"app-{producer_id}", producer_id, 0, 60_000, START + producer_id))
            began = coordinator.begin(producer_id, 0, START + producer_id)
            coordinator.apply(began)
            coordinator.apply(coordinator.join(began.number, "orders", producer_id % 12))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used / 10_000 < 1_500


def test_what_belongs_to_a_transaction_whose_beginning_was_lost_changes_nothing(scene):
    """The disk was full when it began, and there was room again for what came after."""
    number = scene.begin()
    recovered = Scene()
    recovered.enlist()
    before = recovered.coordinator.snapshot()
    for event in (
        scene.coordinator.join(number, "t", 0),
        scene.coordinator.pledge(number, pledge((1, 1))),
        scene.coordinator.add_offsets(number, [GroupOffset("g", "t", 0, 5)]),
        scene.coordinator.end(number, committed=True, why="", now=scene.now),
    ):
        recovered.do(event)
    assert recovered.coordinator.snapshot() == before
    part = scene.begin_part()
    recovered.do(scene.coordinator.prepare(part, scene.now))
    assert recovered.coordinator.snapshot() == before
