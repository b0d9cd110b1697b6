import asyncio

import pytest

from goqueue import codec
from goqueue.engine.browse import read_page
from goqueue.engine.delays import cancel_delay
from goqueue.engine.firing import fire_due
from goqueue.engine.maintenance import Maintenance, MaintenanceSettings
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.topics import amend_topic, create_topic, delete_topic
from goqueue.errors import TopicExists, UnknownTopic
from goqueue.model.record import Record
from goqueue.model.topic import Cleanup, TopicConfig, topic_name
from tests.unit.engine.support import appended, values_from

TOPIC = topic_name("orders")
HOUR_MS = 3_600_000


class Reports:
    def __init__(self) -> None:
        self.told: list[tuple] = []

    def __getattr__(self, name):
        return lambda *arguments: self.told.append((name, *arguments))


def maintenance_of(broker, reports=None, **settings) -> Maintenance:
    return Maintenance(broker, reports or Reports(), MaintenanceSettings(**settings))


async def fill(partition, batches: int, key: bytes | None = None) -> None:
    for number in range(batches):
        await appended(partition, b"%05d" % number + bytes(1000), key=key)


async def test_records_older_than_the_retention_time_go_and_newer_ones_stay(open_broker, clock):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, TopicConfig(retention_ms=2 * HOUR_MS))
        partition = broker.partition(TOPIC, 0)
        await fill(partition, 8)
        clock.advance_ms(HOUR_MS)
        await fill(partition, 8)
        clock.advance_ms(HOUR_MS + 1)
        await maintenance_of(broker).apply_retention()
        start = partition.log.start_offset
        assert 0 < start <= 8
        assert partition.high_watermark == 16
        clock.advance_ms(HOUR_MS)
        await maintenance_of(broker).apply_retention()
        assert partition.log.start_offset == 16
        written = await appended(partition, b"next")
        assert written.base_offset == 16


async def test_a_log_over_its_size_loses_its_oldest_segments(open_broker):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, TopicConfig(retention_ms=None, retention_bytes=8192))
        partition = broker.partition(TOPIC, 0)
        await fill(partition, 40)
        await maintenance_of(broker).apply_retention()
        assert partition.log.size <= 8192 + 4096
        assert partition.log.start_offset > 20


async def test_retention_and_settings_survive_a_restart(open_broker, clock):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 2, TopicConfig(retention_ms=HOUR_MS))
        await amend_topic(
            broker, TOPIC, lambda _: TopicConfig(retention_ms=2 * HOUR_MS, cleanup=Cleanup.COMPACT_DELETE)
        )
    async with open_broker() as broker:
        topic = broker.catalog.topic(TOPIC)
        assert topic.config == TopicConfig(retention_ms=2 * HOUR_MS, cleanup=Cleanup.COMPACT_DELETE)
        assert (topic.partitions, topic.epoch) == (2, 2)
        await maintenance_of(broker).checkpoint()
    async with open_broker() as broker:
        assert broker.catalog.topic(TOPIC) == topic


async def test_compaction_keeps_the_newest_record_of_each_key(open_broker):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, TopicConfig(cleanup=Cleanup.COMPACT))
        partition = broker.partition(TOPIC, 0)
        for turn in range(5):
            for key in (b"a", b"b", b"c"):
                await appended(partition, key + b"%d" % turn + bytes(1000), key=key)
        maintenance = maintenance_of(broker)
        await maintenance.checkpoint()
        before = partition.log.size
        await maintenance.compact_all()
        assert partition.log.size < before / 2
        kept = [value[:2] for value in values_from(partition)]
        assert {b"a4", b"b4", b"c4"} <= set(kept)
        assert len(kept) == len(set(kept))


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_a_record_that_is_not_due_takes_the_place_of_no_other(open_broker, clock, is_cancelled):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, TopicConfig(cleanup=Cleanup.COMPACT))
        partition = broker.partition(TOPIC, 0)
        await appended(partition, b"now" + bytes(1000), key=b"a")
        batch = bytearray(codec.encode([Record(value=b"later" + bytes(1000), key=b"a")]))
        await publish_and_wait(broker, PublishBatch(TOPIC, 0, batch, dues=[clock.now_ns() + 1_000_000_000]))
        if is_cancelled:
            await cancel_delay(broker, TOPIC, 0, 1)
        for turn in range(10):
            await appended(partition, b"%d" % turn + bytes(1000), key=b"b")
        maintenance = maintenance_of(broker)
        await maintenance.checkpoint()
        await maintenance.compact_all()
        page = await read_page(broker, TOPIC, 0, None, 100)
        assert [one.record.value[:3] for one in page.found if one.record.key == b"a"] == [b"now"]
        clock.advance_ms(1000)
        await fire_due(broker)
        page = await read_page(broker, TOPIC, 0, None, 100)
        seen = [one.record.value[:3] for one in page.found if one.record.key == b"a"]
        assert seen == ([b"now"] if is_cancelled else [b"now", b"lat"])
        await maintenance.checkpoint()
        await maintenance.compact_all()
        page = await read_page(broker, TOPIC, 0, None, 100)
        seen = [one.record.value[:3] for one in page.found if one.record.key == b"a"]
        assert seen == ([b"now"] if is_cancelled else [b"lat"])


async def test_a_checkpoint_frees_the_journal_and_loses_nothing(open_broker):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, TopicConfig())
        partition = broker.partition(TOPIC, 0)
        await fill(partition, 10)
        await maintenance_of(broker).checkpoint()
        await fill(partition, 3)
    async with open_broker() as broker:
        assert broker.partition(TOPIC, 0).high_watermark == 13


async def test_a_deleted_topic_is_gone_and_can_be_made_again_from_nothing(open_broker, tmp_path):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, TopicConfig())
        await fill(broker.partition(TOPIC, 0), 3)
        await delete_topic(broker, TOPIC)
        assert not (tmp_path / "data" / "logs" / "orders").exists()
        with pytest.raises(UnknownTopic):
            broker.partition(TOPIC, 0)
        await create_topic(broker, TOPIC, 1, TopicConfig())
        assert broker.partition(TOPIC, 0).high_watermark == 0


async def test_of_two_who_create_the_same_topic_at_once_one_is_told_it_exists(open_broker):
    async with open_broker() as broker:
        results = await asyncio.gather(
            *(create_topic(broker, TOPIC, 3, TopicConfig()) for _ in range(2)), return_exceptions=True
        )
        assert sorted(type(result).__name__ for result in results) == ["Topic", "TopicExists"]
        assert any(isinstance(result, TopicExists) for result in results)


async def test_a_creator_that_goes_away_leaves_a_whole_topic_or_none(open_broker):
    async with open_broker() as broker:
        task = asyncio.create_task(create_topic(broker, TOPIC, 3, TopicConfig()))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await broker.commit.drain()
        assert len(broker.partitions(TOPIC)) == broker.catalog.topic(TOPIC).partitions == 3


async def test_an_operator_is_told_when_the_disk_fills_and_when_it_has_room(open_broker):
    reports = Reports()
    async with open_broker() as broker:
        maintenance = maintenance_of(broker, reports)
        for free in (0.5, 0.05, 0.05, 0.105, 0.5):
            broker.storage.free_share = lambda free=free: free
            maintenance.watch_disk()
    assert [told[0] for told in reports.told] == ["disk_full", "disk_has_room"]


async def test_a_job_that_fails_is_reported_and_tried_again(open_broker, clock):
    from goqueue.errors import DiskFull

    reports = Reports()
    async with open_broker() as broker:
        maintenance = maintenance_of(broker, reports, tick_ms=1000)
        attempts = []

        async def failing() -> None:
            attempts.append(1)
            raise DiskFull("no room")

        maintenance.apply_retention = failing
        task = asyncio.create_task(maintenance.run())
        for _ in range(3):
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            clock.advance_ms(30_000)
        for _ in range(20):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert len(attempts) >= 2
    assert [told[1] for told in reports.told if told[0] == "job_failed"] == ["retention"] * len(attempts)
