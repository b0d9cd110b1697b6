"""Parts of larger transactions: prepared one by one, decided together, once."""

import pytest

from goqueue.core.transactions import decisions
from goqueue.core.transactions.transaction import State
from goqueue.errors import AlreadyDecided, InvalidRequest, TransactionConflict, TransactionEnded, UnknownTransaction
from tests.unit.core.transactions.scene import DAY, Scene, pledge, replayed


@pytest.fixture
def scene():
    return Scene()


def test_named_parts_are_committed_and_all_others_of_the_key_aborted(scene):
    named, left_out, still_open = scene.prepared_part(), scene.prepared_part(), scene.begin_part()
    elsewhere = scene.prepared_part("batch-2")
    decision = scene.decide("batch-1", named)
    assert (decision.committed, decision.aborted) == ((named,), (left_out, still_open))
    assert scene.coordinator.ending(named).committed
    assert not scene.coordinator.ending(left_out).committed
    assert not scene.coordinator.ending(still_open).committed
    assert scene.coordinator.get(elsewhere).state is State.PREPARED


def test_to_name_none_is_a_decision_too(scene):
    part = scene.prepared_part()
    assert scene.decide("batch-1").aborted == (part,)
    assert scene.decide("never heard of").committed == ()
    with pytest.raises(AlreadyDecided):
        scene.begin_part("never heard of")


def test_a_repeated_decision_is_answered_as_before_and_writes_nothing(scene):
    named, left_out = scene.prepared_part(), scene.begin_part()
    first = scene.decide("batch-1", named)
    scene.now += 6 * DAY
    scene.restart()
    again = scene.decide("batch-1", named, named)
    assert again == ((), first.committed, first.aborted)
    found = scene.coordinator.remembered("batch-1")
    assert (found.committed, found.aborted) == ((named,), (left_out,))


def test_another_decision_under_the_same_key_is_refused(scene):
    named, left_out = scene.prepared_part(), scene.prepared_part()
    scene.decide("batch-1", named)
    for numbers in [(), (left_out,), (named, left_out), tuple(range(100, 150))]:
        with pytest.raises(AlreadyDecided) as refusal:
            scene.decide("batch-1", *numbers)
        assert "decision stands" in refusal.value.hint


def test_a_part_cannot_be_begun_under_a_key_that_is_decided(scene):
    scene.decide("batch-1")
    with pytest.raises(AlreadyDecided, match="batch-1"):
        scene.begin_part("batch-1")


@pytest.mark.parametrize("key", ["", "x" * 201, "a\tb"])
def test_a_key_is_short_and_printable(scene, key):
    with pytest.raises(InvalidRequest):
        scene.begin_part(key)
    with pytest.raises(InvalidRequest):
        scene.decide(key)


@pytest.mark.parametrize("timeout_ms", [0, 24 * 3_600_000 + 1])
def test_a_part_has_at_most_a_day(scene, timeout_ms):
    with pytest.raises(InvalidRequest, match=str(timeout_ms)):
        scene.begin_part(timeout_ms=timeout_ms)
    scene.begin_part(timeout_ms=24 * 3_600_000)


def test_a_decision_with_a_part_that_cannot_be_chosen_changes_nothing_and_names_it(scene):
    ready, still_open, elsewhere = scene.prepared_part(), scene.begin_part(), scene.prepared_part("batch-2")
    scene.enlist()
    expired, plain = scene.prepared_part(), scene.begin()
    scene.end(expired, committed=False, why="its time was up")
    before = scene.coordinator.snapshot()
    for number, error, says in [
        (99, UnknownTransaction, "no transaction 99"),
        (elsewhere, InvalidRequest, f"transaction {elsewhere} is not a part of batch-1"),
        (plain, InvalidRequest, f"transaction {plain} is not a part of batch-1"),
        (still_open, TransactionConflict, f"transaction {still_open} is not prepared"),
        (expired, TransactionEnded, f"transaction {expired} was aborted: its time was up"),
    ]:
        with pytest.raises(error, match=says):
            scene.decide("batch-1", ready, number)
    assert scene.coordinator.snapshot() == before
    assert scene.coordinator.remembered("batch-1") is None


def test_a_part_is_committed_through_a_decision_only(scene):
    for number in (scene.begin_part(), scene.prepared_part()):
        with pytest.raises(TransactionConflict, match="decided under batch-1"):
            scene.end(number, committed=True)
        scene.end(number, committed=False)


def test_only_parts_are_prepared(scene):
    scene.enlist()
    with pytest.raises(TransactionConflict, match="not part of a larger one"):
        scene.coordinator.prepare(scene.begin(), scene.now)


def test_to_prepare_twice_is_fine(scene):
    number = scene.prepared_part()
    assert scene.coordinator.prepare(number, scene.now) is None


def test_a_prepared_part_takes_nothing_more(scene):
    number = scene.begin_part()
    scene.do(scene.coordinator.join(number, "t", 0))
    scene.do(scene.coordinator.prepare(number, scene.now))
    with pytest.raises(TransactionConflict, match="prepared"):
        scene.coordinator.join(number, "t", 0)
    with pytest.raises(TransactionConflict, match="prepared"):
        scene.coordinator.pledge(number, pledge((1, 1)))
    with pytest.raises(TransactionConflict, match="prepared"):
        scene.coordinator.add_offsets(number, [])


def test_a_decision_is_remembered_for_a_week(scene):
    scene.decide("old")
    scene.now += 7 * DAY - 1
    scene.decide("newer")
    assert scene.coordinator.remembered("old")
    scene.now += 1
    scene.decide("newest")
    assert scene.coordinator.remembered("old") is None
    assert scene.coordinator.remembered("newer")
    assert replayed(scene.history).snapshot() == scene.coordinator.snapshot()


def test_of_too_many_decisions_the_oldest_is_forgotten_but_not_within_a_day(scene, monkeypatch):
    monkeypatch.setattr(decisions, "MOST_KEYS", 2)
    scene.decide("first")
    scene.decide("second")
    with pytest.raises(InvalidRequest, match="within a day"):
        scene.decide("third")
    scene.decide("first")
    scene.now += DAY
    scene.decide("third")
    assert scene.coordinator.remembered("first") is None
    assert scene.coordinator.remembered("second")
