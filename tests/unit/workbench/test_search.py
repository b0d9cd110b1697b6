"""Finding dead letters, and counting them."""

import pytest

from goqueue.engine.topics import delete_topic
from goqueue.engine.workbench.desk import desk_of
from goqueue.engine.workbench.search import Wanted, find, show
from goqueue.engine.workbench.stats import letter_stats
from goqueue.errors import OffsetOutOfRange, UnknownPartition, UnknownTopic
from goqueue.model.record import Record
from goqueue.model.topic import topic_name
from tests.unit.workbench.scene import LETTERS, ORDERS, dead, letters, made, published, rejected, values


async def test_a_letter_says_where_it_comes_from_and_why(broker, clock):
    await made(broker)
    await dead(broker, Record(b"v", b"k", (("h", b"1"),), priority=1), reason="no such customer")
    (letter,) = await letters(broker)
    origin = letter.origin
    assert (origin.topic, origin.partition, origin.offset, origin.group) == ("orders", 0, 0, "billing")
    assert (origin.cause, origin.reason, origin.deliveries, origin.failures) == ("rejected", "no such customer", 1, 0)
    assert (letter.record.key, letter.record.value, letter.record.priority) == (b"k", b"v", 1)
    assert ("h", b"1") in letter.record.headers


async def test_letters_are_found_by_the_name_of_either_topic(broker):
    await made(broker)
    await dead(broker, b"a", b"b")
    assert await values(broker, ORDERS) == await values(broker, LETTERS) == [b"a", b"b"]


async def test_a_topic_without_letters_has_none_and_an_unknown_one_is_unknown(broker):
    await made(broker)
    assert await values(broker) == []
    assert (await letter_stats(desk_of(broker, ORDERS))).count == 0
    with pytest.raises(UnknownTopic):
        desk_of(broker, topic_name("nowhere"))


async def test_letters_outlive_the_topic_they_come_from(broker):
    await made(broker)
    await dead(broker, b"a")
    await delete_topic(broker, ORDERS)
    assert await values(broker) == [b"a"]


async def test_topics_that_share_their_letters_each_see_their_own(broker):
    await made(broker, "orders", dead_letter_topic="lost")
    await made(broker, "prices", dead_letter_topic="lost")
    await dead(broker, b"order")
    await dead(broker, b"price", topic=topic_name("prices"))
    assert await values(broker, "orders") == [b"order"]
    assert await values(broker, "prices") == [b"price"]
    assert sorted(await values(broker, "lost")) == [b"order", b"price"]
    assert (await letter_stats(desk_of(broker, topic_name("prices")))).count == 1


async def test_letters_are_found_by_reason_cause_key_group_and_time(broker, clock):
    await made(broker)
    await dead(broker, Record(b"a", b"k1"), reason="Timeout of the bank")
    clock.advance_ms(1000)
    between = clock.now_ns()
    await dead(broker, Record(b"b", b"k2"), reason="no such customer")
    await rejected(broker, group="audit", reason="not signed")
    for wanted, found in (
        (Wanted(reason="timeout"), [b"a"]),
        (Wanted(reason="TIMEOUT OF"), [b"a"]),
        (Wanted(cause="rejected"), [b"a", b"b", b"a", b"b"]),
        (Wanted(cause="failed too often"), []),
        (Wanted(key=b"k2"), [b"b", b"b"]),
        (Wanted(group="audit"), [b"a", b"b"]),
        (Wanted(group="billing"), [b"a", b"b"]),
        (Wanted(to_ns=between), [b"a"]),
        (Wanted(from_ns=between), [b"b", b"a", b"b"]),
        (Wanted(group="audit", key=b"k1"), [b"a"]),
        (Wanted(places=((0, 1), (0, 3))), [b"b", b"b"]),
        (Wanted(places=((0, 1), (0, 99), (7, 0)), group="audit"), []),
    ):
        assert await values(broker, ORDERS, wanted) == found, wanted


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000])
async def test_pages_of_any_size_give_all_letters_in_the_order_in_which_they_died(broker, clock, limit):
    await made(broker, partitions=3)
    for number in range(7):
        await dead(broker, b"%d" % number, partition=number % 3)
        clock.advance_ms(10)
    assert await values(broker, limit=limit) == [b"%d" % number for number in range(7)]


async def test_places_in_several_partitions_are_gone_through_in_pages(broker):
    await made(broker, partitions=3)
    for partition in range(3):
        await dead(broker, *(b"%d.%d" % (partition, number) for number in range(4)), partition=partition)
    places = tuple((partition, number) for partition in range(4) for number in (0, 2, 3, 9))
    wanted, found, missing, last = Wanted(places=places), [], 0, None
    while True:
        page = await find(desk_of(broker, ORDERS), wanted, 2, last)
        found += [letter.record.value for letter in page.letters]
        missing += page.missing
        last = page.last
        if last is None:
            break
    assert found == [b"%d.%d" % (partition, number) for partition in range(3) for number in (0, 2, 3)]
    assert missing == 3 + 4


async def test_a_record_that_somebody_put_there_is_listed_without_an_origin(broker):
    await made(broker)
    await dead(broker, b"a")
    await published(broker, Record(b"b", None, (("goqueue-dead-letter", b"not json"),)), b"c", topic=LETTERS)
    assert [letter.origin is None for letter in await letters(broker)] == [False, True, True]
    stats = await letter_stats(desk_of(broker, ORDERS))
    assert stats.by_cause == {"rejected": 1, "(unknown)": 2}


async def test_one_letter_is_shown_by_its_place(broker):
    await made(broker, partitions=2)
    await dead(broker, b"a", b"b", partition=1)
    desk = desk_of(broker, ORDERS)
    assert (await show(desk, 1, 1)).record.value == b"b"
    for partition, offset in ((1, 2), (0, 0)):
        with pytest.raises(OffsetOutOfRange):
            await show(desk, partition, offset)
    with pytest.raises(UnknownPartition):
        await show(desk, 2, 0)


async def test_the_figures_are_those_of_the_letters(broker, clock):
    await made(broker, partitions=2)
    first = clock.now_ns()
    await dead(broker, b"a", b"b", reason="one")
    clock.advance_ms(5)
    await dead(broker, b"c", reason="two", partition=1)
    stats = await letter_stats(desk_of(broker, ORDERS))
    assert (stats.count, stats.by_cause, stats.by_group) == (3, {"rejected": 3}, {"billing": 3})
    assert stats.by_reason == {"one": 2, "two": 1}
    assert (stats.oldest_ns, stats.newest_ns) == (first, clock.now_ns())


async def test_so_many_reasons_do_not_fill_memory(broker, monkeypatch):
    monkeypatch.setattr("goqueue.engine.workbench.stats.MOST_NAMES", 2)
    await made(broker)
    for number in range(5):
        await dead(broker, b"x", reason=f"reason {number}")
    stats = await letter_stats(desk_of(broker, ORDERS))
    assert stats.by_reason == {"reason 0": 1, "reason 1": 1, "(others)": 3}
