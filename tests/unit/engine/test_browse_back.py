"""Reading a topic backwards shows what reading it forwards does, from the other end."""

import random

import pytest

from goqueue.engine import browse_back as module
from goqueue.engine.browse import Selection, browse
from goqueue.engine.browse_back import browse_back
from goqueue.engine.placement import Placement
from goqueue.engine.publish_records import Outgoing, publish_records
from goqueue.engine.topics import create_topic
from goqueue.model.record import Record
from goqueue.model.topic import TopicConfig, TopicName

T = TopicName("t")
LATER = 1 << 62


@pytest.fixture
async def broker(open_broker):
    async with open_broker() as opened:
        await create_topic(opened, T, 3, TopicConfig())
        yield opened


async def put(broker, *outgoing: Outgoing) -> None:
    await publish_records(broker, Placement(), T, outgoing)


async def backwards(broker, limit: int, partition: int | None = None) -> list[bytes]:
    collected: list[bytes] = []
    before = None
    while True:
        page = await browse_back(broker, T, limit, partition=partition, before=before)
        assert len(page.found) <= limit
        collected = [one.record.value for one in page.found] + collected
        if page.first is None:
            return collected
        before = page.first


async def forwards(broker, partition: int | None = None) -> list[bytes]:
    page = await browse(broker, T, Selection(partition=partition), 100_000)
    assert page.last is None
    return [one.record.value for one in page.found]


@pytest.mark.parametrize("seed", range(12))
async def test_all_pages_backwards_are_the_topic_forwards(broker, clock, seed):
    chance = random.Random(seed)
    for number in range(chance.randrange(1, 60)):
        batch = [
            Outgoing(Record(b"%d.%d" % (number, step)), chance.randrange(3), due=LATER if chance.random() < 0.3 else 0)
            for step in range(chance.randrange(1, 8))
        ]
        await put(broker, *batch)
        if chance.random() < 0.5:
            clock.advance_ms(chance.randrange(3))
    for limit in (1, 3, 7, 50, 1000):
        assert await backwards(broker, limit) == await forwards(broker)
        assert await backwards(broker, limit, partition=1) == await forwards(broker, partition=1)


async def test_the_newest_come_first_also_behind_many_that_are_hidden(broker):
    await put(broker, Outgoing(Record(b"seen"), 0))
    await put(broker, *(Outgoing(Record(b"hidden"), 0, due=LATER) for _ in range(500)))
    page = await browse_back(broker, T, 10)
    assert [one.record.value for one in page.found] == [b"seen"]
    assert page.first is None


async def test_large_values_make_smaller_pages_and_none_is_left_out(broker, monkeypatch):
    monkeypatch.setattr(module, "PAGE_BYTES", 3000)
    monkeypatch.setattr(module, "LEAST_BYTES", 1000)
    expected = [b"%04d" % number + b"x" * 400 for number in range(40)]
    for number, value in enumerate(expected):
        await put(broker, Outgoing(Record(value), number % 3))
    page = await browse_back(broker, T, 40)
    assert 0 < len(page.found) < 40
    assert sorted(await backwards(broker, 40)) == expected


async def test_a_topic_without_records_has_one_empty_page(broker):
    page = await browse_back(broker, T, 10)
    assert page.found == [] and page.first is None


@pytest.mark.parametrize("seed", range(6))
async def test_a_text_is_found_backwards_where_it_is_found_forwards(broker, clock, monkeypatch, seed):
    monkeypatch.setattr(module, "MOST_SEARCHED", 30)
    monkeypatch.setattr(module, "LEAST_SEARCHED", 2)
    chance = random.Random(seed)
    for number in range(chance.randrange(5, 80)):
        word = chance.choice((b"Needle", b"NEEDLE", b"hay"))
        await put(broker, Outgoing(Record(b"%d %s" % (number, word)), chance.randrange(3)))
        clock.advance_ms(chance.randrange(3))
    forward = await browse(broker, T, Selection(text=b"needle"), 1000)
    for limit in (1, 4, 1000):
        collected: list[bytes] = []
        before = None
        while True:
            page = await browse_back(broker, T, limit, before=before, text=b"needle")
            assert len(page.found) <= limit
            collected = [one.record.value for one in page.found] + collected
            before = page.first
            if before is None:
                break
        assert collected == [one.record.value for one in forward.found]


async def test_a_search_for_a_text_ends_after_a_while_and_goes_on_from_there(broker, monkeypatch):
    monkeypatch.setattr(module, "MOST_SEARCHED", 3)
    monkeypatch.setattr(module, "LEAST_SEARCHED", 1)
    monkeypatch.setattr(module, "MOST_SCANNED", 10)
    await put(broker, Outgoing(Record(b"needle"), 0), *(Outgoing(Record(b"hay"), 0) for _ in range(40)))
    page = await browse_back(broker, T, 10, text=b"needle")
    assert page.found == [] and page.first is not None
    for _ in range(5):
        if page.found:
            break
        page = await browse_back(broker, T, 10, before=page.first, text=b"needle")
    assert [one.record.value for one in page.found] == [b"needle"]
