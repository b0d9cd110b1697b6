"""Records that come singly, of any topics, in one transaction: all of a request or none."""

import pytest

from goqueue.engine.placement import Placement
from goqueue.engine.publish_records import Outgoing, publish_in_transaction
from goqueue.engine.topics import create_topic
from goqueue.errors import GoQueueError, InvalidRequest, RecordTooLarge, StorageBusy, TransactionConflict, UnknownTopic
from goqueue.model.isolation import Isolation
from goqueue.model.record import Record
from goqueue.model.topic import TopicConfig, topic_name
from tests.unit.engine.queue_scene import TOPIC, made_topic
from tests.unit.engine.transaction_scene import aborted, begun, committed, seen

OTHER = topic_name("invoices")
MIB = bytes(1 << 20)


@pytest.fixture
async def broker(open_broker):
    async with open_broker() as opened:
        await made_topic(opened, partitions=4, max_value_bytes=1 << 20)
        await create_topic(opened, OTHER, 1, TopicConfig())
        yield opened


def record(value, topic=TOPIC, partition=0, **more):
    return topic, Outgoing(Record(value=value), partition, **more)


async def publish(broker, ref, *records):
    return await publish_in_transaction(broker, Placement(), ref, records)


async def test_places_stand_in_the_order_of_the_records(broker):
    ref = await begun(broker)
    records = [record(b"a"), record(b"b", OTHER), record(b"c", partition=1), record(b"d"), record(b"e", OTHER)]
    placed = await publish(broker, ref, *records)
    assert [(one.partition, one.offset) for one in placed] == [(0, 0), (0, 0), (1, 0), (0, 1), (0, 1)]
    assert await seen(broker) == await seen(broker, topic=OTHER) == []
    await committed(broker, ref)
    assert await seen(broker) == [b"a", b"d"]
    assert await seen(broker, partition=1) == [b"c"]
    assert await seen(broker, topic=OTHER) == [b"b", b"e"]


@pytest.mark.parametrize(
    ("wrong", "refusal"),
    [
        (record(MIB + b"x"), RecordTooLarge),
        (record(b"v", partition=4), GoQueueError),
        (record(b"v", topic_name("not")), UnknownTopic),
        (record(b"v", id="x"), InvalidRequest),
    ],
    ids=["too large", "no such partition", "no such topic", "with an id"],
)
async def test_a_record_that_cannot_be_leaves_the_others_unwritten_and_the_transaction_as_it_was(
    broker, wrong, refusal
):
    ref = await begun(broker)
    with pytest.raises(refusal):
        await publish(broker, ref, record(b"a"), record(b"b", OTHER), wrong)
    assert await seen(broker, isolation=Isolation.UNCOMMITTED) == []
    assert await seen(broker, topic=OTHER, isolation=Isolation.UNCOMMITTED) == []
    await publish(broker, ref, record(b"a"))
    await committed(broker, ref)
    assert await seen(broker) == [b"a"]


async def test_when_only_some_can_be_written_the_transaction_can_only_be_aborted(broker):
    ref = await begun(broker)
    # More than may wait to be written, though each partition's part alone would do.
    much = [record(MIB, partition=number % 4) for number in range(72)]
    with pytest.raises(StorageBusy):
        await publish(broker, ref, *much)
    with pytest.raises(TransactionConflict, match="not complete"):
        await committed(broker, ref)
    await aborted(broker, ref)
    assert await seen(broker) == await seen(broker, partition=1) == []
    ref = await begun(broker)
    await publish(broker, ref, record(b"a", OTHER))
    await committed(broker, ref)
    assert await seen(broker, topic=OTHER) == [b"a"]
