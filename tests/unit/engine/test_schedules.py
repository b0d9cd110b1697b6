"""Schedules at work, with a clock that is moved by hand."""

import asyncio

import msgspec
import pytest

from goqueue import codec
from goqueue.core.schedules.schedule import Misfire, ScheduleConfig, SchedulePatch
from goqueue.engine.placement import Placement
from goqueue.engine.schedules import (
    SCHEDULE_HEADER,
    change_schedule,
    create_schedule,
    delete_schedule,
    fire_due,
    pause_schedule,
)
from goqueue.engine.stream_names import SCHEDULES
from goqueue.engine.topics import create_topic, delete_topic
from goqueue.errors import ScheduleExists, UnknownSchedule, UnknownTopic
from goqueue.model.topic import TopicConfig, TopicName
from tests.unit.engine.queue_scene import steps

REPORTS = TopicName("reports")
S = 1_000_000_000


def every(seconds, **more):
    return ScheduleConfig(id="report", topic="reports", value=b"make it", key=b"k", every_s=seconds, **more)


def published(broker):
    found = []
    for partition in broker.partitions(REPORTS):
        if partition.high_watermark:
            found += codec.decode(partition.read(0, 1 << 20, partition.stable_offset).records)
    return found


async def test_each_occurrence_is_published_once_also_across_restarts(open_broker, clock):
    placement = Placement()
    async with open_broker() as broker:
        await create_topic(broker, REPORTS, 2, TopicConfig())
        state = await create_schedule(broker, every(10))
        assert (state.status.value, state.fired) == ("active", 0)
        assert await fire_due(broker, placement) == 0
        clock.advance_ms(10_000)
        assert await fire_due(broker, placement) == 1
        assert await fire_due(broker, placement) == 0
        (record,) = published(broker)
        assert (record.key, record.value) == (b"k", b"make it")
        occurrence = broker.schedules.state("report").history[0]
        assert dict(record.headers)[SCHEDULE_HEADER] == b"report@%d" % occurrence.occurrence
        assert occurrence.place.offset == record.offset
    async with open_broker() as broker:
        assert await fire_due(broker, placement) == 0
        clock.advance_ms(10_000)
        assert await fire_due(broker, placement) == 1
        assert len(published(broker)) == 2
        assert broker.schedules.state("report").fired == 2


@pytest.mark.parametrize(("policy", "count"), [(Misfire.SKIP, 0), (Misfire.ONCE, 1), (Misfire.ALL, 6)])
async def test_what_was_missed_while_the_broker_was_away_follows_the_policy(open_broker, clock, policy, count):
    async with open_broker() as broker:
        await create_topic(broker, REPORTS, 1, TopicConfig())
        await create_schedule(broker, every(600, misfire=policy))
    clock.advance_ms(3_601_000 + 300_000)
    async with open_broker() as broker:
        await fire_due(broker, Placement())
        assert len(published(broker)) == count
        clock.advance_ms(300_000)
        await fire_due(broker, Placement())
        assert len(published(broker)) == count + 1


async def test_a_schedule_whose_topic_is_gone_says_so_and_goes_on_when_it_is_back(open_broker, clock):
    async with open_broker() as broker:
        await create_topic(broker, REPORTS, 1, TopicConfig())
        await create_schedule(broker, every(10))
        await delete_topic(broker, REPORTS)
        clock.advance_ms(10_000)
        await fire_due(broker, Placement())
        (entry,) = broker.schedules.state("report").history
        assert (entry.outcome.value, entry.reason) == ("skipped", "there is no topic reports")
        await create_topic(broker, REPORTS, 1, TopicConfig())
        clock.advance_ms(10_000)
        await fire_due(broker, Placement())
        assert len(published(broker)) == 1


async def test_schedules_are_changed_paused_and_deleted_for_good(open_broker, clock):
    async with open_broker() as broker:
        await create_topic(broker, REPORTS, 1, TopicConfig())
        await create_schedule(broker, every(10))
        with pytest.raises(ScheduleExists):
            await create_schedule(broker, every(10))
        with pytest.raises(UnknownTopic):
            await create_schedule(broker, msgspec.structs.replace(every(10), id="other", topic="none"))
        await pause_schedule(broker, "report", paused=True)
        clock.advance_ms(60_000)
        assert await fire_due(broker, Placement()) == 0
        await pause_schedule(broker, "report", paused=False)
        assert await fire_due(broker, Placement()) == 0
        changed = await change_schedule(broker, "report", SchedulePatch(value=b"another"))
        assert changed.config.value == b"another"
        clock.advance_ms(10_000)
        await fire_due(broker, Placement())
        assert [record.value for record in published(broker)] == [b"another"]
        await delete_schedule(broker, "report")
    async with open_broker() as broker:
        assert len(broker.schedules) == 0
        with pytest.raises(UnknownSchedule):
            await delete_schedule(broker, "report")


async def test_a_firing_that_waits_while_its_topic_is_made_again_is_not_written_to_the_new_one(open_broker, clock):
    async with open_broker() as broker:
        await create_topic(broker, REPORTS, 1, TopicConfig())
        await create_schedule(broker, every(10))
        clock.advance_ms(10_000)
        async with broker.state_log.owner(SCHEDULES).lock:
            firing = asyncio.ensure_future(fire_due(broker, Placement()))
            await steps(10)
            await delete_topic(broker, REPORTS)
            await create_topic(broker, REPORTS, 1, TopicConfig())
        await firing
        assert published(broker) == []
        assert broker.schedules.state("report").history[0].outcome.value == "skipped"
    async with open_broker() as broker:
        assert published(broker) == []
