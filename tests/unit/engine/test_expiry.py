"""Groups, producers and transactional ids that are not used any more expire, and others do not."""

import asyncio

import pytest

from goqueue.core.delivery.group_policies import GroupPolicy
from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.engine.expiry import expires_at
from goqueue.engine.groups import JoinRequest, commit_offsets, join_group, leave_group, pause_group
from goqueue.engine.maintenance import Maintenance, MaintenanceSettings
from goqueue.engine.partition import ProducerBatch
from goqueue.engine.producers import init_producer
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.queue import settle
from goqueue.engine.queue.policies import set_policy
from goqueue.engine.topics import amend_topic, create_topic
from goqueue.engine.transactions.beginning import begin, enlist
from goqueue.engine.transactions.ending import abort_overdue
from goqueue.engine.transactions.joining import InTransaction
from goqueue.errors import NotTransactional, UnknownProducer
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.topic import TopicConfig, topic_name
from tests.unit.engine.queue_scene import GROUP, LOG, TOPIC, lease, made_topic, published, still_waiting, take, values
from tests.unit.engine.support import appended, encoded
from tests.unit.engine.test_maintenance import Reports

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
WEEK_MS = 7 * DAY_MS


def maintenance_of(broker) -> Maintenance:
    return Maintenance(broker, Reports(), MaintenanceSettings())


async def expired(broker) -> list[str]:
    """The groups that one round forgets."""
    before = {group.name for group in broker.groups}
    await maintenance_of(broker).expire_unused()
    return sorted(before - {group.name for group in broker.groups})


async def committed(broker, offset: int = 1, group: str = GROUP, log: LogId = LOG) -> None:
    await commit_offsets(broker, group, {log: OffsetAndMetadata(offset)}, None, None)


async def test_an_empty_group_expires_after_its_retention_and_not_before(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"a", b"b")
        await committed(broker)
        group = broker.groups.group(GROUP)
        assert expires_at(broker, group) == clock.now_ns() + WEEK_MS * 1_000_000
        clock.advance_ms(WEEK_MS - 1)
        assert await expired(broker) == []
        clock.advance_ms(1)
        assert await expired(broker) == [GROUP]
        assert broker.groups.group_or_new(GROUP).offsets == {}


@pytest.mark.parametrize("offset", [1, 2])
async def test_a_commit_renews_a_group_even_of_the_same_offset(open_broker, clock, offset):
    async with open_broker() as broker:
        await made_topic(broker, b"a", b"b")
        await committed(broker, 1)
        clock.advance_ms(WEEK_MS - 1)
        await committed(broker, offset)
        clock.advance_ms(WEEK_MS - 1)
        assert await expired(broker) == []
        clock.advance_ms(1)
        assert await expired(broker) == [GROUP]


async def test_a_group_with_a_member_does_not_expire_and_its_retention_begins_when_the_member_leaves(
    open_broker, clock
):
    async with open_broker() as broker:
        await made_topic(broker, b"a")
        joined = await join_group(broker, GROUP, JoinRequest("client", [TOPIC]))
        clock.advance_ms(2 * WEEK_MS)
        assert await expired(broker) == []
        assert expires_at(broker, broker.groups.group(GROUP)) is None
        await leave_group(broker, GROUP, joined.member_id)
        clock.advance_ms(WEEK_MS - 1)
        assert await expired(broker) == []
        clock.advance_ms(1)
        assert await expired(broker) == [GROUP]


async def test_a_group_with_a_lease_does_not_expire_and_forgets_its_acknowledgements_when_it_does(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"a", b"b", retention_ms=None)
        [part] = await take(broker, limit=1)
        await settle.extend(broker, lease(part), 12 * HOUR_MS)
        clock.advance_ms(WEEK_MS + 1)
        assert await expired(broker) == []
        await settle.acknowledge(broker, lease(part))
        clock.advance_ms(WEEK_MS - 1)
        assert await expired(broker) == []
        assert broker.queues.of(GROUP, LOG).delivery.floor == 1
        clock.advance_ms(1)
        assert await expired(broker) == [GROUP]
        # As a new group, it begins at the beginning.
        assert values(await take(broker)) == [b"a", b"b"]


async def test_a_group_with_a_retry_or_a_delayed_record_to_come_does_not_expire(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(
            broker, b"a", retry_backoff_ms=DAY_MS, retry_backoff_max_ms=DAY_MS, offsets_retention_ms=HOUR_MS
        )
        [part] = await take(broker)
        await settle.nack(broker, lease(part), reason="later")
        clock.advance_ms(DAY_MS - 1)
        assert await expired(broker) == []
        clock.advance_ms(HOUR_MS - 1)
        assert await expired(broker) == []
        clock.advance_ms(1)
        assert await expired(broker) == [GROUP]
        later = clock.now_ns() + DAY_MS * 1_000_000
        await publish_and_wait(broker, PublishBatch(TOPIC, 0, encoded(b"delayed"), dues=[later]))
        [part] = await take(broker, group="other")
        await settle.acknowledge(broker, lease(part, group="other"))
        clock.advance_ms(2 * HOUR_MS)
        assert await expired(broker) == []


async def test_a_group_whose_worker_waits_and_a_paused_one_do_not_expire(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker)
        await committed(broker, 0, "paused")
        await pause_group(broker, "paused", paused=True)
        waiting = asyncio.create_task(take(broker, wait_ms=20_000))
        assert await still_waiting(waiting)
        clock.advance_ms(WEEK_MS + 1)
        assert await expired(broker) == []
        await published(broker, Record(value=b"work"))
        assert values(await waiting) == [b"work"]


async def test_a_poll_that_finds_nothing_keeps_a_group(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker)
        await take(broker)
        for _ in range(8):
            clock.advance_ms(DAY_MS)
            assert await take(broker) == []
            assert await expired(broker) == []
        clock.advance_ms(WEEK_MS)
        assert await expired(broker) == [GROUP]


async def test_use_that_changed_nothing_is_known_after_a_restart_within_an_eighth_of_the_retention(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker)
        for _ in range(6):
            await take(broker)
            await expired(broker)
            clock.advance_ms(DAY_MS)
    clock.advance_ms(2 * DAY_MS)
    async with open_broker() as broker:
        assert await expired(broker) == []
        clock.advance_ms(5 * DAY_MS)
        assert await expired(broker) == [GROUP]


async def test_backlog_does_not_keep_a_group(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"a", b"b", retention_ms=None)
        [part] = await take(broker, limit=1)
        await settle.acknowledge(broker, lease(part))
        clock.advance_ms(WEEK_MS)
        assert await expired(broker) == [GROUP]


async def test_a_topic_and_a_group_may_have_another_retention(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"a", offsets_retention_ms=HOUR_MS)
        await create_topic(broker, topic_name("long"), 1, TopicConfig(offsets_retention_ms=DAY_MS))
        await committed(broker, 0, "short")
        await committed(broker, 0, "both")
        await committed(broker, 0, "both", LogId("long", 0))
        await committed(broker, 0, "own")
        await set_policy(broker, "own", GroupPolicy(offsets_retention_ms=2 * DAY_MS))
        clock.advance_ms(HOUR_MS)
        assert await expired(broker) == ["short"]
        clock.advance_ms(DAY_MS - HOUR_MS)
        assert await expired(broker) == ["both"]
        await amend_topic(broker, TOPIC, lambda _: TopicConfig())
        clock.advance_ms(DAY_MS - 1)
        assert await expired(broker) == []
        clock.advance_ms(1)
        assert await expired(broker) == ["own"]
        assert broker.policies.of("own") == GroupPolicy()


@pytest.mark.parametrize("is_checkpointed", [False, True])
async def test_expiry_survives_a_restart_and_what_expired_meanwhile_goes_with_the_first_round(
    open_broker, clock, is_checkpointed
):
    async with open_broker() as broker:
        await made_topic(broker, b"a", retention_ms=None)
        await committed(broker, 0, "old")
        clock.advance_ms(3 * DAY_MS)
        [part] = await take(broker)
        await settle.acknowledge(broker, lease(part))
        if is_checkpointed:
            await maintenance_of(broker).checkpoint()
    clock.advance_ms(4 * DAY_MS)
    async with open_broker() as broker:
        assert expires_at(broker, broker.groups.group(GROUP)) == clock.now_ns() + 3 * DAY_MS * 1_000_000
        assert await expired(broker) == ["old"]
        if is_checkpointed:
            await maintenance_of(broker).checkpoint()
    async with open_broker() as broker:
        assert [group.name for group in broker.groups] == [GROUP]
        assert await take(broker) == []


async def test_groups_that_expire_are_reported(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"a")
        await committed(broker)
        clock.advance_ms(WEEK_MS)
        reports = Reports()
        await Maintenance(broker, reports, MaintenanceSettings()).expire_unused()
        assert reports.told == [("groups_expired", [GROUP])]


async def test_many_groups_are_looked_at_in_slices(open_broker, clock):
    """While the round goes on, the loop goes round at least once for every hundred groups."""
    async with open_broker() as broker:
        await made_topic(broker, b"a")
        for first in range(0, 2000, 500):
            await asyncio.gather(*(committed(broker, 0, f"group-{first + number}") for number in range(500)))
        passes = await loop_passes_during(maintenance_of(broker).expire_unused())
        assert passes >= 2000 // 100


async def loop_passes_during(work) -> int:
    """How often others had a turn."""
    task = asyncio.ensure_future(work)
    passes = 0
    while not task.done():
        await asyncio.sleep(0)
        passes += 1
    await task
    return passes


# Producers.


async def sent(broker, producer_id: int, epoch: int, sequence: int):
    return await publish_and_wait(
        broker, PublishBatch(TOPIC, 0, encoded(b"x"), producer=ProducerBatch(producer_id, epoch, sequence))
    )


async def test_a_silent_producer_is_forgotten_and_told_so_with_its_next_batch(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker)
        producer = await init_producer(broker, None, 0)
        await sent(broker, *producer, 0)
        clock.advance_ms(WEEK_MS - 1)
        await expired(broker)
        await sent(broker, *producer, 1)
        clock.advance_ms(WEEK_MS)
        await expired(broker)
        with pytest.raises(UnknownProducer, match="nothing is known here of those before it") as refusal:
            await sent(broker, *producer, 2)
        assert "ask for a new producer id" in refusal.value.hint
        await sent(broker, *await init_producer(broker, None, 0), 0)


async def test_a_forgotten_producer_stays_forgotten_after_a_checkpoint_and_a_restart(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker)
        producer = await init_producer(broker, None, 0)
        await sent(broker, *producer, 0)
        await maintenance_of(broker).checkpoint()
        clock.advance_ms(WEEK_MS)
        await expired(broker)
        await maintenance_of(broker).checkpoint()
    async with open_broker() as broker:
        with pytest.raises(UnknownProducer):
            await sent(broker, *producer, 1)


async def test_a_producer_with_an_open_transaction_is_not_forgotten(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker)
        enlisted = await enlist(broker, "billing", 60_000)
        began = await begin(broker, enlisted.producer_id, enlisted.epoch)
        ref = InTransaction(began.number, enlisted.producer_id, enlisted.epoch)
        first = PublishBatch(
            TOPIC, 0, encoded(b"x"), producer=ProducerBatch(enlisted.producer_id, enlisted.epoch, 0), transaction=ref
        )
        await publish_and_wait(broker, first)
        clock.advance_ms(WEEK_MS)
        await expired(broker)
        assert len(broker.partition(TOPIC, 0).producers) == 1
        assert broker.transactions.lookup("billing") is not None
        await abort_overdue(broker)
        clock.advance_ms(WEEK_MS)
        await expired(broker)
        assert len(broker.partition(TOPIC, 0).producers) == 0
        assert broker.transactions.lookup("billing") is None


async def test_an_idle_transactional_id_expires_also_over_a_restart(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker)
        enlisted = await enlist(broker, "billing", 60_000)
        clock.advance_ms(WEEK_MS - 1)
        await expired(broker)
        assert broker.transactions.lookup("billing") == enlisted
        clock.advance_ms(1)
        await expired(broker)
    async with open_broker() as broker:
        assert broker.transactions.lookup("billing") is None
        with pytest.raises(NotTransactional):
            await begin(broker, enlisted.producer_id, enlisted.epoch)
        assert await appended(broker.partition(TOPIC, 0), b"still fine") is not None
