"""Polls that are answered through a callback: they get what a poll in a task gets, and wait without one."""

import asyncio

import pytest

from goqueue import codec
from goqueue.engine.groups import delete_group, pause_group
from goqueue.engine.pending_poll import PendingPoll
from goqueue.engine.poll import Poll
from goqueue.engine.queue import settle
from goqueue.engine.queue.take import MOST_IN_FLIGHT
from goqueue.engine.topics import delete_topic
from goqueue.errors import DiskFull, InvalidRequest, UnknownTopic
from goqueue.model.expiry import EXPIRES_HEADER
from goqueue.model.record import Record
from tests.unit.engine.queue_scene import GROUP, LOG, TOPIC, lease, made_topic, published, steps, take, values
from tests.unit.engine.test_acks_together import written_events
from tests.unit.engine.test_queue_lane_runs import mixed

COUNT = 1000


class Client:
    """One poll and its answer."""

    def __init__(self, broker, limit=100, *, consumer="worker", group=GROUP, wait_ms=0, is_there=True, **options):
        self.reply = asyncio.get_running_loop().create_future()
        self.has_ended = False
        self._is_there = is_there
        wanted = Poll(group, consumer, None, (TOPIC,), limit, wait_ms=wait_ms, **options)
        self.poll = PendingPoll(broker, wanted, self._answer, self._end)
        self.poll.start()

    def _answer(self, result):
        if isinstance(result, Exception):
            self.reply.set_exception(result)
        else:
            self.reply.set_result(result)
        return self._is_there

    def _end(self, _):
        assert not self.has_ended
        self.has_ended = True


async def polled(broker, limit=100, **options):
    """Of one partition at most, so the only part, or None."""
    found = await Client(broker, limit, **options).reply
    assert len(found) <= 1
    return found[0] if found else None


def count_tasks(monkeypatch):
    """The names of what is run as a task from now on."""
    loop = asyncio.get_running_loop()
    made = []
    create = loop.create_task

    def noted(work, **named):
        made.append(work.__qualname__)
        return create(work, **named)

    monkeypatch.setattr(loop, "create_task", noted)
    return made


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
    found = await asyncio.gather(*(polled(broker, consumer=f"worker-{number}") for number in range(5)))
    assert len(entries) == 1
    assert values(found) == [b"%d" % number for number in range(500)]
    assert len({part.grant for part in found}) == 5
    state = broker.queues.get(GROUP, LOG)
    assert (state.delivery.leased_count, state.delivery.in_flight("worker-3")) == (500, 100)


async def test_acknowledgements_and_takes_do_not_wait_for_each_other(broker):
    part = await polled(broker)
    state = broker.queues.get(GROUP, LOG)
    _, following = await asyncio.gather(settle.acknowledge(broker, lease(part)), polled(broker))
    assert values([following]) == [b"%d" % number for number in range(100, 200)]
    assert (state.delivery.floor, state.delivery.leased_count) == (101, 100)


async def test_leases_given_at_once_are_remembered_by_a_restart(open_broker):
    async with open_broker() as broker:
        await begun(broker, *(Record(value=b"%d" % number) for number in range(300)))
        first, second = await asyncio.gather(polled(broker), polled(broker))
        await settle.acknowledge(broker, lease(second))
    async with open_broker() as broker:
        assert values(await take(broker, 1000)) == [b"%d" % number for number in range(200, 300)]
        await settle.acknowledge(broker, lease(first))
        assert broker.queues.get(GROUP, LOG).delivery.floor == 201


@pytest.mark.parametrize("weights", [(1, 1, 1, 1, 1), (50, 20, 15, 10, 5), (0, 0, 1, 0, 0)])
async def test_lanes_have_the_same_share_as_in_a_task(open_broker, weights):
    async with open_broker() as broker:
        await begun(broker, *mixed(4000, weights=weights), groups=(GROUP, "usual"))
        for _ in range(10):
            usual = await take(broker, group="usual")
            part = await polled(broker)
            assert values([part]) == values(usual)
            await settle.acknowledge(broker, lease(usual[0], group="usual"))
            await settle.acknowledge(broker, lease(part))


async def test_all_of_several_lanes_comes_once_to_workers_that_ask_together(open_broker):
    async with open_broker() as broker:
        await begun(broker, *mixed(4000))
        got = []
        while len(got) < 4000:
            parts = [part for part in await asyncio.gather(*(polled(broker) for _ in range(4))) if part]
            assert parts
            got += [record.offset for part in parts for record in codec.decode(part.records)]
            await asyncio.gather(*(settle.acknowledge(broker, lease(part)) for part in parts))
        assert sorted(got) == list(range(1, 4001))


async def test_few_records_of_one_partition_are_leased_without_a_task(open_broker, monkeypatch):
    async with open_broker() as broker:
        await begun(broker, Record(value=b"one"), Record(value=b"two"))
        made = count_tasks(monkeypatch)
        assert values([await polled(broker)]) == [b"one", b"two"]
        assert await polled(broker) is None
        assert made == []


async def test_few_records_of_several_partitions_come_in_one_answer(open_broker):
    async with open_broker() as broker:
        await made_topic(broker, b"first", partitions=3)
        assert len(await take(broker)) == 1
        await published(broker, Record(value=b"one"), partition=1)
        await published(broker, Record(value=b"two"), partition=2)
        found = await Client(broker).reply
        assert sorted(values(found)) == [b"one", b"two"]


# Waiting.


async def test_a_worker_that_waits_is_leased_what_comes_without_a_task_and_with_one_look(open_broker, monkeypatch):
    async with open_broker() as broker:
        await begun(broker)
        waiting = Client(broker, wait_ms=10_000)
        await steps(3)
        made = count_tasks(monkeypatch)
        looks = []
        has_ready = type(broker.queues.get(GROUP, LOG).delivery).has_ready
        monkeypatch.setattr(
            type(broker.queues.get(GROUP, LOG).delivery),
            "has_ready",
            lambda self, end, *, now: looks.append(end) or has_ready(self, end, now=now),
        )
        await published(broker, Record(value=b"it"))
        assert values(await waiting.reply) == [b"it"]
        # Whether there is anything, and whether there is as much as the worker would have.
        assert (made, len(looks)) == ([], 2)


async def test_a_record_wakes_one_of_several_workers_and_the_next_record_the_next_one(open_broker):
    async with open_broker() as broker:
        await begun(broker)
        one, two = (Client(broker, wait_ms=10_000, consumer=name) for name in ("one", "two"))
        await published(broker, Record(value=b"1"))
        assert values(await one.reply) == [b"1"]
        assert not two.reply.done()
        await published(broker, Record(value=b"2"))
        assert values(await two.reply) == [b"2"]


async def test_what_one_worker_leaves_goes_to_the_next_that_waits(open_broker):
    async with open_broker() as broker:
        await begun(broker)
        one, two = (Client(broker, 2, wait_ms=10_000, consumer=name) for name in ("one", "two"))
        await published(broker, *(Record(value=b"%d" % number) for number in range(3)))
        found = values(await one.reply) + values(await two.reply)
        assert sorted(found) == [b"0", b"1", b"2"]


async def test_what_a_worker_leaves_of_several_partitions_goes_to_the_next_that_waits(open_broker):
    async with open_broker() as broker:
        await made_topic(broker, b"first", partitions=3)
        assert len(await take(broker)) == 1
        one, two = (Client(broker, 2, wait_ms=10_000, consumer=name) for name in ("one", "two"))
        batches = (published(broker, Record(value=b"%d" % number), partition=number) for number in range(3))
        await asyncio.gather(*batches)
        found = values(await one.reply) + values(await two.reply)
        assert sorted(found) == [b"0", b"1", b"2"]


async def test_a_worker_that_waits_gets_what_was_nacked_after_its_rest(open_broker, clock):
    async with open_broker() as broker:
        await begun(broker, Record(value=b"again"))
        part = await polled(broker)
        waiting = Client(broker, wait_ms=10_000, consumer="other")
        await settle.nack(broker, lease(part), pause_ms=20)
        await steps(5)
        assert not waiting.reply.done()
        clock.advance_ms(20)
        assert values(await waiting.reply) == [b"again"]


async def test_a_worker_whose_time_is_up_gets_nothing(open_broker):
    async with open_broker() as broker:
        await begun(broker)
        waiting = Client(broker, wait_ms=20)
        assert await waiting.reply == []
        assert waiting.has_ended


async def test_a_worker_that_is_told_to_end_its_wait_gets_nothing(open_broker):
    async with open_broker() as broker:
        await begun(broker)
        waiting = Client(broker, wait_ms=10_000)
        waiting.poll.end_wait()
        assert waiting.reply.result() == []
        await published(broker, Record(value=b"later"))
        assert values([await polled(broker)]) == [b"later"]


@pytest.mark.parametrize("was_called", [False, True])
async def test_what_a_worker_was_called_for_that_went_away_goes_to_the_next(open_broker, was_called):
    async with open_broker() as broker:
        await begun(broker)
        gone, other = (Client(broker, wait_ms=10_000, consumer=name) for name in ("gone", "other"))
        if was_called:
            await published(broker, Record(value=b"it"))
            gone.poll.cancel()
        else:
            gone.poll.cancel()
            await published(broker, Record(value=b"it"))
        assert values(await other.reply) == [b"it"]
        assert gone.has_ended
        assert not gone.reply.done()
        assert not broker.queues.is_awaited(GROUP)


async def test_a_group_that_is_paused_and_resumed_gets_what_came_meanwhile(open_broker):
    async with open_broker() as broker:
        await begun(broker)
        waiting = Client(broker, wait_ms=10_000)
        await pause_group(broker, GROUP, paused=True)
        await published(broker, Record(value=b"it"))
        await steps(5)
        assert not waiting.reply.done()
        await pause_group(broker, GROUP, paused=False)
        assert values(await waiting.reply) == [b"it"]


async def test_a_worker_that_waits_is_told_when_its_topic_is_deleted(open_broker):
    async with open_broker() as broker:
        await begun(broker)
        waiting = Client(broker, wait_ms=10_000)
        await delete_topic(broker, TOPIC)
        with pytest.raises(UnknownTopic):
            await waiting.reply


# What they do not get.


async def test_what_cannot_be_written_is_nobodys(open_broker, monkeypatch):
    async with open_broker() as broker:
        await begun(broker, *(Record(value=b"%d" % number, priority=number // 400) for number in range(2000)))
        with monkeypatch.context() as patched:
            patched.setattr(broker.storage, "write", lambda entries: [DiskFull("no room")] * len(entries))
            polls = (polled(broker, 200, consumer=f"{number}") for number in range(3))
            refused = await asyncio.gather(*polls, return_exceptions=True)
        assert [type(one) for one in refused] == [DiskFull] * 3
        state = broker.queues.get(GROUP, LOG)
        assert (state.delivery.leased_count, state.lock.locked()) == (0, False)
        got = []
        while parts := await take(broker, 200):
            got += [record.offset for part in parts for record in codec.decode(part.records)]
            await settle.acknowledge(broker, lease(parts[0]))
        assert sorted(got) == list(range(1, 2001))


async def test_what_was_leased_to_a_client_that_went_away_is_there_for_others(broker):
    gone = await polled(broker, consumer="gone", is_there=False)
    await broker.queues.drain()
    (part,) = await take(broker, consumer="other")
    assert values([part]) == values([gone])
    assert {one[:2] for one in part.attempts.values()} == {(2, 0)}


async def test_a_worker_that_wants_more_than_others_leave_gets_the_rest(broker):
    most, rest = await asyncio.gather(polled(broker, 900), polled(broker, 200, consumer="other"))
    assert (len(values([most])), len(values([rest]))) == (900, 100)


async def test_a_worker_that_has_as_much_as_it_may_have_gets_no_more(broker):
    await polled(broker, MOST_IN_FLIGHT - 50)
    assert len(values([await polled(broker, 100)])) == 50
    await published(broker, Record(value=b"more"))
    assert await polled(broker, 1) is None
    assert len(values([await polled(broker, 1, consumer="other")])) == 1


async def test_what_has_expired_is_passed_over(open_broker):
    async with open_broker() as broker:
        late = Record(value=b"late", headers=((EXPIRES_HEADER, b"1"),))
        await begun(broker, late, *(Record(value=b"in time") for _ in range(99)))
        assert values([await polled(broker)]) == [b"in time"] * 99


async def test_a_group_that_is_paused_gets_nothing(broker):
    await pause_group(broker, GROUP, paused=True)
    assert await polled(broker) is None


async def test_a_group_that_is_paused_while_a_poll_waits_for_its_turn_gets_nothing(broker):
    state = broker.queues.get(GROUP, LOG)
    await state.lock.acquire()
    waiting = Client(broker)
    await steps(1)
    await pause_group(broker, GROUP, paused=True)
    state.lock.release()
    assert await waiting.reply == []


@pytest.mark.parametrize("gone", ["group", "topic", "topic and back", "group and back"])
async def test_a_poll_that_waits_for_its_turn_while_group_or_topic_are_deleted_takes_nothing_of_the_old_one(
    broker, gone
):
    state = broker.queues.get(GROUP, LOG)
    await state.lock.acquire()
    waiting = Client(broker)
    await steps(1)
    if gone.startswith("group"):
        await delete_group(broker, GROUP)
    else:
        await delete_topic(broker, TOPIC)
    if gone == "topic and back":
        await made_topic(broker, *(b"new" for _ in range(200)))
    if gone.endswith("back"):
        await take(broker, 1)
    state.lock.release()
    if gone == "topic":
        with pytest.raises(UnknownTopic):
            await waiting.reply
    else:
        # Of what is there now it gets what any new poll would.
        assert len(values(await waiting.reply)) == 100
    assert not state.delivery.leased_count
    assert not state.lock.locked()


async def test_a_failure_of_the_broker_itself_is_told_and_holds_up_nobody(broker, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("goqueue.engine.queue.at_once.at_hand", broken)
        with pytest.raises(ZeroDivisionError):
            await polled(broker)
    assert len(values([await polled(broker)])) == 100


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": 1001}, {"visibility_ms": 0}, {"consumer": ""}])
async def test_a_wrong_request_is_refused(broker, wrong):
    with pytest.raises(InvalidRequest):
        await polled(broker, **wrong)


async def test_a_group_that_is_new_begins_with_the_first_record(broker):
    assert values([await polled(broker, 2, group="new")]) == [b"first", b"0"]
