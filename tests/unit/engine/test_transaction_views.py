"""What operators see of transactions, and what they can do about them."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.engine import topics
from goqueue.engine.queue import settle
from goqueue.engine.transactions.beginning import add_offsets, begin_part, enlist, prepare
from goqueue.engine.transactions.ending import abort_overdue
from goqueue.engine.transactions.joining import InTransaction
from goqueue.engine.transactions.pledging import pledge
from goqueue.engine.transactions.views import abort_as_operator, describe, list_live, transaction_stats
from goqueue.errors import InvalidRequest, TransactionEnded, UnknownReceipt, UnknownTransaction
from goqueue.model.record import Record
from goqueue.model.transaction_views import HeldBack, PlannedOffset, PledgedPart, TopicHeldBack
from tests.unit.engine.queue_scene import GROUP, LOG, TOPIC, lease, made_topic, published, take, values
from tests.unit.engine.transaction_scene import aborted, begun, committed, seen, written


@pytest.fixture
async def stack():
    async with AsyncExitStack() as opened:
        yield opened


@pytest.fixture
async def broker(open_broker, stack):
    return await stack.enter_async_context(open_broker())


def numbers(page):
    return [one.number for one in page.transactions]


async def test_a_live_transaction_is_shown_with_everything_that_belongs_to_it(broker, clock):
    await made_topic(broker, b"1", b"2", b"3", partitions=2)
    (part,) = await take(broker)
    ref = await begun(broker, timeout_ms=10_000)
    await written(broker, ref, b"a", b"b")
    await published(broker, Record(value=b"between"))
    await written(broker, ref, b"c")
    await written(broker, ref, b"d", partition=1)
    # One by one, as workers do.
    await pledge(broker, ref, lease(part, 0), "ack")
    await pledge(broker, ref, lease(part, 1), "ack")
    await pledge(broker, ref, lease(part, 2), "nack")
    await add_offsets(broker, ref, "readers", {LOG: OffsetAndMetadata(2)})
    clock.advance_ms(1500)
    view = describe(broker, ref.number)
    assert list_live(broker).transactions == (view,)
    assert (view.number, view.state, view.producer_id, view.epoch) == (ref.number, "open", ref.producer_id, ref.epoch)
    assert (view.transactional_id, view.key, view.age_ms, view.timeout_ms) == ("shop", "", 1500, 10_000)
    assert view.deadline_ns - view.began_ns == 10_000_000_000
    assert view.partitions == (HeldBack(TOPIC, 0, 3, 3), HeldBack(TOPIC, 1, 1, 0))
    assert view.pledges == (PledgedPart(GROUP, TOPIC, 0, "ack", 2), PledgedPart(GROUP, TOPIC, 0, "nack", 1))
    assert view.offsets == (PlannedOffset("readers", TOPIC, 0, 2),)
    assert (view.records, view.pledged, view.is_live) == (4, 3, True)


async def test_one_that_has_ended_is_shown_with_how_and_why(broker, clock):
    await made_topic(broker)
    kept, dropped, slow = [await begun(broker, name, timeout_ms=1000) for name in ("kept", "dropped", "slow")]
    await committed(broker, kept)
    await aborted(broker, dropped)
    clock.advance_ms(1000)
    await abort_overdue(broker)
    shown = [describe(broker, ref.number) for ref in (kept, dropped, slow)]
    assert [(one.state, one.why) for one in shown] == [
        ("committed", ""),
        ("aborted", "its producer aborted it"),
        ("aborted", "its time was up"),
    ]
    assert not any(one.is_live for one in shown)
    assert list_live(broker).transactions == ()
    for number in (0, 4, 1 << 60, -1):
        with pytest.raises(UnknownTransaction):
            describe(broker, number)


async def test_a_transaction_hangs_from_the_moment_that_half_of_its_time_is_over(broker, clock):
    slow = await begun(broker, "slow", timeout_ms=1000)
    await begun(broker, "quick", timeout_ms=60_000)
    clock.advance_ms(500)
    assert numbers(list_live(broker, hanging=True)) == []
    clock.advance_ms(1)
    assert numbers(list_live(broker, hanging=True)) == [slow.number]
    assert describe(broker, slow.number).hanging
    assert transaction_stats(broker).hanging == 1


async def test_a_list_goes_on_where_the_page_before_ended(broker):
    made = [(await begun(broker, f"shop-{number}")).number for number in range(5)]
    found, after = [], 0
    while after is not None:
        page = list_live(broker, after=after, limit=2)
        assert len(page.transactions) <= 2
        assert page.live == 5
        found += numbers(page)
        after = page.after
    assert found == made
    assert list_live(broker, limit=5).after is None
    for limit in (0, 1001):
        with pytest.raises(InvalidRequest):
            list_live(broker, limit=limit)


async def test_a_topic_that_is_gone_holds_nothing_back(broker):
    await made_topic(broker)
    ref = await begun(broker)
    await written(broker, ref, b"a")
    await topics.delete_topic(broker, TOPIC)
    assert describe(broker, ref.number).partitions == (HeldBack(TOPIC, 0, 0, None),)
    assert transaction_stats(broker).topics == ()
    assert (await abort_as_operator(broker, ref.number)).state == "aborted"


async def test_what_a_restart_left_open_is_ending(broker, open_broker, stack):
    await made_topic(broker)
    ref = await begun(broker)
    await written(broker, ref, b"a")
    await stack.aclose()
    broker = await stack.enter_async_context(open_broker())
    assert describe(broker, ref.number).state == "ending"
    await abort_overdue(broker)
    assert describe(broker, ref.number).why == "the broker was stopped before it ended"


async def test_an_operators_abort_lets_readers_and_leases_go(broker, clock):
    await made_topic(broker, b"job")
    (part,) = await take(broker, visibility_ms=1000)
    ref = await begun(broker)
    await written(broker, ref, b"result")
    await pledge(broker, ref, lease(part), "ack")
    await published(broker, Record(value=b"behind"))
    assert await seen(broker) == [b"job"]
    view = await abort_as_operator(broker, ref.number)
    assert (view.state, view.why) == ("aborted", "an operator aborted it")
    assert await abort_as_operator(broker, ref.number) == view
    assert await seen(broker) == [b"job", b"behind"]
    with pytest.raises(TransactionEnded, match="operator"):
        await written(broker, ref, b"more")
    with pytest.raises(TransactionEnded, match="operator"):
        await committed(broker, ref)
    clock.advance_ms(1000)
    await settle.return_overdue(broker)
    assert values(await take(broker)) == [b"job", b"behind"]
    with pytest.raises(UnknownReceipt):
        await settle.acknowledge(broker, lease(part))


async def test_a_part_that_is_prepared_can_be_aborted_too(broker):
    began = await begin_part(broker, "query/7", 60_000)
    await prepare(broker, InTransaction(began.number, began.producer_id, began.epoch))
    view = describe(broker, began.number)
    assert (view.key, view.state) == ("query/7", "prepared")
    assert (await abort_as_operator(broker, began.number)).state == "aborted"


async def test_of_a_commit_and_an_operators_abort_at_the_same_time_one_counts_and_both_are_told_which(broker):
    await made_topic(broker)
    for turn in range(20):
        ref = await begun(broker)
        await written(broker, ref, b"%d" % turn)
        attempts = [committed(broker, ref), abort_as_operator(broker, ref.number)]
        if turn % 2:
            attempts.reverse()
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
        refusals = [one for one in outcomes if isinstance(one, BaseException)]
        assert [type(one) for one in refusals] == [TransactionEnded], outcomes
        is_committed = describe(broker, ref.number).state == "committed"
        assert (b"%d" % turn in await seen(broker)) is is_committed
        assert is_committed is (turn % 2 == 0)


async def test_the_statistics_count_what_is_live_what_ended_and_what_is_held_back(broker, clock):
    await made_topic(broker, partitions=2)
    stats = transaction_stats(broker)
    assert (stats.open, stats.oldest, stats.oldest_age_ms, stats.topics) == (0, None, None, ())
    await aborted(broker, await _wrote(broker, "dropped", b"x", b"y"))
    await committed(broker, await _wrote(broker, "kept", b"k"))
    assert transaction_stats(broker).topics == (TopicHeldBack(TOPIC, 0, 0, 0, 2),)
    first = await _wrote(broker, "first", b"a")
    await written(broker, first, b"c", partition=1)
    clock.advance_ms(20)
    await _wrote(broker, "second", b"b")
    await enlist(broker, "idle", 1000)
    stats = transaction_stats(broker)
    assert (stats.open, stats.prepared, stats.committed, stats.aborted, stats.timed_out) == (2, 0, 1, 1, 0)
    assert (stats.oldest, stats.oldest_age_ms) == (first.number, 20)
    assert stats.topics == (TopicHeldBack(TOPIC, 3, 2, 2, 2),)


async def _wrote(broker, transactional_id, *values):
    ref = await begun(broker, transactional_id)
    await written(broker, ref, *values)
    return ref
