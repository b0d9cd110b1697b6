"""How long the first record has waited, read from logs a few at a time."""

import pytest

from goqueue.adapters.telemetry import head_ages
from goqueue.adapters.telemetry.head_ages import HeadAges
from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.engine.group_load import group_loads
from goqueue.engine.groups import commit_offsets
from goqueue.model.log import LogId
from goqueue.model.record import Record
from tests.unit.engine.queue_scene import GROUP, TOPIC, made_topic, published

PARTITIONS = 5


@pytest.fixture
async def broker(open_broker):
    async with open_broker() as opened:
        yield opened


async def commit(broker, *offsets: int) -> None:
    wanted = {LogId(TOPIC, number): OffsetAndMetadata(offset) for number, offset in enumerate(offsets)}
    await commit_offsets(broker, GROUP, wanted, None, None)


async def oldest_s(broker, ages: HeadAges) -> float:
    (load,) = [one async for one in group_loads(broker)]
    await ages.look([load])
    return ages.oldest_s(load)


async def test_the_oldest_of_all_partitions_counts_from_when_it_was_published(broker, clock):
    await made_topic(broker, partitions=2)
    await published(broker, Record(value=b"a"), partition=1)
    clock.advance_ms(2000)
    await published(broker, Record(value=b"b"), Record(value=b"c"), partition=0)
    clock.advance_ms(1000)
    await commit(broker, 0, 0)
    ages = HeadAges(broker)
    assert await oldest_s(broker, ages) == 3
    await commit(broker, 1, 1)
    assert await oldest_s(broker, ages) == 1
    clock.advance_ms(500)
    assert await oldest_s(broker, ages) == 1.5
    await commit(broker, 2, 1)
    assert await oldest_s(broker, ages) == 0


async def test_few_are_read_at_a_time_and_all_are_known_in_the_end(broker, clock, monkeypatch):
    read = []
    real = head_ages._published_at
    monkeypatch.setattr(head_ages, "READ_AT_ONCE", 2)
    monkeypatch.setattr(head_ages, "_published_at", lambda head: read.append(head) or real(head))
    await made_topic(broker, partitions=PARTITIONS)
    for number in reversed(range(PARTITIONS)):
        await published(broker, Record(value=b"a"), partition=number)
        clock.advance_ms(1000)
    await commit(broker, *[0] * PARTITIONS)
    ages = HeadAges(broker)
    for looks in range(1, 4):
        await oldest_s(broker, ages)
        assert len(read) == min(2 * looks, PARTITIONS)
    assert await oldest_s(broker, ages) == PARTITIONS
    # What is known is not read again.
    assert len(read) == PARTITIONS
