"""Recent ids: deciding, applying, taking back, handing over, and coming back after a restart."""

import msgspec
import pytest

from goqueue.core.ids.batch import digests_of
from goqueue.core.ids.events import NO_ID, IdEvent, IdsForgotten, IdsWritten, KnownIds, Place
from goqueue.core.ids.recent import RecentIds


def digests(*names: str | None) -> list[bytes]:
    return digests_of([None if name is None else name.encode() for name in names])


def write(ids: RecentIds, *names: str | None, topic: str = "orders", base: int = 0, time: int = 5) -> IdsWritten:
    event = ids.write(topic, 0, base, time, b"".join(digests(*names)))
    ids.apply(event)
    return event


def places(ids: RecentIds, *names: str, topic: str = "orders") -> list[Place | None]:
    wanted = digests(*names)
    found = ids.find(ids.space_of(topic) or 0, wanted)
    return [None if one is None else one.place(digest) for one, digest in zip(found, wanted, strict=True)]


def restored(ids: RecentIds) -> RecentIds:
    """As through a checkpoint."""
    content = msgspec.msgpack.encode(ids.snapshot())
    again = RecentIds()
    again.restore(msgspec.msgpack.decode(content, type=KnownIds))
    return again


@pytest.fixture
def ids() -> RecentIds:
    return RecentIds()


def test_deciding_changes_nothing(ids):
    ids.write("orders", 0, 0, 5, b"".join(digests("a")))
    assert len(ids) == 0
    assert ids.spaces == {}


def test_an_id_is_found_at_the_place_of_its_record(ids):
    write(ids, "a", None, "c", base=40, time=9)
    assert places(ids, "a", "b", "c") == [Place(0, 40, 9), None, Place(0, 42, 9)]


def test_records_without_an_id_are_not_found(ids):
    write(ids, None, "b")
    assert ids.find(ids.spaces["orders"], [NO_ID]) == [None]


def test_a_place_is_right_also_where_the_bytes_of_a_digest_appear_by_chance():
    wanted = bytes(range(16))
    event = IdsWritten(1, 1, "t", 3, 100, 7, bytes(8) + wanted[:8] + wanted[8:] + bytes(8) + wanted)
    assert event.place(wanted) == Place(3, 102, 7)


def test_topics_do_not_share_ids(ids):
    write(ids, "a", topic="orders")
    write(ids, "b", topic="payments")
    assert places(ids, "a", topic="payments") == [None]


def test_the_newer_place_of_an_id_counts(ids):
    write(ids, "a", base=1, time=1)
    write(ids, "a", base=2, time=2)
    assert places(ids, "a") == [Place(0, 2, 2)]
    ids.put_aside()
    write(ids, "a", base=3, time=3)
    assert places(ids, "a") == [Place(0, 3, 3)]


def test_events_are_numbered_in_order(ids):
    assert [write(ids, name).number for name in "abc"] == [1, 2, 3]


def reserve(ids, *names, base=0, topic="orders"):
    event = ids.write(topic, 0, base, 5, b"".join(digests(*names)))
    ids.reserve(event)
    return event


def test_ids_are_found_while_their_batch_is_being_written(ids):
    event = reserve(ids, "a")
    assert places(ids, "a") == [Place(0, 0, 5)]
    assert ids.snapshot().recent == ()
    ids.apply(event)
    ids.release(event)
    assert places(ids, "a") == [Place(0, 0, 5)]
    assert ids.snapshot().recent == (event,)


def test_a_refused_batch_leaves_no_id_behind(ids):
    kept = write(ids, "a")
    before = ids.snapshot()
    refused = reserve(ids, "b", "c", base=1)
    assert places(ids, "b") != [None]
    ids.release(refused)
    ids.release(refused)
    assert places(ids, "a", "b", "c") == [kept.place(digests("a")[0]), None, None]
    assert ids.snapshot() == before


def test_batches_that_are_written_side_by_side_have_numbers_and_topics_of_their_own(ids):
    first, second, third = reserve(ids, "a"), reserve(ids, "a", topic="other"), reserve(ids, "b")
    assert (first.number, second.number, third.number) == (1, 2, 3)
    assert first.space == third.space != second.space
    ids.apply(second)
    ids.release(second)
    assert places(ids, "a", topic="other") == [Place(0, 0, 5)]
    ids.release(first)
    assert places(ids, "a") == [None]
    assert places(ids, "b") == [Place(0, 0, 5)]


def test_what_is_put_aside_is_found_until_it_is_let_go(ids):
    write(ids, "a")
    event = write(ids, "b", base=1)
    assert [one.number for one in ids.put_aside()] == [1, 2]
    write(ids, "c", base=2)
    assert None not in places(ids, "a", "b", "c")
    ids.let_go()
    assert places(ids, "a", "b") == [None, None]
    assert places(ids, "c") == [Place(0, 2, 5)]
    assert ids.indexed == event.number
    assert len(ids) == 1


def test_what_was_put_aside_is_put_aside_again_when_the_index_did_not_take_it(ids):
    write(ids, "a")
    first = list(ids.put_aside())
    write(ids, "b")
    assert list(ids.put_aside()) == first


def test_what_the_index_has_already_is_dropped_after_a_restart(ids):
    write(ids, "a")
    write(ids, "b", base=1)
    again = restored(ids)
    again.drop_indexed(1)
    assert places(again, "a", "b") == [None, Place(0, 1, 5)]
    assert again.indexed == 1


def test_a_topic_made_again_has_a_new_space(ids):
    write(ids, "a")
    before = ids.spaces["orders"]
    event = ids.forget("orders")
    assert event == IdsForgotten("orders")
    ids.apply(event)
    assert ids.forget("orders") is None
    write(ids, "b")
    assert ids.spaces["orders"] != before
    assert places(ids, "a") == [None]


def test_replaying_any_history_rebuilds_the_state(ids):
    decode = msgspec.msgpack.Decoder(IdEvent).decode
    history: list[bytes] = []

    def happen(event: IdEvent) -> None:
        history.append(msgspec.msgpack.encode(event))
        ids.apply(event)

    for number in range(30):
        topic = f"topic-{number % 3}"
        happen(ids.write(topic, number % 2, number, number, b"".join(digests(str(number % 7), None))))
        if number % 11 == 10:
            happen(IdsForgotten(topic))
    again = RecentIds()
    for event in history:
        again.apply(decode(event))
    assert again.snapshot() == ids.snapshot()
    assert restored(ids).snapshot() == ids.snapshot()
    for topic in ("topic-0", "topic-1", "topic-2"):
        names = [str(number) for number in range(7)]
        assert places(again, *names, topic=topic) == places(ids, *names, topic=topic)


def test_a_snapshot_has_also_what_was_put_aside(ids):
    write(ids, "a")
    ids.put_aside()
    write(ids, "b", base=1)
    assert None not in places(restored(ids), "a", "b")
