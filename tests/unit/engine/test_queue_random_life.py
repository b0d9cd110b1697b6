"""Random lives of a queue: whatever workers, time, restarts and impatience do, every record ends exactly once."""

import asyncio
import random

import pytest

from goqueue import codec
from goqueue.engine.queue import settle
from goqueue.errors import UnknownReceipt
from goqueue.model.record import Record
from goqueue.model.topic import topic_name
from tests.unit.engine.queue_scene import GROUP, LOG, TOPIC, lease, made_topic, published, steps, take
from tests.unit.engine.test_maintenance import maintenance_of

PARTITIONS = 2
MAX_ATTEMPTS = 4
KEYS = (None, b"a", b"b", b"c")


class Life:
    def __init__(self, seed, clock, *, in_key_order):
        self.chance = random.Random(seed)
        self.clock = clock
        self.in_key_order = in_key_order
        self.records: list[tuple[int, int, bytes | None]] = []
        self.held = []
        """What workers have: the part, one offset of it, and the deadline."""
        self.deliveries: dict[tuple[int, int], int] = {}
        self.failures: dict[tuple[int, int], int] = {}
        self.acked: set[tuple[int, int]] = set()
        self.dead: set[tuple[int, int]] = set()
        self.broker = None

    async def step(self):
        often = [self.publish, self.take, self.take, self.ack, self.ack, self.nack, self.pass_time]
        rare = [self.reject, self.give_back, self.extend, self.be_late, self.go_away, self.checkpoint]
        await self.chance.choice(often * 3 + rare)()

    async def publish(self):
        number = self.chance.randrange(PARTITIONS)
        first = self.broker.partition(TOPIC, number).high_watermark
        made = [
            Record(b"v" * self.chance.randrange(200), self.chance.choice(KEYS), priority=self.chance.randrange(5))
            for _ in range(self.chance.randint(1, 10))
        ]
        await published(self.broker, *made, partition=number)
        self.records += [(number, first + step, record.key) for step, record in enumerate(made)]

    def poll(self, limit=None):
        limit = limit or self.chance.choice((1, 2, 5, 100))
        worker = f"worker-{self.chance.randrange(3)}"
        options = {"in_key_order": self.in_key_order, "visibility_ms": self.chance.choice((500, 5000))}
        return take(self.broker, limit, consumer=worker, max_bytes=self.chance.choice((1, 500, 10_000)), **options)

    async def take(self):
        self.took(await self.poll())

    def took(self, taken):
        for part in taken:
            for record in codec.decode(part.records):
                place = (part.log.partition, record.offset)
                assert place not in self.acked, "delivered after its ack"
                assert place not in self.dead, "delivered after its death"
                attempts = part.attempts.get(record.offset, (1, 0))
                assert attempts[0] > self.deliveries.get(place, 0)
                assert attempts[1] == self.failures.get(place, 0)
                self.deliveries[place] = attempts[0]
                if self.in_key_order and record.key is not None:
                    self.check_order(place, record.key)
                self.held.append((part, record.offset, part.deadline))

    def check_order(self, place, key):
        before = {one[:2] for one in self.records if one[0] == place[0] and one[1] < place[1] and one[2] == key}
        assert before <= self.acked | self.dead, "out of the order of its key"

    def some_held(self):
        chosen = self.chance.sample(self.held, min(len(self.held), self.chance.randint(1, 5)))
        for one in chosen:
            self.held.remove(one)
        return [(part, offset) for part, offset, _ in chosen]

    async def ack(self):
        for part, offset in self.some_held():
            await settle.acknowledge(self.broker, lease(part, offset))
            self.acked.add((part.log.partition, offset))

    async def nack(self):
        for part, offset in self.some_held():
            place = (part.log.partition, offset)
            became = await settle.nack(self.broker, lease(part, offset), pause_ms=self.chance.choice((None, 0, 100)))
            self.failed(place)
            assert bool(became.dead) == (place in self.dead)

    def failed(self, place):
        self.failures[place] = self.failures.get(place, 0) + 1
        if self.failures[place] == MAX_ATTEMPTS:
            self.dead.add(place)

    async def reject(self):
        for part, offset in self.some_held():
            await settle.reject(self.broker, lease(part, offset))
            self.dead.add((part.log.partition, offset))

    async def give_back(self):
        for part, offset in self.some_held():
            await settle.give_back(self.broker, lease(part, offset))

    async def extend(self):
        for part, offset in self.some_held():
            deadline = await settle.extend(self.broker, lease(part, offset), self.chance.choice((300, 9000)))
            self.held.append((part, offset, deadline))

    async def pass_time(self):
        self.clock.advance_ms(self.chance.choice((1, 50, 200, 400, 3000)))
        late = [one for one in self.held if one[2] <= self.clock.now_ns()]
        assert await settle.return_overdue(self.broker) == len(late)
        for part, offset, _ in late:
            self.failed((part.log.partition, offset))
        self.held = [one for one in self.held if one[2] > self.clock.now_ns()]

    async def be_late(self):
        """Say something about a record whose time was up."""
        before = list(self.held)
        await self.pass_time()
        for part, offset, _ in before:
            if (part, offset) not in [one[:2] for one in self.held]:
                say = self.chance.choice((settle.acknowledge, settle.nack, settle.reject, settle.give_back))
                if say is settle.reject and (part.log.partition, offset) in self.dead:
                    # It is where the worker wants it.
                    continue
                with pytest.raises(UnknownReceipt):
                    await say(self.broker, lease(part, offset))

    async def go_away(self):
        polling = asyncio.create_task(self.poll())
        await steps(self.chance.randrange(12))
        polling.cancel()
        await asyncio.wait([polling])
        await self.broker.queues.drain()
        if not polling.cancelled():
            self.took(polling.result())

    async def checkpoint(self):
        await maintenance_of(self.broker).checkpoint()

    async def end(self):
        for _ in range(1000):
            if not self.held and len(self.acked | self.dead) == len(self.records):
                break
            self.took(await self.poll(100))
            while self.held:
                await self.ack()
            self.clock.advance_ms(60_000)
        assert not self.acked & self.dead
        assert self.acked | self.dead == {one[:2] for one in self.records}
        for number in range(PARTITIONS):
            end = self.broker.partition(TOPIC, number).high_watermark
            state = self.broker.queues.get(GROUP, LOG._replace(partition=number))
            assert state is None or state.delivery.floor == end
        if self.dead:
            letters = self.broker.partitions(topic_name(f"{TOPIC}.dlq"))
            assert sum(partition.high_watermark for partition in letters) == len(self.dead)


@pytest.mark.parametrize("in_key_order", [False, True])
@pytest.mark.parametrize("seed", range(8))
async def test_every_record_is_acknowledged_or_dead_exactly_once(open_broker, clock, seed, in_key_order):
    life = Life(seed, clock, in_key_order=in_key_order)
    for number in range(4):
        async with open_broker() as life.broker:
            if number == 0:
                await made_topic(life.broker, partitions=PARTITIONS, max_attempts=MAX_ATTEMPTS, retry_backoff_ms=100)
            for _ in range(40):
                await life.step()
            if number == 3:
                await life.end()
