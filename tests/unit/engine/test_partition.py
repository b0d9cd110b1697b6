import errno

import pytest

from goqueue import codec
from goqueue.engine.partition import ProducerBatch
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.topics import create_topic
from goqueue.errors import DiskFull, InvalidRecord, OffsetOutOfRange, OutOfOrderSequence, ProducerFenced, RecordTooLarge
from goqueue.model.record import Flag, Record
from goqueue.model.topic import Durability, TopicConfig, topic_name
from tests.unit.engine.support import appended, encoded, values_from

TOPIC = topic_name("orders")


async def one_partition(broker, **config):
    await create_topic(broker, TOPIC, 1, TopicConfig(**config))
    return broker.partition(TOPIC, 0)


async def test_records_can_be_read_only_once_they_are_confirmed(open_broker):
    async with open_broker() as broker:
        partition = await one_partition(broker)
        partition.append(encoded(b"a"), lambda _: None, durable=True)
        assert partition.high_watermark == 0
        await broker.commit.drain()
        assert partition.high_watermark == 1
        assert values_from(partition) == [b"a"]


async def test_a_clock_that_is_set_back_does_not_turn_back_the_timestamps(open_broker, clock):
    async with open_broker() as broker:
        partition = await one_partition(broker)
        first = await appended(partition, b"a")
        clock.advance_ms(-60_000)
        second = await appended(partition, b"b")
        assert second.timestamp_ns == first.timestamp_ns


async def test_reading_outside_the_log_is_refused(open_broker):
    async with open_broker() as broker:
        partition = await one_partition(broker)
        await appended(partition, b"a")
        for offset in (-1, 2):
            with pytest.raises(OffsetOutOfRange, match="outside 0 to 1"):
                partition.read(offset, 100, partition.stable_offset)


async def test_a_value_over_the_topics_limit_is_refused_and_nothing_is_written(open_broker):
    async with open_broker() as broker:
        partition = await one_partition(broker, max_value_bytes=10)
        with pytest.raises(RecordTooLarge, match="the limit of orders is 10"):
            await publish_and_wait(broker, PublishBatch(TOPIC, 0, encoded(b"x" * 11)))
        await publish_and_wait(broker, PublishBatch(TOPIC, 0, encoded(b"x" * 10)))
        assert values_from(partition) == [b"x" * 10]


async def test_a_client_cannot_publish_control_records(open_broker):
    async with open_broker() as broker:
        await one_partition(broker)
        batch = bytearray(codec.encode([Record(value=b"", flags=Flag.CONTROL)]))
        with pytest.raises(InvalidRecord, match="control"):
            await publish_and_wait(broker, PublishBatch(TOPIC, 0, batch))


async def test_a_batch_sent_again_is_answered_with_its_first_offset_and_written_once(open_broker):
    async with open_broker() as broker:
        partition = await one_partition(broker)
        identity = broker.producer_ids.next()
        broker.producer_ids.apply(identity)
        for _ in range(2):
            for sequence, value in ((0, b"a"), (1, b"b")):
                producer = ProducerBatch(identity.producer_id, 0, sequence)
                answer = await publish_and_wait(broker, PublishBatch(TOPIC, 0, encoded(value), producer=producer))
                assert answer.base_offset == sequence
        assert values_from(partition) == [b"a", b"b"]
        with pytest.raises(OutOfOrderSequence, match="expected was 2"):
            producer = ProducerBatch(identity.producer_id, 0, 5)
            await publish_and_wait(broker, PublishBatch(TOPIC, 0, encoded(b"gap"), producer=producer))
        # A refused batch burns no number.
        producer = ProducerBatch(identity.producer_id, 0, 2)
        assert (
            await publish_and_wait(broker, PublishBatch(TOPIC, 0, encoded(b"c"), producer=producer))
        ).base_offset == 2


async def test_a_producer_with_an_old_epoch_is_refused_in_every_partition(open_broker):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 2, TopicConfig())
        ids = broker.producer_ids
        identity = ids.next()
        ids.apply(identity)
        ids.apply(ids.bump(identity.producer_id, 0))
        for partition in (0, 1):
            with pytest.raises(ProducerFenced):
                producer = ProducerBatch(identity.producer_id, 0, 0)
                await publish_and_wait(broker, PublishBatch(TOPIC, partition, encoded(b"zombie"), producer=producer))


async def test_what_a_producer_sent_is_remembered_across_restarts_with_and_without_a_checkpoint(open_broker):
    from goqueue.engine.maintenance import Maintenance, MaintenanceSettings
    from goqueue.engine.producers import init_producer

    async with open_broker() as broker:
        await one_partition(broker)
        number, epoch = await init_producer(broker, None, 0)
        batch = PublishBatch(TOPIC, 0, encoded(b"a"), producer=ProducerBatch(number, epoch, 0))
        await publish_and_wait(broker, batch)
        await Maintenance(broker, None, MaintenanceSettings()).checkpoint()
        batch = PublishBatch(TOPIC, 0, encoded(b"b"), producer=ProducerBatch(number, epoch, 1))
        await publish_and_wait(broker, batch)
    async with open_broker() as broker:
        for sequence, value in ((0, b"a"), (1, b"b")):
            producer = ProducerBatch(number, epoch, sequence)
            answer = await publish_and_wait(broker, PublishBatch(TOPIC, 0, encoded(value), producer=producer))
            assert (answer.base_offset, answer.duplicate) == (sequence, True)
        assert (await init_producer(broker, None, 0))[0] > number


async def test_a_full_disk_refuses_records_and_takes_them_again_when_there_is_room(open_broker):
    async with open_broker() as broker:
        partition = await one_partition(broker)
        broker.guard.update(0.95)
        with pytest.raises(DiskFull, match="95%"):
            await publish_and_wait(broker, PublishBatch(TOPIC, 0, encoded(b"a")))
        broker.guard.update(0.5)
        await publish_and_wait(broker, PublishBatch(TOPIC, 0, encoded(b"b")))
        assert values_from(partition) == [b"b"]


async def test_after_a_refused_write_offsets_go_on_without_a_gap_and_a_retry_is_no_duplicate(open_broker):
    async with open_broker() as broker:
        partition = await one_partition(broker)
        identity = broker.producer_ids.next()
        broker.producer_ids.apply(identity)
        await appended(partition, b"a")
        real_write = broker.storage.write
        broker.storage.write = lambda entries: [DiskFull("no room")] * len(entries)
        batch = lambda: PublishBatch(  # noqa: E731
            TOPIC, 0, encoded(b"b"), producer=ProducerBatch(identity.producer_id, 0, 0)
        )
        with pytest.raises(DiskFull):
            await publish_and_wait(broker, batch())
        broker.storage.write = real_write
        answer = await publish_and_wait(broker, batch())
        assert (answer.base_offset, answer.duplicate) == (1, False)
        assert values_from(partition) == [b"a", b"b"]


async def test_memory_durability_confirms_without_a_sync(open_broker):
    async with open_broker() as broker:
        await one_partition(broker)

        def no_sync():
            raise OSError(errno.EIO, "must not be called")

        real_sync, broker.storage.sync = broker.storage.sync, no_sync
        answer = await publish_and_wait(broker, PublishBatch(TOPIC, 0, encoded(b"a"), durability=Durability.MEMORY))
        broker.storage.sync = real_sync
        assert answer.base_offset == 0
