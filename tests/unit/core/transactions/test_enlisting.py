"""Who may begin transactions under which transactional id, and who is fenced."""

import pytest

from goqueue.core.transactions import endings, enlisted
from goqueue.errors import (
    InvalidRequest,
    NotTransactional,
    ProducerFenced,
    TransactionConflict,
    TransactionEnded,
    UnknownProducer,
    UnknownTransaction,
)
from tests.unit.core.transactions.scene import DAY, Scene, replayed


def test_a_transactional_id_belongs_to_the_producer_that_enlisted_last():
    scene = Scene()
    assert scene.coordinator.lookup("app") is None
    scene.enlist(epoch=0)
    scene.enlist(epoch=1)
    found = scene.coordinator.lookup("app")
    assert (found.producer_id, found.epoch, found.timeout_ms) == (7, 1, 60_000)


@pytest.mark.parametrize("timeout_ms", [0, -1, 15 * 60_000 + 1])
def test_a_timeout_out_of_bounds_is_refused(timeout_ms):
    with pytest.raises(InvalidRequest) as refusal:
        Scene().enlist(timeout_ms=timeout_ms)
    assert "15 minutes" in refusal.value.hint


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "\ud800"])
def test_a_transactional_id_is_short_and_printable(name):
    with pytest.raises(InvalidRequest, match="transactional id"):
        Scene().enlist(name)


def test_a_producer_that_is_not_enlisted_cannot_begin():
    with pytest.raises(NotTransactional) as refusal:
        Scene().begin()
    assert "transactional_id" in refusal.value.hint


def test_an_older_instance_cannot_begin_nor_enlist_again():
    scene = Scene()
    scene.enlist(epoch=3)
    with pytest.raises(ProducerFenced):
        scene.begin(epoch=2)
    with pytest.raises(ProducerFenced):
        scene.enlist(epoch=2)


def test_an_epoch_that_was_never_given_cannot_begin():
    scene = Scene()
    scene.enlist(epoch=3)
    with pytest.raises(UnknownProducer, match="never enlisted with epoch 4"):
        scene.begin(epoch=4)


def test_a_second_transaction_is_refused_while_one_is_open():
    scene = Scene()
    scene.enlist()
    number = scene.begin()
    with pytest.raises(TransactionConflict, match=f"transaction {number} open") as refusal:
        scene.begin()
    assert "commit or abort" in refusal.value.hint
    scene.end(number, committed=True)
    assert scene.begin() == number + 1


def test_a_producer_cannot_have_two_transactional_ids():
    scene = Scene()
    scene.enlist("app")
    with pytest.raises(InvalidRequest, match="another transactional id"):
        scene.enlist("other")


def test_what_an_older_instance_left_open_can_be_found_and_ended_in_the_same_entry():
    scene = Scene()
    scene.enlist(epoch=0)
    assert scene.coordinator.open_of(7) is None
    number = scene.begin(epoch=0)
    assert scene.coordinator.open_of(7) == number
    newer = scene.coordinator.enlist("app", 7, 1, 60_000, scene.now)
    scene.do(scene.coordinator.end(number, committed=False, why="a newer instance took over", now=scene.now), newer)
    assert scene.coordinator.open_of(7) is None
    assert scene.begin(epoch=1) == number + 1


def test_an_older_instance_is_fenced_whether_its_transaction_is_open_or_ended():
    scene = Scene()
    scene.enlist(epoch=0)
    number = scene.begin(epoch=0)
    scene.coordinator.check(number, 7, 0)
    scene.enlist(epoch=1)
    for _ in range(2):
        with pytest.raises(ProducerFenced):
            scene.coordinator.check(number, 7, 0)
        with pytest.raises(ProducerFenced):
            scene.coordinator.fence(number, 7, 0)
        if scene.coordinator.get(number):
            scene.end(number, committed=False)


def test_a_newer_instance_cannot_go_on_with_the_transaction_of_an_older_one():
    scene = Scene()
    scene.enlist(epoch=0)
    number = scene.begin(epoch=0)
    scene.enlist(epoch=1)
    with pytest.raises(UnknownTransaction, match="earlier instance"):
        scene.coordinator.check(number, 7, 1)


def test_an_instance_is_fenced_when_another_producer_takes_over_its_transactional_id():
    scene = Scene()
    scene.enlist(producer_id=7, epoch=4)
    number = scene.begin(producer_id=7, epoch=4)
    scene.enlist(producer_id=8, epoch=0)
    with pytest.raises(ProducerFenced, match="belongs to producer 8"):
        scene.coordinator.check(number, 7, 4)
    with pytest.raises(NotTransactional):
        scene.begin(producer_id=7, epoch=4)
    assert scene.coordinator.open_of(8) == number


def test_nobody_can_speak_for_the_transaction_of_another_producer():
    scene = Scene()
    scene.enlist("app", 7)
    scene.enlist("other", 8)
    number = scene.begin(7)
    with pytest.raises(UnknownTransaction, match="producer 8 did not begin"):
        scene.coordinator.check(number, 8, 0)
    scene.end(number, committed=True)
    with pytest.raises(UnknownTransaction, match="producer 8 did not begin"):
        scene.coordinator.fence(number, 8, 0)


def test_a_part_answers_to_the_producer_and_epoch_that_began_it():
    scene = Scene()
    number = scene.do(scene.coordinator.begin_part("k", 9, 1_000, scene.now, epoch=2)).number
    scene.coordinator.check(number, 9, 2)
    with pytest.raises(ProducerFenced):
        scene.coordinator.check(number, 9, 1)
    with pytest.raises(UnknownProducer):
        scene.coordinator.check(number, 9, 3)


def test_a_transaction_that_ended_says_how():
    scene = Scene()
    scene.enlist()
    aborted = scene.begin()
    scene.end(aborted, committed=False, why="its time was up")
    with pytest.raises(TransactionEnded, match="was aborted: its time was up") as refusal:
        scene.coordinator.check(aborted, 7, 0)
    assert "nothing of it took effect" in refusal.value.hint
    scene.coordinator.fence(aborted, 7, 0)
    committed = scene.begin()
    scene.end(committed, committed=True)
    with pytest.raises(TransactionEnded, match="was committed"):
        scene.coordinator.check(committed, 7, 0)


@pytest.mark.parametrize("number", [0, -1, 5, 2**70])
def test_a_transaction_that_was_never_begun_is_unknown(number):
    scene = Scene()
    scene.enlist()
    scene.begin()
    with pytest.raises(UnknownTransaction, match="there was no transaction"):
        scene.coordinator.check(number, 7, 0)


def test_transactional_ids_not_used_since_a_moment_are_forgotten_unless_they_have_an_open_transaction():
    scene = Scene()
    scene.enlist("idle", 1)
    scene.enlist("busy", 2)
    scene.enlist("ended", 3)
    scene.end(scene.begin(3), committed=True)
    open_one = scene.begin(2)
    assert scene.coordinator.forget_idle(scene.now - 1, 10) is None
    last = scene.now
    scene.now += 7 * DAY
    scene.enlist("new", 4)
    scene.do(scene.coordinator.forget_idle(last, 1))
    scene.do(scene.coordinator.forget_idle(last, 10))
    assert scene.coordinator.forget_idle(last, 10) is None
    assert scene.coordinator.lookup("idle") is None
    assert scene.coordinator.lookup("ended") is None
    assert scene.coordinator.lookup("busy")
    assert scene.coordinator.open_of(2) == open_one
    assert replayed(scene.history).snapshot() == scene.coordinator.snapshot()


def test_with_a_transactional_id_its_last_transaction_is_forgotten(monkeypatch):
    monkeypatch.setattr(endings, "ENDINGS_REMEMBERED", 0)
    scene = Scene()
    scene.enlist("idle", 1)
    number = scene.begin(1)
    scene.end(number, committed=True)
    assert scene.coordinator.ending(number).committed
    scene.do(scene.coordinator.forget_idle(scene.now, 10))
    assert scene.coordinator.ending(number) is None
    with pytest.raises(UnknownTransaction, match="so long ago"):
        scene.coordinator.check(number, 1, 0)


def test_there_are_only_so_many_transactional_ids(monkeypatch):
    monkeypatch.setattr(enlisted, "MOST_TRANSACTIONAL_IDS", 2)
    scene = Scene()
    scene.enlist("a", 1)
    scene.enlist("b", 2)
    with pytest.raises(InvalidRequest, match="no more") as refusal:
        scene.enlist("c", 3)
    assert "same transactional id" in refusal.value.hint
    scene.enlist("a", 1, epoch=1)
    scene.do(scene.coordinator.forget_idle(scene.now, 10))
    scene.enlist("c", 3)
    assert len(scene.coordinator.snapshot().identities) == 1
