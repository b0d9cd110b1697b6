"""Random lives of a topic with delays: nothing early, nothing lost, nothing twice, nothing that was cancelled."""

import random

import pytest

from goqueue import codec
from goqueue.core.delay.states import DelayState
from goqueue.engine import delays
from goqueue.engine.browse import read_page
from goqueue.engine.firing import fire_due
from goqueue.engine.maintenance import Maintenance, MaintenanceSettings
from goqueue.engine.placement import Placement
from goqueue.engine.poll import Poll, poll
from goqueue.engine.publish_records import Outgoing, publish_records
from goqueue.engine.queue.settle import Lease, acknowledge
from goqueue.engine.topics import create_topic
from goqueue.errors import DelayIsOver
from goqueue.model.record import Record
from goqueue.model.topic import TopicConfig, topic_name

TOPIC = topic_name("orders")
PARTITIONS = 2
NS_PER_MS = 1_000_000
GROUPS = {"one": False, "two": False, "in-order": True}
"""With whether they keep the order of keys."""
DELAYS_MS = (0, 0, 0, 1, 5, 9, 10, 30, 200, 3000, 200_000, 9 * 86_400_000)


class Reports:
    def __getattr__(self, name):
        return lambda *arguments: None


class Life:
    def __init__(self, seed, clock):
        self.chance = random.Random(seed)
        self.clock = clock
        self.due: dict[tuple[int, int], int] = {}
        self.cancelled: set[tuple[int, int]] = set()
        self.got: dict[str, list[tuple[int, int]]] = {group: [] for group in GROUPS}
        self.broker = None

    async def step(self):
        actions = (
            [self.publish] * 4
            + [self.take] * 4
            + [self.pass_time] * 4
            + [
                self.cancel,
                self.cancel_many,
                self.move,
                self.look,
            ]
        )
        await self.chance.choice(actions)()

    async def publish(self):
        number = self.chance.randrange(PARTITIONS)
        records, dues = [], []
        for _ in range(self.chance.randint(1, 12)):
            delay_ms = self.chance.choice(DELAYS_MS)
            dues.append(self.clock.now_ns() + delay_ms * NS_PER_MS if delay_ms else 0)
            key = self.chance.choice((None, b"a", b"b"))
            priority = self.chance.randrange(5)
            records.append(Outgoing(Record(b"v", key, priority=priority), number, due=dues[-1]))
        placed = await publish_records(self.broker, Placement(), TOPIC, records)
        self.due |= {(number, place.offset): due for place, due in zip(placed, dues, strict=True)}

    async def pass_time(self):
        self.clock.advance_ms(self.chance.choice((1, 2, 7, 10, 50, 400, 5000)))
        await self.fire()

    async def fire(self):
        while await fire_due(self.broker):
            pass

    async def take(self, group=None, limit=None):
        group = group or self.chance.choice(list(GROUPS))
        limit = limit or self.chance.choice((1, 3, 100))
        request = Poll(group, "worker", topics=(TOPIC,), limit=limit, wait_ms=0, in_key_order=GROUPS[group])
        count = 0
        for part in await poll(self.broker, request):
            offsets = [record.offset for record in codec.decode(part.records)]
            for offset in offsets:
                place = (part.log.partition, offset)
                assert self.due[place] <= self.clock.now_ns(), "early"
                assert place not in self.cancelled
                assert place not in self.got[group], "twice"
                self.got[group].append(place)
            await acknowledge(self.broker, Lease(group, part.log, part.grant, part.token, offsets))
            count += len(offsets)
        return count

    async def cancel(self):
        await self.fire()
        place = self.some_delayed()
        if place is None:
            return
        if self.due[place] <= self.clock.now_ns() and place not in self.cancelled:
            with pytest.raises(DelayIsOver):
                await delays.cancel_delay(self.broker, TOPIC, *place)
            return
        assert (await delays.cancel_delay(self.broker, TOPIC, *place)).state is DelayState.CANCELLED
        self.cancelled.add(place)

    async def cancel_many(self):
        await self.fire()
        known = list(self.due)
        places = self.chance.sample(known, min(len(known), self.chance.randrange(20)))
        pending = {place for place in places if self.due[place] > self.clock.now_ns()}
        offsets = {number: [place[1] for place in places if place[0] == number] for number in range(PARTITIONS)}
        ended = await delays.cancel_delays(self.broker, TOPIC, offsets)
        cancelled = {(part.partition, offset) for part in ended for offset in part.cancelled}
        assert cancelled == pending | self.cancelled.intersection(places)
        self.cancelled |= pending

    async def move(self):
        place = self.some_delayed()
        if place is None or place in self.cancelled or self.due[place] <= self.clock.now_ns():
            return
        due = self.clock.now_ns() + self.chance.choice((0, 1, 40, 4000)) * NS_PER_MS
        await delays.reschedule_delay(self.broker, TOPIC, *place, due)
        self.due[place] = due
        await self.fire()

    def some_delayed(self):
        known = [place for place, due in self.due.items() if due]
        return self.chance.choice(known) if known else None

    async def look(self):
        """A plain read is in offset order and shows what is due and not cancelled, all of it and nothing else."""
        await self.fire()
        for number in range(PARTITIONS):
            page = await read_page(self.broker, TOPIC, number, 0, 1000)
            assert [one.record.offset for one in page.found] == [
                offset
                for (partition, offset), due in sorted(self.due.items())
                if partition == number and due <= self.clock.now_ns() and (partition, offset) not in self.cancelled
            ]

    async def end(self):
        """When everything is due, every group has had everything once, and waits for nothing."""
        self.clock.advance_ms(10 * 86_400_000)
        await self.fire()
        await self.look()
        for group in GROUPS:
            while await self.take(group, 100):
                pass
        wanted = sorted(self.due.keys() - self.cancelled)
        assert {group: sorted(got) for group, got in self.got.items()} == dict.fromkeys(GROUPS, wanted)
        for state in self.broker.queues:
            end = self.broker.partition(TOPIC, state.log.partition).high_watermark
            assert state.delivery.floor == end


@pytest.mark.parametrize("seed", range(12))
async def test_every_group_gets_every_record_once_when_it_is_due_and_none_that_was_cancelled(open_broker, clock, seed):
    life = Life(seed, clock)
    for number in range(4):
        async with open_broker() as life.broker:
            if number == 0:
                await create_topic(life.broker, TOPIC, PARTITIONS, TopicConfig(retention_ms=None))
            for _ in range(40):
                await life.step()
            if life.chance.random() < 0.5:
                await Maintenance(life.broker, Reports(), MaintenanceSettings()).checkpoint()
        clock.advance_ms(life.chance.choice((0, 20, 10_000)))
    async with open_broker() as life.broker:
        await life.end()
