"""Transactions beside everything else that happens to a partition: compaction, retention, deletion, refusals."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from goqueue import codec
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.queue import settle
from goqueue.engine.topics import amend_topic, create_topic, delete_topic
from goqueue.engine.transactions.beginning import begin_part, enlist, prepare
from goqueue.engine.transactions.ending import abort_overdue, decide
from goqueue.engine.transactions.joining import InTransaction
from goqueue.engine.transactions.pledging import pledge
from goqueue.errors import RecordTooLarge, TransactionEnded, UnknownReceipt, UnknownTransaction
from goqueue.model.isolation import Isolation
from goqueue.model.record import Record
from goqueue.model.topic import Cleanup, TopicConfig
from tests.unit.engine.queue_scene import GROUP, LOG, TOPIC, lease, made_topic, published, steps, take, values
from tests.unit.engine.test_maintenance import maintenance_of
from tests.unit.engine.transaction_scene import aborted, begun, committed, next_of, seen, written

LARGE = bytes(1000)


@pytest.fixture
async def stack():
    async with AsyncExitStack() as opened:
        yield opened


@pytest.fixture
async def broker(open_broker, stack):
    return await stack.enter_async_context(open_broker())


@pytest.fixture
def restart(open_broker, stack):
    async def again():
        await stack.aclose()
        return await stack.enter_async_context(open_broker())

    return again


async def put(broker, ref, key, value, *, size=1000):
    batch = bytearray(codec.encode([Record(value=value + bytes(size), key=key)]))
    await publish_and_wait(broker, PublishBatch(TOPIC, 0, batch, transaction=ref))


def short(found):
    return [value.rstrip(b"\0") for value in found]


# --- compaction


async def test_compaction_keeps_the_newest_committed_record_of_a_key_and_not_an_aborted_one(broker, restart):
    await made_topic(broker, cleanup=Cleanup.COMPACT)
    for turn, key in enumerate((b"a", b"b", b"c")):
        good = await begun(broker, "good")
        await put(broker, good, key, b"kept-%d" % turn)
        await committed(broker, good)
        bad = await begun(broker, "bad")
        await put(broker, bad, key, b"dropped-%d" % turn)
        await aborted(broker, bad)
    await published(broker, *[Record(value=b"end" + LARGE, key=b"end")] * 9)
    wanted = [b"kept-0", b"kept-1", b"kept-2"]
    maintenance = maintenance_of(broker)
    await maintenance.checkpoint()
    before = broker.partition(TOPIC, 0).log.size
    await maintenance.compact_all()
    assert broker.partition(TOPIC, 0).log.size < before
    assert short(await seen(broker))[:3] == wanted
    # The aborted ones are gone from the log, not only hidden.
    left = short(await seen(broker, isolation=Isolation.UNCOMMITTED))
    assert left[:3] == wanted
    broker = await restart()
    assert short(await seen(broker))[:3] == wanted


async def test_an_aborted_tombstone_deletes_nothing(broker):
    await made_topic(broker, cleanup=Cleanup.COMPACT, delete_retention_ms=0)
    await published(broker, Record(value=b"alive" + LARGE, key=b"a"))
    bad = await begun(broker)
    tombstone = bytearray(codec.encode([Record(value=None, key=b"a")]))
    await publish_and_wait(broker, PublishBatch(TOPIC, 0, tombstone, transaction=bad))
    await aborted(broker, bad)
    await published(broker, *[Record(value=b"end" + LARGE, key=b"end")] * 9)
    maintenance = maintenance_of(broker)
    await maintenance.checkpoint()
    await maintenance.compact_all()
    assert short(await seen(broker))[0] == b"alive"


async def test_compaction_leaves_alone_what_is_behind_an_open_transaction(broker):
    await made_topic(broker, cleanup=Cleanup.COMPACT)
    await published(broker, Record(value=b"old" + LARGE, key=b"a"))
    ref = await begun(broker)
    await put(broker, ref, b"a", b"new")
    await published(broker, *[Record(value=b"end" + LARGE, key=b"end")] * 9)
    maintenance = maintenance_of(broker)
    await maintenance.checkpoint()
    await maintenance.compact_all()
    assert short(await seen(broker)) == [b"old"]
    await aborted(broker, ref)
    assert short(await seen(broker))[0] == b"old"
    assert len(await seen(broker)) == 10


async def test_markers_do_not_come_to_light_when_compaction_has_rewritten_the_log(broker, restart):
    await made_topic(broker, cleanup=Cleanup.COMPACT)
    for turn in range(6):
        ref = await begun(broker)
        await put(broker, ref, b"%d" % (turn % 2), b"v%d" % turn)
        await committed(broker, ref)
    await published(broker, *[Record(value=b"end" + LARGE, key=b"end")] * 9)
    maintenance = maintenance_of(broker)
    await maintenance.checkpoint()
    await maintenance.compact_all()
    for isolation in Isolation:
        assert short(await seen(broker, isolation=isolation))[:2] == [b"v4", b"v5"]
    broker = await restart()
    for isolation in Isolation:
        assert short(await seen(broker, isolation=isolation))[:2] == [b"v4", b"v5"]
    taken = []
    while parts := await take(broker):
        taken += values(parts)
    assert short(taken)[:2] == [b"v4", b"v5"]


# --- retention


async def test_retention_takes_records_of_an_open_transaction_and_the_rest_of_it_commits(broker, restart, clock):
    await made_topic(broker, retention_ms=3_600_000)
    ref = await begun(broker, timeout_ms=15 * 60_000)
    await put(broker, ref, None, b"early")
    await published(broker, *[Record(value=LARGE)] * 9)
    clock.advance_ms(10 * 60_000)
    await put(broker, ref, None, b"late")
    partition = broker.partition(TOPIC, 0)
    await amend_topic(broker, TOPIC, lambda _: TopicConfig(retention_ms=5 * 60_000))
    await maintenance_of(broker).apply_retention()
    assert partition.log.start_offset > 0
    assert await seen(broker) == []
    await committed(broker, ref)
    assert short(await seen(broker))[-1:] == [b"late"]
    assert b"early" not in short(await seen(broker))
    broker = await restart()
    assert short(await seen(broker))[-1:] == [b"late"]


async def test_nobody_waits_for_a_transaction_all_of_whose_records_retention_took(broker, clock):
    await made_topic(broker, retention_ms=60_000)
    ref = await begun(broker, timeout_ms=15 * 60_000)
    await put(broker, ref, None, b"early")
    await published(broker, *[Record(value=LARGE)] * 9)
    clock.advance_ms(60_001)
    await maintenance_of(broker).apply_retention()
    await published(broker, Record(value=b"next"))
    assert await seen(broker) == [b"next"]
    await aborted(broker, ref)
    await published(broker, Record(value=b"last"))
    assert await seen(broker) == [b"next", b"last"]
    assert values(await take(broker)) == [b"next", b"last"]


# --- deleted topics


@pytest.mark.parametrize("is_committed", [True, False])
@pytest.mark.parametrize("checkpointed", [True, False])
async def test_a_topic_made_again_under_its_name_hides_nothing_of_what_the_old_one_hid(
    broker, restart, is_committed, checkpointed
):
    await made_topic(broker)
    bad = await begun(broker, "bad")
    await written(broker, bad, b"1", b"2", b"3")
    await aborted(broker, bad)
    ref = await begun(broker)
    await written(broker, ref, b"4", b"5")
    if checkpointed:
        await maintenance_of(broker).checkpoint()
    await delete_topic(broker, TOPIC)
    await create_topic(broker, TOPIC, 1, TopicConfig())
    fresh = [b"%d" % number for number in range(10)]
    await published(broker, *[Record(value=value) for value in fresh])
    assert await seen(broker) == fresh
    if is_committed:
        await committed(broker, ref)
    assert await seen(broker) == fresh
    broker = await restart()
    await abort_overdue(broker)
    assert await seen(broker) == fresh
    assert values(await take(broker)) == fresh


async def test_a_transaction_goes_on_in_the_topic_made_again(broker, restart):
    await made_topic(broker)
    ref = await begun(broker)
    await written(broker, ref, b"lost")
    await delete_topic(broker, TOPIC)
    await create_topic(broker, TOPIC, 1, TopicConfig())
    await written(broker, ref, b"kept")
    assert await seen(broker) == []
    await committed(broker, ref)
    assert await seen(broker) == [b"kept"]
    broker = await restart()
    assert await seen(broker) == [b"kept"]


async def test_records_of_other_topics_commit_although_one_topic_is_gone(broker, restart):
    await made_topic(broker)
    other = TOPIC + "-2"
    await create_topic(broker, other, 1, TopicConfig())
    ref = await begun(broker)
    await written(broker, ref, b"lost")
    await written(broker, ref, b"kept", topic=other)
    await delete_topic(broker, TOPIC)
    await committed(broker, ref)
    assert await seen(broker, topic=other) == [b"kept"]
    broker = await restart()
    assert await seen(broker, topic=other) == [b"kept"]


async def test_a_transaction_that_acknowledges_records_of_a_deleted_topic_can_only_be_aborted(broker):
    await made_topic(broker, b"job")
    await create_topic(broker, "results", 1, TopicConfig())
    (part,) = await take(broker)
    ref = await begun(broker)
    await written(broker, ref, b"result", topic="results")
    await pledge(broker, ref, lease(part), "ack")
    await delete_topic(broker, TOPIC)
    with pytest.raises(UnknownReceipt):
        await committed(broker, ref)
    await aborted(broker, ref)
    assert await seen(broker, topic="results") == []
    await create_topic(broker, TOPIC, 1, TopicConfig())
    await published(broker, Record(value=b"new job"))
    assert values(await take(broker)) == [b"new job"]


# --- checkpoints and restarts


@pytest.mark.parametrize("is_committed", [True, False])
async def test_a_checkpoint_between_publish_and_end_changes_nothing(broker, restart, is_committed):
    await made_topic(broker, b"job")
    (part,) = await take(broker)
    ref = await begun(broker)
    await written(broker, ref, b"a")
    await pledge(broker, ref, lease(part), "ack")
    await maintenance_of(broker).checkpoint()
    await written(broker, ref, b"b")
    if is_committed:
        await committed(broker, ref)
    else:
        await aborted(broker, ref)
    wanted = [b"job", b"a", b"b"] if is_committed else [b"job"]
    for _ in range(2):
        assert await seen(broker) == wanted
        await maintenance_of(broker).checkpoint()
        broker = await restart()
    assert await seen(broker) == wanted


async def test_a_prepared_part_survives_checkpoints_and_restarts_until_it_is_decided(broker, restart):
    await made_topic(broker, partitions=2)
    began = await begin_part(broker, "k", 60_000)
    ref = InTransaction(began.number, began.producer_id, began.epoch)
    await written(broker, ref, b"a")
    await maintenance_of(broker).checkpoint()
    await written(broker, ref, b"b", partition=1)
    await prepare(broker, ref)
    for _ in range(2):
        broker = await restart()
        await maintenance_of(broker).checkpoint()
        await abort_overdue(broker)
        assert [await seen(broker, partition=number) for number in (0, 1)] == [[], []]
    await decide(broker, "k", [ref.number])
    assert [await seen(broker, partition=number) for number in (0, 1)] == [[b"a"], [b"b"]]


# --- refused writes


async def test_a_refused_first_record_does_not_keep_later_ones_of_the_partition_from_being_committed(broker, restart):
    await made_topic(broker, partitions=2, max_value_bytes=100)
    began = await begin_part(broker, "k", 60_000)
    ref = InTransaction(began.number, began.producer_id, began.epoch)
    with pytest.raises(RecordTooLarge):
        await written(broker, ref, LARGE, partition=1)
    await written(broker, ref, b"a")
    await written(broker, ref, b"b", partition=1)
    await prepare(broker, ref)
    broker = await restart()
    await decide(broker, "k", [ref.number])
    assert [await seen(broker, partition=number) for number in (0, 1)] == [[b"a"], [b"b"]]
    broker = await restart()
    await abort_overdue(broker)
    assert [await seen(broker, partition=number) for number in (0, 1)] == [[b"a"], [b"b"]]


async def test_a_refused_first_record_does_not_leave_readers_waiting_after_a_restart(broker, restart):
    await made_topic(broker, max_value_bytes=100)
    ref = await begun(broker)
    with pytest.raises(RecordTooLarge):
        await written(broker, ref, LARGE)
    await written(broker, ref, b"a")
    broker = await restart()
    await abort_overdue(broker)
    await published(broker, Record(value=b"behind"))
    assert await seen(broker) == [b"behind"]


async def test_a_refused_first_record_does_not_make_the_broker_forget_that_it_committed(broker, restart):
    await made_topic(broker, max_value_bytes=100)
    ref = await begun(broker)
    with pytest.raises(RecordTooLarge):
        await written(broker, ref, LARGE)
    await written(broker, ref, b"a")
    await committed(broker, ref)
    broker = await restart()
    await committed(broker, ref)
    with pytest.raises(TransactionEnded):
        await aborted(broker, ref)
    assert await seen(broker) == [b"a"]


async def test_what_a_broker_left_open_is_not_mixed_up_with_what_begins_after_its_restart(broker, restart):
    await made_topic(broker, max_value_bytes=100)
    ref = await begun(broker)
    with pytest.raises(RecordTooLarge):
        await written(broker, ref, LARGE)
    await written(broker, ref, b"old")
    broker = await restart()
    other = await begun(broker, "other")
    await written(broker, other, b"new")
    await abort_overdue(broker)
    await committed(broker, other)
    assert await seen(broker) == [b"new"]


async def test_a_transaction_that_nothing_belonged_to_leaves_nothing_behind(broker, restart):
    await made_topic(broker)
    ref = await begun(broker)
    broker = await restart()
    await abort_overdue(broker)
    with pytest.raises((TransactionEnded, UnknownTransaction)):
        await committed(broker, ref)
    again = await next_of(broker, broker.transactions.lookup("shop"))
    await written(broker, again, b"a")
    await committed(broker, again)
    assert await seen(broker) == [b"a"]


# --- clients that go away


async def test_a_commit_whose_client_went_away_happens_once_and_wholly(broker, restart):
    await made_topic(broker, b"job", b"other", partitions=2)
    for rounds in range(8):
        (part,) = await take(broker, 1)
        ref = await begun(broker)
        await written(broker, ref, b"result-%d" % rounds, partition=1)
        await pledge(broker, ref, lease(part), "ack")
        await published(broker, Record(value=b"more-%d" % rounds))
        committing = asyncio.ensure_future(committed(broker, ref))
        await steps(rounds)
        committing.cancel()
        await asyncio.wait([committing])
        try:
            await committed(broker, ref)
        except UnknownReceipt as lost:
            raise AssertionError("acknowledged twice") from lost
        assert (await seen(broker, partition=1))[-1] == b"result-%d" % rounds
        with pytest.raises(TransactionEnded):
            await aborted(broker, ref)
    assert len(await seen(broker, partition=1)) == 8
    broker = await restart()
    assert len(await seen(broker, partition=1)) == 8


async def test_a_commit_that_is_cancelled_while_it_waits_for_its_turn_holds_up_nobody(broker):
    await made_topic(broker, b"job", partitions=2)
    await published(broker, Record(value=b"job-1"), partition=1)
    parts = await take(broker)
    ref = await begun(broker)
    for part in parts:
        await pledge(broker, ref, lease(part), "ack")
    busy = broker.queues.get(GROUP, LOG._replace(partition=1))
    await busy.lock.acquire()
    committing = asyncio.ensure_future(committed(broker, ref))
    await steps(5)
    committing.cancel()
    await asyncio.wait([committing])
    busy.lock.release()
    await committed(broker, ref)
    async with asyncio.timeout(5):
        for part in parts:
            await settle.acknowledge(broker, lease(part))
    assert await take(broker) == []


async def test_nothing_of_a_producer_is_left_open_when_it_comes_back_twice_at_once(broker):
    await made_topic(broker)
    first = await begun(broker)
    await written(broker, first, b"old")
    one, two = await asyncio.gather(*(enlist(broker, "shop", 60_000) for _ in range(2)))
    assert one.epoch != two.epoch
    newest = max(one, two, key=lambda given: given.epoch)
    ref = await next_of(broker, newest)
    await written(broker, ref, b"new")
    await committed(broker, ref)
    assert await seen(broker) == [b"new"]
