import asyncio
from contextlib import AsyncExitStack

import pytest

from goqueue import codec
from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.engine.delays import cancel_delay, cancel_delays, delay_stats, list_delays
from goqueue.engine.firing import fire_due
from goqueue.engine.groups import commit_offsets
from goqueue.engine.producers import init_producer
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.queue import settle
from goqueue.engine.queue.positions import committed_offsets
from goqueue.engine.transactions.beginning import add_offsets, begin_part, enlist, prepare
from goqueue.engine.transactions.ending import abort_overdue, decide
from goqueue.engine.transactions.joining import InTransaction
from goqueue.engine.transactions.pledging import pledge
from goqueue.errors import (
    AlreadyDecided,
    InvalidRequest,
    NotTransactional,
    ProducerFenced,
    TransactionConflict,
    TransactionEnded,
    UnknownDelay,
    UnknownReceipt,
    UnknownTransaction,
)
from goqueue.model.isolation import Isolation
from goqueue.model.record import Record
from goqueue.model.topic import topic_name
from tests.unit.engine.queue_scene import GROUP, LOG, TOPIC, lease, made_topic, published, still_waiting, take, values
from tests.unit.engine.transaction_scene import aborted, begun, committed, next_of, seen, written

DEAD = topic_name("orders.dlq")


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


async def test_records_of_a_transaction_are_seen_when_it_commits_and_not_before(broker):
    await made_topic(broker, b"before", partitions=2)
    ref = await begun(broker)
    await written(broker, ref, b"a", b"b")
    await written(broker, ref, b"c", partition=1)
    await published(broker, Record(value=b"behind"))
    assert await seen(broker) == [b"before"]
    assert await seen(broker, partition=1) == []
    assert await seen(broker, isolation=Isolation.UNCOMMITTED) == [b"before", b"a", b"b", b"behind"]
    await committed(broker, ref)
    assert await seen(broker) == [b"before", b"a", b"b", b"behind"]
    assert await seen(broker, partition=1) == [b"c"]


async def test_records_of_an_aborted_transaction_are_never_seen(broker):
    await made_topic(broker)
    ref = await begun(broker)
    await written(broker, ref, b"a", b"b")
    await published(broker, Record(value=b"behind"))
    await aborted(broker, ref)
    assert await seen(broker) == [b"behind"]
    assert await seen(broker, isolation=Isolation.UNCOMMITTED) == [b"a", b"b", b"behind"]


async def test_a_queue_hands_out_what_is_committed_and_neither_markers_nor_aborted_records(broker):
    await made_topic(broker)
    first = await begun(broker, "one")
    second = await begun(broker, "two")
    await written(broker, first, b"kept")
    await written(broker, second, b"dropped")
    assert await take(broker) == []
    await committed(broker, first)
    await aborted(broker, second)
    taken = await take(broker)
    assert values(taken) == [b"kept"]
    await settle.acknowledge(broker, lease(*taken))
    await published(broker, Record(value=b"next"))
    taken = await take(broker)
    assert values(taken) == [b"next"]
    await settle.acknowledge(broker, lease(*taken))
    assert committed_offsets(broker, GROUP)[LOG] == broker.partition(TOPIC, 0).high_watermark


async def test_a_waiting_worker_is_woken_by_the_commit(broker):
    await made_topic(broker)
    ref = await begun(broker)
    await written(broker, ref, b"a")
    polling = asyncio.ensure_future(take(broker, wait_ms=10_000))
    assert await still_waiting(polling)
    await committed(broker, ref)
    assert values(await polling) == [b"a"]


async def test_a_repeated_commit_changes_nothing_and_cannot_be_turned_into_an_abort(broker):
    await made_topic(broker)
    ref = await begun(broker)
    await written(broker, ref, b"a")
    await asyncio.gather(committed(broker, ref), committed(broker, ref))
    await committed(broker, ref)
    with pytest.raises(TransactionEnded):
        await aborted(broker, ref)
    assert await seen(broker) == [b"a"]
    assert broker.partition(TOPIC, 0).high_watermark == 2


async def test_publishing_without_an_open_transaction_is_refused(broker):
    await made_topic(broker)
    ref = await begun(broker)
    await committed(broker, ref)
    with pytest.raises(TransactionEnded):
        await written(broker, ref, b"late")
    with pytest.raises(UnknownTransaction):
        await written(broker, ref._replace(number=99), b"never begun")
    with pytest.raises(NotTransactional):
        plain = broker.producer_ids.next()
        broker.producer_ids.apply(plain)
        await next_of(broker, plain)
    assert await seen(broker) == []


async def test_whoever_comes_back_under_an_id_fences_the_one_before_and_aborts_what_it_has_open(broker):
    await made_topic(broker)
    old = await begun(broker)
    await written(broker, old, b"old")
    new = await begun(broker)
    for attempt in (written(broker, old, b"more"), committed(broker, old), aborted(broker, old)):
        with pytest.raises(ProducerFenced):
            await attempt
    await written(broker, new, b"new")
    await committed(broker, new)
    assert await seen(broker) == [b"new"]


async def test_a_transaction_that_takes_too_long_is_aborted_and_holds_up_nobody_any_longer(broker, clock):
    await made_topic(broker)
    ref = await begun(broker, timeout_ms=1000)
    await written(broker, ref, b"slow")
    await published(broker, Record(value=b"behind"))
    clock.advance_ms(999)
    assert await abort_overdue(broker) == 0
    clock.advance_ms(1)
    assert await abort_overdue(broker) == 1
    assert await seen(broker) == [b"behind"]
    with pytest.raises(TransactionEnded, match="time was up"):
        await committed(broker, ref)


async def test_a_commit_after_the_deadline_is_refused_even_before_anybody_has_looked(broker, clock):
    await made_topic(broker)
    ref = await begun(broker, timeout_ms=1000)
    await written(broker, ref, b"slow")
    clock.advance_ms(1000)
    with pytest.raises(TransactionEnded):
        await committed(broker, ref)
    assert await seen(broker) == []


async def test_acknowledgements_count_when_the_transaction_commits(broker, clock):
    await made_topic(broker, b"job")
    (part,) = await take(broker, visibility_ms=1000)
    ref = await begun(broker)
    await written(broker, ref, b"result")
    await pledge(broker, ref, lease(part), "ack")
    clock.advance_ms(5000)
    await settle.return_overdue(broker)
    assert await take(broker) == []
    await committed(broker, ref)
    assert committed_offsets(broker, GROUP)[LOG] == 1
    assert values(await take(broker)) == [b"result"]


async def test_an_abort_leaves_the_record_to_its_lease(broker, clock):
    await made_topic(broker, b"job")
    (part,) = await take(broker, visibility_ms=30_000)
    ref = await begun(broker)
    await pledge(broker, ref, lease(part), "ack")
    await aborted(broker, ref)
    clock.advance_ms(29_999)
    await settle.return_overdue(broker)
    assert await take(broker) == []
    clock.advance_ms(1)
    await settle.return_overdue(broker)
    assert values(await take(broker)) == [b"job"]


async def test_a_record_is_acknowledged_in_one_transaction_only(broker):
    await made_topic(broker, b"job")
    (part,) = await take(broker)
    one, other = await begun(broker, "one"), await begun(broker, "other")
    await pledge(broker, one, lease(part), "ack")
    with pytest.raises(TransactionConflict):
        await pledge(broker, other, lease(part), "ack")
    await committed(broker, one)
    with pytest.raises(UnknownReceipt):
        await pledge(broker, other, lease(part), "ack")


async def test_a_commit_is_refused_when_the_lease_was_lost_and_nothing_of_it_counts(broker):
    await made_topic(broker, b"job")
    (part,) = await take(broker)
    ref = await begun(broker)
    await written(broker, ref, b"result")
    await pledge(broker, ref, lease(part), "ack")
    await settle.give_back(broker, lease(part))
    with pytest.raises(UnknownReceipt):
        await committed(broker, ref)
    assert await seen(broker) == [b"job"]
    await aborted(broker, ref)
    assert await seen(broker) == [b"job"]
    assert values(await take(broker)) == [b"job"]


async def test_a_rejected_record_is_a_dead_letter_when_the_transaction_commits(broker):
    await made_topic(broker, b"bad", b"worse")
    (part,) = await take(broker)
    one, other = await begun(broker, "one"), await begun(broker, "other")
    assert await pledge(broker, one, lease(part, 0), "reject", reason="broken") == 1
    await pledge(broker, other, lease(part, 1), "reject")
    assert await seen(broker, topic=DEAD) == []
    await committed(broker, one)
    await aborted(broker, other)
    assert await seen(broker, topic=DEAD) == [b"bad"]
    await settle.acknowledge(broker, lease(part, 1))
    assert await seen(broker, topic=DEAD) == [b"bad"]


async def test_a_record_given_back_fails_when_the_transaction_commits_and_dies_when_that_was_too_often(broker, clock):
    await made_topic(broker, b"job", max_attempts=2, retry_backoff_ms=1000)
    (part,) = await take(broker)
    ref = await begun(broker)
    assert await pledge(broker, ref, lease(part), "nack", pause_ms=500) == 0
    await committed(broker, ref)
    assert await take(broker) == []
    clock.advance_ms(500)
    (part,) = await take(broker)
    assert part.attempts[0].failures == 1
    ref = await begun(broker)
    assert await pledge(broker, ref, lease(part), "nack") == 1
    await committed(broker, ref)
    assert await seen(broker, topic=DEAD) == [b"job"]
    assert await take(broker) == []


async def test_offsets_of_a_group_move_when_the_transaction_commits(broker):
    await made_topic(broker, b"a", b"b")
    await commit_offsets(broker, GROUP, {LOG: OffsetAndMetadata(1)}, None, None)
    ref = await begun(broker)
    await add_offsets(broker, ref, GROUP, {LOG: OffsetAndMetadata(2)})
    assert committed_offsets(broker, GROUP)[LOG] == 1
    await committed(broker, ref)
    assert committed_offsets(broker, GROUP)[LOG] == 2


async def test_records_with_ids_are_refused_in_a_transaction(broker):
    await made_topic(broker)
    ref = await begun(broker)
    batch = bytearray(codec.encode([Record(value=b"a")]))
    with pytest.raises(InvalidRequest, match="ids"):
        await publish_and_wait(broker, PublishBatch(TOPIC, 0, batch, ids=["x"], transaction=ref))


async def test_a_restart_aborts_what_was_open(broker, restart):
    await made_topic(broker)
    ref = await begun(broker)
    await written(broker, ref, b"open")
    broker = await restart()
    with pytest.raises(TransactionEnded):
        await committed(broker, ref)
    assert await seen(broker) == []
    await abort_overdue(broker)
    await published(broker, Record(value=b"behind"))
    assert await seen(broker) == [b"behind"]


# --- parts


async def part_of(broker, key, *values, timeout_ms=60_000):
    began = await begin_part(broker, key, timeout_ms)
    ref = InTransaction(began.number, began.producer_id, began.epoch)
    await written(broker, ref, *values)
    return ref


async def test_parts_are_written_by_many_and_decided_by_one(broker, restart):
    await made_topic(broker)
    first, second, left_out = [await part_of(broker, "query/7", value) for value in (b"1", b"2", b"3")]
    for ref in (first, second, left_out):
        await prepare(broker, ref)
    broker = await restart()
    await abort_overdue(broker)
    assert await seen(broker) == []
    decided = await decide(broker, "query/7", [first.number, second.number])
    assert (decided.committed, decided.aborted) == ((first.number, second.number), (left_out.number,))
    assert await seen(broker) == [b"1", b"2"]
    broker = await restart()
    assert await decide(broker, "query/7", [second.number, first.number]) == decided
    with pytest.raises(AlreadyDecided):
        await decide(broker, "query/7", [left_out.number])
    with pytest.raises(AlreadyDecided):
        await begin_part(broker, "query/7", 1000)
    assert await seen(broker) == [b"1", b"2"]


async def test_a_part_that_is_not_prepared_cannot_be_committed_and_changes_nothing(broker):
    await made_topic(broker)
    ready, unready = await part_of(broker, "k", b"1"), await part_of(broker, "k", b"2")
    await prepare(broker, ready)
    with pytest.raises(TransactionConflict, match="not prepared"):
        await decide(broker, "k", [ready.number, unready.number])
    assert await seen(broker) == []
    await prepare(broker, unready)
    await decide(broker, "k", [ready.number, unready.number])
    assert await seen(broker) == [b"1", b"2"]


async def test_forgotten_parts_expire(broker, clock):
    await made_topic(broker)
    ref = await part_of(broker, "k", b"1", timeout_ms=1000)
    await prepare(broker, ref)
    clock.advance_ms(1000)
    assert await abort_overdue(broker) == 1
    with pytest.raises(TransactionEnded):
        await decide(broker, "k", [ref.number])
    assert await seen(broker) == []


async def test_two_decisions_at_the_same_time_are_one(broker):
    await made_topic(broker)
    ref = await part_of(broker, "k", b"1")
    await prepare(broker, ref)
    one, other = await asyncio.gather(decide(broker, "k", [ref.number]), decide(broker, "k", [ref.number]))
    assert one == other
    assert await seen(broker) == [b"1"]


async def test_a_transactional_id_is_checked(broker):
    with pytest.raises(InvalidRequest):
        await enlist(broker, "", 1000)
    with pytest.raises(InvalidRequest):
        await enlist(broker, "shop", 15 * 60 * 1000 + 1)


async def test_a_commit_goes_on_when_its_caller_goes_away(broker):
    await made_topic(broker, b"job")
    (part,) = await take(broker)
    ref = await begun(broker)
    await written(broker, ref, b"result")
    await pledge(broker, ref, lease(part), "ack")
    committing = asyncio.ensure_future(committed(broker, ref))
    await asyncio.sleep(0)
    committing.cancel()
    with pytest.raises(TransactionEnded):
        await aborted(broker, ref)
    assert await seen(broker) == [b"job", b"result"]
    assert committed_offsets(broker, GROUP)[LOG] == 1


async def test_delayed_records_of_a_transaction_are_nobodys_until_it_commits_and_cancelled_if_it_aborts(broker, clock):
    await made_topic(broker)
    refs = [await begun(broker, name) for name in ("kept", "dropped")]
    due = clock.now_ns() + 1_000_000_000
    for ref in refs:
        batch = bytearray(codec.encode([Record(value=b"later")]))
        await publish_and_wait(broker, PublishBatch(TOPIC, 0, batch, dues=[due], transaction=ref))
    assert list_delays(broker, TOPIC) == []
    with pytest.raises(UnknownDelay):
        await cancel_delay(broker, TOPIC, 0, 0)
    (part,) = await cancel_delays(broker, TOPIC, {0: [0, 1]})
    assert part.cancelled == []
    await committed(broker, refs[0])
    await aborted(broker, refs[1])
    assert [one.offset for one in list_delays(broker, TOPIC)] == [0]
    (stats,) = delay_stats(broker)
    assert (stats.pending, stats.cancelled) == (1, 1)
    assert await seen(broker) == []
    clock.advance_ms(1000)
    await fire_due(broker)
    assert await seen(broker) == [b"later"]


async def test_an_id_is_not_locked_out_when_its_producer_was_renewed_without_it(broker):
    ref = await begun(broker)
    await init_producer(broker, ref.producer_id, ref.epoch)
    with pytest.raises(ProducerFenced):
        await committed(broker, ref)
    assert (await begun(broker)).epoch > ref.epoch + 1
