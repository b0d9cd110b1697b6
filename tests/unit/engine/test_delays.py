"""Delayed records in a broker whose clock is moved by hand."""

import asyncio
import threading
from functools import partial

import pytest

from goqueue import codec
from goqueue.core.delay.states import DelayState
from goqueue.engine import delays
from goqueue.engine.browse import Selection, browse, read_page
from goqueue.engine.fetch import FetchFrom, fetch
from goqueue.engine.firing import TOGETHER_MS, fire_due
from goqueue.engine.group_commit import SYNC_HERE_BYTES
from goqueue.engine.maintenance import Maintenance, MaintenanceSettings
from goqueue.engine.placement import Placement
from goqueue.engine.poll import Poll, poll
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.publish_records import Outgoing, publish_records
from goqueue.engine.queue.settle import Lease, acknowledge, nack
from goqueue.engine.timers import TimedJob
from goqueue.engine.topics import create_topic, delete_topic
from goqueue.errors import (
    DelayIsOver,
    GoQueueError,
    InvalidRecord,
    InvalidRequest,
    StorageBusy,
    UnknownDelay,
    UnknownTopic,
)
from goqueue.model.record import Record
from goqueue.model.topic import Cleanup, TopicConfig, topic_name

TOPIC = topic_name("orders")
NS_PER_MS = 1_000_000
SECOND = 1000
FOREVER = TopicConfig(retention_ms=None)


class Reports:
    def __getattr__(self, name):
        return lambda *arguments: None


class Scene:
    """One topic with one partition, and short words for what is done to it."""

    def __init__(self, broker, clock):
        self.broker, self.clock = broker, clock
        self.placement = Placement()

    async def publish(self, *values, delay_ms=0, **more):
        due = self.clock.now_ns() + delay_ms * NS_PER_MS if delay_ms else 0
        records = [Outgoing(Record(value, more.get("key")), 0, due=due, id=more.get("id")) for value in values]
        return await publish_records(self.broker, self.placement, TOPIC, records)

    async def page(self):
        found = await read_page(self.broker, TOPIC, 0, 0, 1000)
        return [one.record.value for one in found.found]

    async def browse(self):
        found = await browse(self.broker, TOPIC, Selection(), 1000)
        return [one.record.value for one in found.found]

    async def fetch(self):
        (part,) = await fetch(self.broker, [FetchFrom(TOPIC, 0, 0)], max_bytes=1 << 20, wait_ms=0)
        skipped = {offset for first, count in part.skip for offset in range(first, first + count)}
        records = [record for chunk in part.chunks for record in codec.decode(chunk.records)]
        return [record.value for record in records if record.offset not in skipped]

    async def read(self):
        """Every way to read must show the same."""
        page, browsed, fetched = await self.page(), await self.browse(), await self.fetch()
        assert page == browsed == fetched
        return page

    async def take(self, group="workers", limit=100, **more):
        request = Poll(group, "worker", topics=(TOPIC,), limit=limit, wait_ms=0, **more)
        return await poll(self.broker, request)

    async def taken(self, group="workers", limit=100, **more):
        return [one.value for part in await self.take(group, limit, **more) for one in codec.decode(part.records)]

    async def work(self, group="workers", limit=100):
        """Take, acknowledge, and say what it was."""
        done = []
        for part in await self.take(group, limit):
            records = codec.decode(part.records)
            lease = Lease(group, part.log, part.grant, part.token, [one.offset for one in records])
            await acknowledge(self.broker, lease)
            done += [one.value for one in records]
        return done

    def floor(self, group="workers"):
        return self.broker.queues.get(group, self.partition.id).delivery.floor

    @property
    def partition(self):
        return self.broker.partition(TOPIC, 0)

    async def pass_ms(self, duration_ms):
        self.clock.advance_ms(duration_ms)
        return await fire_due(self.broker)


@pytest.fixture
async def scene(open_broker, clock):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, FOREVER)
        yield Scene(broker, clock)


# Seen by nobody before it is due, by everybody afterwards.


async def test_a_delayed_record_is_hidden_from_every_reader_until_it_is_due(scene):
    await scene.publish(b"now")
    await scene.publish(b"later", delay_ms=SECOND)
    await scene.publish(b"after")
    assert await scene.read() == [b"now", b"after"]
    assert await scene.work() == [b"now", b"after"]
    assert await scene.pass_ms(999) == 0
    assert await scene.read() == [b"now", b"after"]
    assert await scene.work() == []
    assert await scene.pass_ms(1) == 1
    assert await scene.read() == [b"now", b"later", b"after"]
    assert await scene.work() == [b"later"]
    assert scene.floor() == 3


async def test_a_delayed_record_is_hidden_from_the_moment_it_can_be_read(scene):
    """Registered after the append, there would be a window in which it is visible."""
    seen = []
    partition = scene.partition

    def look():
        seen.append((partition.high_watermark, partition.delays.hides(0)))

    partition.watch(look)
    await scene.publish(b"later", delay_ms=SECOND)
    assert seen == [(1, True)]


async def test_a_delay_of_nothing_and_a_time_in_the_past_mean_at_once(scene):
    await scene.publish(b"zero", delay_ms=0)
    past = Outgoing(Record(b"past"), 0, due=scene.clock.now_ns() - 1)
    (placed,) = await publish_records(scene.broker, scene.placement, TOPIC, [past])
    assert placed.due == 0
    assert await scene.read() == [b"zero", b"past"]
    assert not scene.partition.delays.has_any


async def test_records_of_one_batch_may_each_have_a_time_of_their_own(scene):
    now = scene.clock.now_ns()
    batch = bytearray(codec.encode([Record(b"%d" % number) for number in range(4)]))
    dues = (0, now + 2 * NS_PER_MS, 0, now + 1 * NS_PER_MS)
    await publish_and_wait(scene.broker, PublishBatch(TOPIC, 0, batch, dues=dues))
    assert await scene.read() == [b"0", b"2"]
    await scene.pass_ms(1)
    assert await scene.read() == [b"0", b"2", b"3"]
    await scene.pass_ms(1)
    assert await scene.read() == [b"0", b"1", b"2", b"3"]


async def test_only_the_record_that_is_delayed_is_hidden_and_not_its_offset_in_other_partitions(open_broker, clock):
    """An index of delays without the partition would hide unrelated records."""
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 2, FOREVER)
        due = clock.now_ns() + NS_PER_MS
        records = [Outgoing(Record(b"later"), 0, due=due), Outgoing(Record(b"now"), 1)]
        await publish_records(broker, Placement(), TOPIC, records)
        pages = [await read_page(broker, TOPIC, number, 0, 10) for number in (0, 1)]
        assert [[one.record.value for one in page.found] for page in pages] == [[], [b"now"]]


async def test_of_a_batch_with_known_ids_each_record_that_stays_keeps_its_own_time(scene):
    await scene.publish(b"known", id="a")
    now = scene.clock.now_ns()
    records = [
        Outgoing(Record(b"again"), 0, id="a", due=now + 5 * NS_PER_MS),
        Outgoing(Record(b"later"), 0, id="b", due=now + 9 * NS_PER_MS),
        Outgoing(Record(b"now"), 0, id="c"),
    ]
    placed = await publish_records(scene.broker, scene.placement, TOPIC, records)
    assert [(one.offset, one.duplicate, one.due - now if one.due else 0) for one in placed] == [
        (0, True, 0),
        (1, False, 9 * NS_PER_MS),
        (2, False, 0),
    ]
    assert await scene.read() == [b"known", b"now"]
    await scene.pass_ms(5)
    assert await scene.read() == [b"known", b"now"]
    await scene.pass_ms(4)
    assert await scene.read() == [b"known", b"later", b"now"]


# What is refused.


@pytest.mark.parametrize("due", [-1, 1 << 63])
async def test_an_instant_that_cannot_be_is_refused_as_an_invalid_record(scene, due):
    batch = bytearray(codec.encode([Record(b"v")]))
    with pytest.raises(InvalidRecord):
        await publish_and_wait(scene.broker, PublishBatch(TOPIC, 0, batch, dues=(due,)))
    assert scene.partition.next_offset == 0


@pytest.mark.parametrize("ids", [None, ("a",)])
@pytest.mark.parametrize("dues", [(), (1, 2)])
async def test_there_is_one_instant_for_each_record_or_the_batch_is_refused(scene, dues, ids):
    record = Record(b"v", headers=(("goqueue-id", b"a"),))
    batch = bytearray(codec.encode([record]))
    with pytest.raises(InvalidRecord):
        await publish_and_wait(scene.broker, PublishBatch(TOPIC, 0, batch, dues=dues, ids=ids))


async def test_a_delay_beyond_the_retention_is_refused_and_both_are_named(open_broker, clock):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, TopicConfig(retention_ms=1000))
        scene = Scene(broker, clock)
        (refusal,) = await scene.publish(b"v", delay_ms=1001)
        assert isinstance(refusal, InvalidRecord)
        assert "1001 ms" in refusal.message and "1000 ms" in refusal.message
        (placed,) = await scene.publish(b"v", delay_ms=1000)
        assert placed.offset == 0


@pytest.mark.parametrize("config", [FOREVER, TopicConfig(retention_ms=1000, cleanup=Cleanup.COMPACT)])
async def test_without_retention_there_is_no_longest_delay(open_broker, clock, config):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, config)
        (placed,) = await Scene(broker, clock).publish(b"v", delay_ms=100 * 365 * 86_400_000)
        assert placed.offset == 0


async def test_a_refused_batch_leaves_no_delay_behind_for_the_next_record_at_its_offset(scene, monkeypatch):
    def refuse(entries):
        return [StorageBusy("not now")] * len(entries)

    with monkeypatch.context() as patched:
        patched.setattr(scene.broker.storage, "write", refuse)
        (refusal,) = await scene.publish(b"refused", delay_ms=SECOND)
    assert isinstance(refusal, GoQueueError)
    assert not scene.partition.delays.has_any
    await scene.publish(b"next")
    assert await scene.read() == [b"next"]


async def test_a_record_that_is_not_confirmed_yet_does_not_fire_however_late_it_is(scene, monkeypatch):
    """It may still be refused, and then another record gets its offset."""
    may_sync = threading.Event()
    sync = scene.broker.storage.sync

    def sync_later():
        may_sync.wait(10)
        return sync()

    monkeypatch.setattr(scene.broker.storage, "sync", sync_later)
    # Too large to be synced on the loop, which has to go on here.
    later = bytes(SYNC_HERE_BYTES)
    publishing = asyncio.create_task(scene.publish(later, delay_ms=1))
    await until(lambda: scene.partition.delays.hides(0))
    scene.partition.set_alarm()
    assert await scene.pass_ms(SECOND) == 0
    assert scene.partition.delays.hides(0)
    may_sync.set()
    await publishing
    assert await scene.pass_ms(0) == 1
    assert await scene.read() == [later]


# The queue.


async def test_a_delayed_record_does_not_hold_up_those_behind_it_however_many_are_delayed(scene):
    for _ in range(5):
        await scene.publish(*[b"later"] * 100, delay_ms=SECOND)
    await scene.publish(b"now")
    assert await scene.work(limit=1) == [b"now"]
    assert await scene.work(limit=1) == []
    await scene.pass_ms(SECOND)
    done = []
    while some := await scene.work():
        done += some
    assert done == [b"later"] * 500
    assert scene.floor() == 501


async def test_more_delayed_records_than_one_look_passes_do_not_hide_the_one_behind(scene, monkeypatch):
    monkeypatch.setattr("goqueue.engine.queue.search.MOST_PASSED", 8)
    await scene.publish(*[b"later"] * 50, delay_ms=SECOND)
    await scene.publish(b"now")
    assert await scene.taken(limit=3) == [b"now"]


async def test_every_group_gets_a_delayed_record_once(scene):
    await scene.publish(b"later", delay_ms=SECOND)
    groups = [f"group-{number}" for number in range(3)]
    for group in groups[:2]:
        assert await scene.work(group) == []
    await scene.pass_ms(SECOND)
    for group in groups:
        assert await scene.work(group) == [b"later"]
        assert await scene.work(group) == []
        assert scene.floor(group) == 1


async def test_a_poll_that_waits_gets_a_delayed_record_when_it_is_due(scene):
    await scene.publish(b"later", delay_ms=SECOND)
    waiting = asyncio.create_task(
        poll(scene.broker, Poll("workers", "worker", topics=(TOPIC,), limit=10, wait_ms=20_000))
    )
    for _ in range(200):
        state = scene.broker.queues.get("workers", scene.partition.id)
        if state is not None and state.delivery.is_asleep(0):
            break
        await asyncio.sleep(0.005)
    assert not waiting.done()
    await scene.pass_ms(SECOND)
    (part,) = await asyncio.wait_for(waiting, 5)
    assert [one.value for one in codec.decode(part.records)] == [b"later"]


async def test_a_record_that_falls_due_while_a_poll_passes_it_is_delivered_all_the_same(scene, monkeypatch):
    """The poll has seen it hidden; it fires before the poll has written that down."""
    await scene.publish(b"now")
    await scene.publish(b"later", delay_ms=SECOND)
    from goqueue.engine.queue import search as module

    gather = module.gather

    async def gather_slowly(*given):
        found = await gather(*given)
        assert await scene.pass_ms(SECOND) == 1
        return found

    with monkeypatch.context() as patched:
        patched.setattr(module, "gather", gather_slowly)
        assert await scene.work() == [b"now"]
    assert await scene.work() == [b"later"]


async def test_a_delayed_record_that_fails_is_tried_again_like_any_other(scene):
    await scene.publish(b"later", delay_ms=SECOND)
    assert await scene.taken() == []
    await scene.pass_ms(SECOND)
    (part,) = await scene.take()
    await nack(scene.broker, Lease("workers", part.log, part.grant, part.token, [0]), pause_ms=0)
    (again,) = await scene.take()
    assert again.attempts[0].deliveries == 2


async def test_with_key_order_a_delayed_record_waits_for_another_one_of_its_key_that_is_under_way(scene):
    await scene.publish(b"delayed", delay_ms=SECOND, key=b"k")
    await scene.publish(b"first", key=b"k")
    (first,) = await scene.take(in_key_order=True)
    assert [one.value for one in codec.decode(first.records)] == [b"first"]
    await scene.pass_ms(SECOND)
    assert await scene.taken(in_key_order=True) == []
    assert await scene.taken(in_key_order=True) == []
    await acknowledge(scene.broker, Lease("workers", first.log, first.grant, first.token, [1]))
    assert await scene.taken(in_key_order=True) == [b"delayed"]
    assert await scene.taken(in_key_order=True) == []


# Cancelling and rescheduling.


async def test_a_cancelled_record_is_never_seen_by_anybody(scene):
    """Cancelling must not make it visible at once."""
    await scene.publish(b"later", delay_ms=SECOND)
    await scene.publish(b"now")
    assert await scene.work("passed") == [b"now"]
    found = await delays.cancel_delay(scene.broker, TOPIC, 0, 0)
    assert (found.state, found.due) == (DelayState.CANCELLED, None)
    for _ in range(2):
        assert await scene.read() == [b"now"]
        await scene.pass_ms(SECOND)
    assert await scene.work("passed") == []
    assert await scene.work("new") == [b"now"]
    # Nobody waits for it either: the groups are done with all there is.
    assert (scene.floor("passed"), scene.floor("new")) == (2, 2)


async def test_cancelling_one_of_many_that_are_due_together_leaves_the_others_as_they_are(scene):
    """Cancelling a neighbour while a bucket drains must not orphan the rest of the bucket."""
    await scene.publish(*[b"%d" % number for number in range(10)], delay_ms=SECOND)
    assert await scene.taken() == []
    scene.clock.advance_ms(SECOND)
    firing = asyncio.create_task(fire_due(scene.broker))
    with pytest.raises(DelayIsOver):
        await delays.cancel_delay(scene.broker, TOPIC, 0, 4)
        await delays.cancel_delay(scene.broker, TOPIC, 0, 5)
    await firing
    await fire_due(scene.broker)
    cancelled = [offset for offset in range(10) if scene.partition.delays.hides(offset)]
    visible = [b"%d" % offset for offset in range(10) if offset not in cancelled]
    assert len(cancelled) <= 1
    assert await scene.read() == visible
    assert await scene.work() == visible


async def test_cancelling_twice_is_fine_and_cancelling_what_is_delivered_is_not(scene):
    await scene.publish(b"one", b"two", delay_ms=SECOND)
    for _ in range(2):
        assert (await delays.cancel_delay(scene.broker, TOPIC, 0, 0)).state is DelayState.CANCELLED
    await scene.pass_ms(SECOND)
    with pytest.raises(DelayIsOver, match="delivered already"):
        await delays.cancel_delay(scene.broker, TOPIC, 0, 1)
    with pytest.raises(DelayIsOver, match="cancelled already"):
        await delays.reschedule_delay(scene.broker, TOPIC, 0, 0, scene.clock.now_ns())


async def test_many_are_cancelled_with_one_entry_in_the_journal_of_each_partition(open_broker, clock):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 3, FOREVER)
        due = clock.now_ns() + SECOND * NS_PER_MS
        records = [Outgoing(Record(b"v"), number % 3, due=due) for number in range(3000)]
        await publish_records(broker, Placement(), TOPIC, records)
        entries = broker.storage.written_lsn
        ended = await delays.cancel_delays(broker, TOPIC, {0: range(1000), 2: range(500, 900)})
        assert ended == [(0, list(range(1000)), []), (2, list(range(500, 900)), [])]
        assert broker.storage.written_lsn == entries + 2
        # Once more: there is nothing to write.
        assert await delays.cancel_delays(broker, TOPIC, {0: range(1000), 2: range(500, 900)}) == ended
        assert broker.storage.written_lsn == entries + 2
        assert delays.delay_stats(broker) == [(TOPIC, 1600, 0, 1400, 0, due)]


async def test_groups_that_wait_for_records_which_are_cancelled_together_are_done_with_them(scene):
    await scene.publish(*[b"%d" % number for number in range(10)], delay_ms=SECOND)
    await scene.publish(b"now")
    assert await scene.work() == [b"now"]
    await delays.cancel_delays(scene.broker, TOPIC, {0: range(9)})
    assert await scene.work() == []
    assert scene.floor() == 9
    await scene.pass_ms(SECOND)
    assert await scene.work() == [b"9"]
    assert scene.floor() == 11


async def test_when_cancelling_many_and_their_delivery_cross_the_answer_says_which_was_first(scene):
    await scene.publish(*[b"%d" % number for number in range(10)], delay_ms=SECOND)
    scene.clock.advance_ms(SECOND)
    firing = asyncio.create_task(fire_due(scene.broker))
    (part,) = await delays.cancel_delays(scene.broker, TOPIC, {0: range(5)})
    await firing
    await fire_due(scene.broker)
    delivered = [offset for one in part.refused for offset in one.offsets]
    assert {type(one.error) for one in part.refused} <= {DelayIsOver}
    assert sorted(part.cancelled + delivered) == list(range(5))
    assert await scene.read() == [b"%d" % offset for offset in range(10) if offset not in part.cancelled]


async def test_what_cannot_be_cancelled_is_told_by_reason_and_stops_no_other(scene):
    await scene.publish(b"now")
    await scene.publish(b"delivered", delay_ms=SECOND)
    await scene.pass_ms(SECOND)
    await scene.publish(b"later", delay_ms=SECOND)
    ended = await delays.cancel_delays(scene.broker, TOPIC, {5: [1, 0], 0: [1 << 70, 2, 1, 0, -1, 2]})
    shown = [(part.partition, part.cancelled, {one.error.code: one.offsets for one in part.refused}) for part in ended]
    assert shown == [
        (5, [], {"unknown_partition": [0, 1]}),
        (0, [2], {"unknown_delay": [-1, 0, 1 << 70], "delay_is_over": [1]}),
    ]


async def test_too_many_cannot_be_cancelled_at_once(scene):
    await scene.publish(b"later", delay_ms=SECOND)
    with pytest.raises(InvalidRequest, match="100001 records"):
        await delays.cancel_delays(scene.broker, TOPIC, {0: range(100_001)})
    with pytest.raises(UnknownTopic):
        await delays.cancel_delays(scene.broker, topic_name("nothing"), {0: [0]})
    (part,) = await delays.cancel_delays(scene.broker, TOPIC, {0: range(100_000)})
    assert part.cancelled == [0]


@pytest.mark.parametrize("offset", [0, 1, 99, -1, 1 << 70])
async def test_a_record_that_was_never_delayed_cannot_be_cancelled(scene, offset):
    await scene.publish(b"now", b"now too")
    for attempt in (delays.cancel_delay, delays.read_delayed):
        with pytest.raises(UnknownDelay):
            await attempt(scene.broker, TOPIC, 0, offset)
    with pytest.raises(UnknownDelay):
        await delays.reschedule_delay(scene.broker, TOPIC, 0, offset, 0)


async def test_a_rescheduled_record_is_due_at_its_new_time_only(scene):
    await scene.publish(b"sooner", b"later", delay_ms=2 * SECOND)
    now = scene.clock.now_ns()
    await delays.reschedule_delay(scene.broker, TOPIC, 0, 0, now + SECOND * NS_PER_MS)
    await delays.reschedule_delay(scene.broker, TOPIC, 0, 1, now + 3 * SECOND * NS_PER_MS)
    seen = []
    for _ in range(3):
        await scene.pass_ms(SECOND)
        seen.append(await scene.read())
    assert seen == [[b"sooner"], [b"sooner"], [b"sooner", b"later"]]


async def test_rescheduling_to_the_past_delivers_at_once(scene):
    await scene.publish(b"later", delay_ms=SECOND)
    await delays.reschedule_delay(scene.broker, TOPIC, 0, 0, 0)
    assert await scene.pass_ms(0) == 1
    assert await scene.read() == [b"later"]


async def test_a_record_cannot_be_rescheduled_beyond_the_retention_which_counts_from_its_publication(
    open_broker, clock
):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, TopicConfig(retention_ms=2000))
        scene = Scene(broker, clock)
        published = clock.now_ns()
        await scene.publish(b"v", delay_ms=1000)
        clock.advance_ms(500)
        with pytest.raises(InvalidRecord):
            await delays.reschedule_delay(broker, TOPIC, 0, 0, published + 2001 * NS_PER_MS)
        found = await delays.reschedule_delay(broker, TOPIC, 0, 0, published + 2000 * NS_PER_MS)
        assert found.due == published + 2000 * NS_PER_MS


async def test_the_list_is_in_order_of_time_over_all_partitions_and_can_be_paged(open_broker, clock):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 3, FOREVER)
        now = clock.now_ns()
        records = [Outgoing(Record(b"v"), number % 3, due=now + (97 * number) % 50 + 1) for number in range(30)]
        await publish_records(broker, Placement(), TOPIC, records)
        whole = delays.list_delays(broker, TOPIC)
        assert [one.due for one in whole] == sorted(one.due for one in records)
        pages = [delays.list_delays(broker, TOPIC, skip=skip, limit=7) for skip in range(0, 35, 7)]
        assert [one for page in pages for one in page] == whole
        for wrong in ({"skip": -1}, {"limit": 0}, {"limit": 1001}, {"skip": 10_001}):
            with pytest.raises(InvalidRequest):
                delays.list_delays(broker, TOPIC, **wrong)


async def test_the_figures_count_every_state(scene):
    await scene.publish(b"a", b"b", b"c", delay_ms=SECOND)
    await scene.publish(b"d", delay_ms=2 * SECOND)
    await delays.cancel_delay(scene.broker, TOPIC, 0, 1)
    await scene.pass_ms(SECOND)
    due = scene.clock.now_ns() + SECOND * NS_PER_MS
    assert delays.delay_stats(scene.broker) == [(TOPIC, 1, 2, 1, 0, due)]


# Restarts.


@pytest.mark.parametrize("checkpoint", [False, True])
async def test_what_is_pending_stays_pending_and_what_came_due_meanwhile_fires_at_once(open_broker, clock, checkpoint):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, FOREVER)
        scene = Scene(broker, clock)
        await scene.publish(b"missed", delay_ms=SECOND)
        await scene.publish(b"cancelled", delay_ms=SECOND)
        await scene.publish(b"far", delay_ms=100 * 86_400_000)
        await scene.publish(b"moved", delay_ms=SECOND)
        await scene.publish(b"now")
        assert await scene.work("passed") == [b"now"]
        await delays.cancel_delay(broker, TOPIC, 0, 1)
        await delays.reschedule_delay(broker, TOPIC, 0, 3, clock.now_ns() + 20 * SECOND * NS_PER_MS)
        if checkpoint:
            await Maintenance(broker, Reports(), MaintenanceSettings()).checkpoint()
    clock.advance_ms(10 * SECOND)
    async with open_broker() as broker:
        scene = Scene(broker, clock)
        assert await scene.read() == [b"now"]
        assert await scene.pass_ms(0) == 1
        assert await scene.read() == [b"missed", b"now"]
        assert await scene.work("passed") == [b"missed"]
        assert await scene.work("new") == [b"missed", b"now"]
        await scene.pass_ms(10 * SECOND)
        assert await scene.work("passed") == [b"moved"]
    clock.advance_ms(101 * 86_400_000)
    async with open_broker() as broker:
        scene = Scene(broker, clock)
        while await scene.pass_ms(0):
            pass
        assert await scene.work("passed") == [b"far"]
        assert scene.floor("passed") == 5


@pytest.mark.parametrize("checkpoint", [False, True])
async def test_what_was_cancelled_together_stays_cancelled_after_a_restart(open_broker, clock, checkpoint):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, FOREVER)
        scene = Scene(broker, clock)
        await scene.publish(*[b"%d" % number for number in range(100)], delay_ms=SECOND)
        assert await scene.work() == []
        await delays.cancel_delays(broker, TOPIC, {0: range(1, 99)})
        if checkpoint:
            await Maintenance(broker, Reports(), MaintenanceSettings()).checkpoint()
    clock.advance_ms(SECOND)
    async with open_broker() as broker:
        scene = Scene(broker, clock)
        assert await scene.pass_ms(0) == 2
        assert await scene.work() == [b"0", b"99"]
        assert scene.floor() == 100


async def test_a_record_that_slept_in_a_queue_and_was_cancelled_is_done_with_after_a_restart(open_broker, clock):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, FOREVER)
        scene = Scene(broker, clock)
        await scene.publish(b"later", delay_ms=SECOND)
        assert await scene.work() == []
        await delays.cancel_delay(broker, TOPIC, 0, 0)
    async with open_broker() as broker:
        scene = Scene(broker, clock)
        assert await scene.work() == []
        assert scene.floor() == 1


async def test_a_topic_made_again_under_the_same_name_hides_nothing(open_broker, clock):
    for _ in range(2):
        async with open_broker() as broker:
            scene = Scene(broker, clock)
            await create_topic(broker, TOPIC, 1, FOREVER)
            assert delays.delay_stats(broker) == []
            await scene.publish(b"now")
            assert await scene.read() == [b"now"]
            await scene.publish(b"later", delay_ms=SECOND)
            await delete_topic(broker, TOPIC)
            assert await scene.pass_ms(2 * SECOND) == 0
            await create_topic(broker, TOPIC, 1, FOREVER)
            await scene.publish(b"first", b"second")
            assert await scene.read() == [b"first", b"second"]
            await delete_topic(broker, TOPIC)


async def test_a_partition_of_a_deleted_topic_fires_nothing_in_the_one_that_took_its_name(open_broker, clock):
    """Its last delay may be confirmed after the end of the topic, and sets the alarm all the same."""
    async with open_broker() as broker:
        scene = Scene(broker, clock)
        await create_topic(broker, TOPIC, 1, FOREVER)
        await scene.publish(b"old", delay_ms=SECOND)
        old = scene.partition
        await delete_topic(broker, TOPIC)
        await create_topic(broker, TOPIC, 1, FOREVER)
        await scene.publish(b"new", delay_ms=10 * SECOND)
        old.set_alarm()
        assert await scene.pass_ms(SECOND) == 0
    async with open_broker() as broker:
        scene = Scene(broker, clock)
        assert await scene.pass_ms(0) == 0
        assert await scene.read() == []
        assert await scene.pass_ms(9 * SECOND) == 1
        assert await scene.read() == [b"new"]


async def test_retention_takes_what_is_known_of_the_records_it_takes(open_broker, clock):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, TopicConfig(retention_ms=None, retention_bytes=8192))
        scene = Scene(broker, clock)
        for _ in range(30):
            await scene.publish(bytes(1000), delay_ms=SECOND)
        await Maintenance(broker, Reports(), MaintenanceSettings()).apply_retention()
        start = scene.partition.log.start_offset
        assert start > 0
        (stats,) = delays.delay_stats(broker)
        assert stats.pending == 30 - start
        assert await scene.pass_ms(SECOND) == 30 - start


# When to look.


async def until(holds):
    for _ in range(500):
        if holds():
            return
        await asyncio.sleep(0.002)
    raise AssertionError("it never came true")


@pytest.fixture
async def firing(scene):
    task = asyncio.create_task(Maintenance(scene.broker, Reports(), MaintenanceSettings()).run())
    yield task
    task.cancel()
    await asyncio.wait([task])


async def test_the_broker_wakes_by_itself_for_what_is_due(scene, firing):
    await scene.publish(b"later", delay_ms=500)
    await asyncio.sleep(0.02)
    scene.clock.advance_ms(499)
    await asyncio.sleep(0.02)
    assert await scene.read() == []
    scene.clock.advance_ms(1)
    await until(lambda: not scene.partition.delays.hides(0))


async def test_one_that_is_due_earlier_than_all_others_is_not_slept_through(scene, firing):
    await scene.publish(b"much later", delay_ms=800)
    await asyncio.sleep(0.02)
    await scene.publish(b"soon", delay_ms=100)
    await asyncio.sleep(0.02)
    scene.clock.advance_ms(100)
    await until(lambda: not scene.partition.delays.hides(1))
    assert scene.partition.delays.hides(0)
    # And one that is moved to an earlier time.
    await delays.reschedule_delay(scene.broker, TOPIC, 0, 0, 0)
    scene.clock.advance_ms(TOGETHER_MS)
    await until(lambda: not scene.partition.delays.hides(0))


async def test_a_delay_shorter_than_a_tick_of_the_wheel_fires_on_time(scene, firing):
    """It must not fall into the bucket just passed and fire a revolution late."""
    for number, delay_ms in enumerate((1, 3, 9, 10, 11)):
        await scene.publish(b"v", delay_ms=delay_ms)
        await asyncio.sleep(0.01)
        scene.clock.advance_ms(delay_ms)
        await asyncio.sleep(0.01)
        scene.clock.advance_ms(TOGETHER_MS)
        await until(lambda offset=number: not scene.partition.delays.hides(offset))


async def test_what_cannot_be_written_now_fires_later(scene, monkeypatch):
    failures = []
    timers = scene.broker.timers
    timers.add(TimedJob("delays", partial(fire_due, scene.broker), deadline=scene.broker.alarm.next_due))
    task = asyncio.create_task(timers.run(lambda job, failure: failures.append(job)))
    await scene.publish(b"later", delay_ms=10)
    with monkeypatch.context() as patched:
        patched.setattr(scene.broker.storage, "write", lambda entries: [StorageBusy("not now")] * len(entries))
        scene.clock.advance_ms(10)
        await until(lambda: scene.clock.advance_ms(TOGETHER_MS) or failures == ["delays"])
        assert scene.partition.delays.hides(0)
    for _ in range(20):
        scene.clock.advance_ms(100)
        await asyncio.sleep(0.005)
    await until(lambda: not scene.partition.delays.hides(0))
    task.cancel()
    await asyncio.wait([task])
