import pytest

from goqueue import codec
from goqueue.engine.placement import MOST_REMEMBERED, Placement
from goqueue.engine.publish_records import Outgoing, Placed, publish_records
from goqueue.engine.topics import amend_topic, create_topic, delete_topic
from goqueue.errors import DiskFull, RecordTooLarge, UnknownPartition, UnknownTopic
from goqueue.model.partitioning import KeyRanges
from goqueue.model.record import Record
from goqueue.model.topic import Durability, Topic, TopicConfig, TopicName, hash_ranges

T = TopicName("t")


@pytest.fixture
async def broker(open_broker):
    async with open_broker() as opened:
        await create_topic(opened, T, 3, TopicConfig())
        yield opened


def values(broker, partition: int) -> list[bytes]:
    found = broker.partition(T, partition)
    return [record.value for record in codec.decode(found.read(0, 1 << 20, found.stable_offset).records)]


async def test_outcomes_stand_in_the_order_of_the_records(broker):
    records = [
        Outgoing(Record(b"0"), 2),
        Outgoing(Record(b"1"), 0),
        Outgoing(Record(b"2"), 9),
        Outgoing(Record(b"3"), 2),
        Outgoing(Record(b"4" * (1 << 25)), 2),
    ]
    first, second, third, fourth, fifth = await publish_records(broker, Placement(), T, records)
    assert (first, second, fourth) == (Placed(2, 0), Placed(0, 0), Placed(2, 1))
    assert isinstance(third, UnknownPartition)
    assert isinstance(fifth, RecordTooLarge)


async def test_a_partition_keeps_the_order_also_when_durability_changes(broker):
    durabilities = [Durability.MEMORY, Durability.FSYNC, None, Durability.FSYNC, Durability.MEMORY]
    records = [Outgoing(Record(b"%d" % n), 1, durability) for n, durability in enumerate(durabilities)]
    outcomes = await publish_records(broker, Placement(), T, records)
    assert [outcome.offset for outcome in outcomes] == [0, 1, 2, 3, 4]
    assert values(broker, 1) == [b"0", b"1", b"2", b"3", b"4"]


async def test_a_key_decides_as_in_every_client(broker):
    keys = [b"key %d" % n for n in range(50)] + [b""]
    outcomes = await publish_records(broker, Placement(), T, [Outgoing(Record(b"v", key)) for key in keys])
    ranges = KeyRanges(broker.catalog.topic(T).ranges)
    assert [outcome.partition for outcome in outcomes] == [ranges.partition_of(key) for key in keys]


async def test_what_is_not_waited_for_has_no_offset_but_its_order(broker):
    records = [Outgoing(Record(b"0"), 0, confirmed=False), Outgoing(Record(b"1"), 0)]
    assert await publish_records(broker, Placement(), T, records) == [Placed(0, None), Placed(0, 1)]


async def test_a_full_disk_refuses_every_record(broker):
    broker.guard.update(0.99)
    outcomes = await publish_records(broker, Placement(), T, [Outgoing(Record(b"0"), n) for n in range(3)])
    assert [type(outcome) for outcome in outcomes] == [DiskFull] * 3


async def test_a_topic_that_is_gone_is_unknown(broker):
    await delete_topic(broker, T)
    with pytest.raises(UnknownTopic):
        await publish_records(broker, Placement(), T, [Outgoing(Record(b"0"))])


async def test_turns_go_on_when_settings_change_and_begin_anew_for_a_new_topic(broker):
    placement = Placement()

    async def turn() -> int:
        [outcome] = await publish_records(broker, placement, T, [Outgoing(Record(b"0"))])
        return outcome.partition

    assert [await turn(), await turn()] == [0, 1]
    await amend_topic(broker, T, lambda _: TopicConfig(retention_ms=5))
    assert await turn() == 2
    await delete_topic(broker, T)
    await create_topic(broker, T, 5, TopicConfig())
    assert [await turn() for _ in range(6)] == [0, 1, 2, 3, 4, 0]


def test_topics_that_are_gone_do_not_gather():
    placement = Placement()
    ranges = hash_ranges(1)
    for number in range(MOST_REMEMBERED + 10):
        placement.of(Topic(TopicName(f"t{number}"), TopicConfig(), ranges))
    assert len(placement._topics) <= MOST_REMEMBERED
