"""Takes of a backlog that are leased without a task: what they get is what they would get in the usual way."""

import asyncio

import pytest

from goqueue import codec
from goqueue.engine.groups import delete_group, pause_group
from goqueue.engine.poll import Poll, poll_at_once
from goqueue.engine.queue import settle
from goqueue.engine.queue.take import MOST_IN_FLIGHT
from goqueue.engine.topics import delete_topic
from goqueue.errors import DiskFull, GoQueueError, InvalidRequest
from goqueue.model.expiry import EXPIRES_HEADER
from goqueue.model.record import Record
from tests.unit.engine.queue_scene import GROUP, LOG, TOPIC, lease, made_topic, published, steps, take, values
from tests.unit.engine.test_acks_together import written_events
from tests.unit.engine.test_queue_lane_runs import mixed

COUNT = 1000
NOT_AT_ONCE = object()


async def at_once(broker, limit=100, *, consumer="worker", group=GROUP, is_there=True, **options):
    """What is answered; NOT_AT_ONCE where it has to be looked for in the usual way from the beginning."""
    reply = asyncio.get_running_loop().create_future()

    def answer(result):
        reply.set_result(result)
        return is_there

    wanted = Poll(group, consumer, None, (TOPIC,), limit, wait_ms=0, **options)
    return await reply if poll_at_once(broker, wanted, answer) else NOT_AT_ONCE


async def begun(broker, *records, groups=(GROUP,)):
    """A topic from which somebody has taken already, and these records behind that."""
    await made_topic(broker, b"first")
    for group in groups:
        await settle.acknowledge(broker, lease((await take(broker, group=group))[0], group=group))
    await published(broker, *records)


@pytest.fixture
async def broker(open_broker):
    async with open_broker() as broker:
        await begun(broker, *(Record(value=b"%d" % number) for number in range(COUNT)))
        yield broker


# What they get.


async def test_takes_that_come_together_are_written_as_one_entry(broker, monkeypatch):
    entries = written_events(broker, monkeypatch)
    found = await asyncio.gather(*(at_once(broker, consumer=f"worker-{number}") for number in range(5)))
    assert len(entries) == 1
    assert values(found) == [b"%d" % number for number in range(500)]
    assert len({part.grant for part in found}) == 5
    state = broker.queues.get(GROUP, LOG)
    assert (state.delivery.leased_count, state.delivery.in_flight("worker-3")) == (500, 100)


async def test_acknowledgements_and_takes_do_not_wait_for_each_other(broker):
    part = await at_once(broker)
    state = broker.queues.get(GROUP, LOG)
    _, following = await asyncio.gather(settle.acknowledge(broker, lease(part)), at_once(broker))
    assert values([following]) == [b"%d" % number for number in range(100, 200)]
    assert (state.delivery.floor, state.delivery.leased_count) == (101, 100)


async def test_leases_given_at_once_are_remembered_by_a_restart(open_broker):
    async with open_broker() as broker:
        await begun(broker, *(Record(value=b"%d" % number) for number in range(300)))
        first, second = await asyncio.gather(at_once(broker), at_once(broker))
        await settle.acknowledge(broker, lease(second))
    async with open_broker() as broker:
        assert values(await take(broker, 1000)) == [b"%d" % number for number in range(200, 300)]
        await settle.acknowledge(broker, lease(first))
        assert broker.queues.get(GROUP, LOG).delivery.floor == 201


@pytest.mark.parametrize("weights", [(1, 1, 1, 1, 1), (50, 20, 15, 10, 5), (0, 0, 1, 0, 0)])
async def test_lanes_have_the_same_share_as_in_the_usual_way(open_broker, weights):
    async with open_broker() as broker:
        await begun(broker, *mixed(4000, weights=weights), groups=(GROUP, "usual"))
        for _ in range(10):
            usual = await take(broker, group="usual")
            part = await at_once(broker)
            found = [part] if part not in (None, NOT_AT_ONCE) else await take(broker)
            assert values(found) == values(usual)
            await settle.acknowledge(broker, lease(usual[0], group="usual"))
            await settle.acknowledge(broker, lease(found[0]))


async def test_all_of_several_lanes_comes_once_to_workers_that_ask_together(open_broker):
    async with open_broker() as broker:
        await begun(broker, *mixed(4000))
        got = []
        while len(got) < 4000:
            parts = [part for part in await asyncio.gather(*(at_once(broker) for _ in range(4))) if part]
            parts = [part for part in parts if part is not NOT_AT_ONCE] or await take(broker)
            got += [record.offset for part in parts for record in codec.decode(part.records)]
            await asyncio.gather(*(settle.acknowledge(broker, lease(part)) for part in parts))
        assert sorted(got) == list(range(1, 4001))


# What they do not get.


async def test_what_cannot_be_written_is_nobodys(open_broker, monkeypatch):
    async with open_broker() as broker:
        await begun(broker, *(Record(value=b"%d" % number, priority=number // 400) for number in range(2000)))
        with monkeypatch.context() as patched:
            patched.setattr(broker.storage, "write", lambda entries: [DiskFull("no room")] * len(entries))
            refused = await asyncio.gather(*(at_once(broker, 200, consumer=f"{number}") for number in range(3)))
        assert [type(one) for one in refused] == [DiskFull] * 3
        state = broker.queues.get(GROUP, LOG)
        assert (state.delivery.leased_count, state.turn.locked()) == (0, False)
        got = []
        while parts := await take(broker, 200):
            got += [record.offset for part in parts for record in codec.decode(part.records)]
            await settle.acknowledge(broker, lease(parts[0]))
        assert sorted(got) == list(range(1, 2001))


async def test_what_was_leased_to_a_client_that_went_away_is_there_for_others(broker):
    gone = await at_once(broker, consumer="gone", is_there=False)
    await broker.queues.drain()
    (part,) = await take(broker, consumer="other")
    assert values([part]) == values([gone])
    assert {one[:2] for one in part.attempts.values()} == {(2, 0)}


async def test_whoever_wants_more_than_there_is_has_to_look_in_the_usual_way(broker):
    most, more = await asyncio.gather(at_once(broker, 900), at_once(broker, 200, consumer="other"))
    assert (len(values([most])), more) == (900, NOT_AT_ONCE)
    assert await at_once(broker, 200, consumer="other") is NOT_AT_ONCE
    assert len(values(await take(broker, 200, consumer="other"))) == 100


async def test_whoever_has_as_much_as_it_may_have_gets_no_more(broker):
    await at_once(broker, MOST_IN_FLIGHT - 50)
    assert await at_once(broker, 51) is NOT_AT_ONCE
    assert len(values([await at_once(broker, 50)])) == 50


async def test_what_may_have_expired_is_looked_at_in_the_usual_way(open_broker):
    async with open_broker() as broker:
        late = Record(value=b"late", headers=((EXPIRES_HEADER, b"1"),))
        await begun(broker, late, *(Record(value=b"in time") for _ in range(99)))
        assert await at_once(broker) is None
        assert b"late" not in values(await take(broker))


async def test_a_group_that_is_paused_gets_nothing(broker):
    await pause_group(broker, GROUP, paused=True)
    assert await at_once(broker) is NOT_AT_ONCE
    assert await take(broker) == []


async def test_a_group_that_is_paused_while_a_take_waits_for_its_turn_gets_nothing(broker):
    state = broker.queues.get(GROUP, LOG)
    await state.turn.acquire()
    waiting = asyncio.ensure_future(at_once(broker))
    await steps(1)
    await pause_group(broker, GROUP, paused=True)
    state.turn.release()
    assert await waiting is None


@pytest.mark.parametrize("gone", ["group", "topic", "topic and back", "group and back"])
async def test_a_take_that_waits_for_its_turn_while_group_or_topic_are_deleted_is_for_the_usual_way(broker, gone):
    state = broker.queues.get(GROUP, LOG)
    await state.turn.acquire()
    waiting = asyncio.ensure_future(at_once(broker))
    await steps(1)
    if gone.startswith("group"):
        await delete_group(broker, GROUP)
    else:
        await delete_topic(broker, TOPIC)
    if gone == "topic and back":
        await made_topic(broker, *(b"new" for _ in range(200)))
    if gone.endswith("back"):
        await take(broker, 1)
    state.turn.release()
    assert await waiting is None
    assert not state.delivery.leased_count
    assert not state.turn.locked()


async def test_a_failure_of_the_broker_itself_is_told_and_holds_up_nobody(broker, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("goqueue.engine.queue.at_once.at_hand", broken)
        assert isinstance(await at_once(broker), ZeroDivisionError)
    assert len(values([await at_once(broker)])) == 100


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": 1001}, {"visibility_ms": 0}, {"consumer": ""}])
async def test_a_wrong_request_is_refused(broker, wrong):
    with pytest.raises(InvalidRequest):
        await at_once(broker, **wrong)


async def test_a_topic_and_a_group_that_nobody_has_taken_from_yet_are_for_the_usual_way(broker):
    assert await at_once(broker, group="unheard") is NOT_AT_ONCE
    with pytest.raises(GoQueueError):
        await take(broker, topics=("missing",))
