"""Whatever happens to a broker, two records of an id are a window apart, and every answer is true."""

import itertools
import random
from collections import defaultdict

import pytest

from goqueue import codec
from goqueue.engine.id_upkeep import IdUpkeep
from goqueue.engine.partition import ProducerBatch
from goqueue.engine.producers import init_producer
from goqueue.engine.publish import Published
from goqueue.errors import DiskFull, GoQueueError, LogReadOnly, OutOfOrderSequence, StorageBusy, UnknownProducer
from goqueue.model.log import LogId
from goqueue.model.record_id import id_of
from tests.unit.ids.scene import ORDERS, Scene, checkpoint, hand_over, maintenance_of, start

PARTITIONS = 3
WINDOW_MS = 1000
WINDOW_NS = WINDOW_MS * 1_000_000


class Life:
    """Random steps from a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.scene = Scene()
        self.answers: list[tuple[tuple[str | None, ...], Published]] = []
        self.refusals = 0

    async def run(self, lives: int, steps: int) -> None:
        async with self.scene.with_topic(PARTITIONS, dedup_window_ms=WINDOW_MS):
            pass
        for _ in range(lives):
            if self.chance.random() < 0.2:
                self.scene.index.reset()
            async with self.scene.open() as broker:
                await maintenance_of(broker).tend_ids()
                assert broker.ids.fault is None
                upkeep = IdUpkeep(broker)
                producers = [_Producer(broker, number, self.chance) for number in range(PARTITIONS)]
                for _ in range(steps):
                    await self._step(broker, upkeep, producers)
                self._check(broker)

    async def _step(self, broker, upkeep: IdUpkeep, producers: "list[_Producer]") -> None:
        kind = self.chance.choice(["send"] * 8 + ["time", "time", "refuse", "hand over", "forget", "checkpoint"])
        if kind == "send":
            await self._send(broker, producers)
        elif kind == "time":
            self.scene.clock.advance_ms(self.chance.choice([1, 100, 500, WINDOW_MS]))
        elif kind == "refuse":
            refusing = self.scene.store.refusing
            refusing.symmetric_difference_update({LogId(ORDERS, self.chance.randrange(PARTITIONS))})
        elif kind == "hand over":
            await hand_over(broker)
        elif kind == "forget":
            self.scene.clock.advance_ms(self.chance.choice([0, 30_000]))
            await upkeep.forget_old()
        else:
            await checkpoint(broker)

    async def _send(self, broker, producers: "list[_Producer]") -> None:
        """Several at a time, so that some meet records on their way."""
        waiting = []
        for _ in range(self.chance.choice([1, 1, 3, 6])):
            ids = tuple(self.chance.choice([*"abcdefghij", None]) for _ in range(self.chance.choice([1, 2, 5])))
            partition = self.chance.randrange(PARTITIONS)
            if self.chance.random() < 0.5:
                waiting.append((ids, start(broker, *ids, partition=partition)))
            else:
                waiting.append(await producers[partition].send(ids))
        for ids, answer in waiting:
            result = await answer
            if isinstance(result, GoQueueError):
                assert isinstance(result, DiskFull | LogReadOnly | StorageBusy | OutOfOrderSequence | UnknownProducer)
                self.refusals += 1
            else:
                self.answers.append((ids, result))
        for producer in producers:
            producer.settle()

    def _check(self, broker) -> None:
        there: dict[tuple[int, int], tuple[str | None, int]] = {}
        times = defaultdict(list)
        for number in range(PARTITIONS):
            partition = broker.partition(ORDERS, number)
            for record in codec.decode(partition.log.read(0, 1 << 24, partition.high_watermark).records):
                found = id_of(record.headers)
                name = None if found is None else found.decode()
                there[number, record.offset] = (name, record.timestamp_ns)
                if name is not None:
                    times[name].append(record.timestamp_ns)
        for name, moments in times.items():
            moments.sort()
            gaps = [later - earlier for earlier, later in itertools.pairwise(moments)]
            assert all(gap >= WINDOW_NS for gap in gaps), (name, gaps)
        for ids, published in self.answers:
            assert len(published.places()) == len(ids)
            for name, place in zip(ids, published.places(), strict=True):
                assert there[place.partition, place.offset] == (name, place.timestamp_ns)


class _Producer:
    """An idempotent producer of one partition, which starts anew when something of it was refused."""

    def __init__(self, broker, partition: int, chance: random.Random) -> None:
        self._broker = broker
        self._partition = partition
        self._chance = chance
        self._identity: tuple[int, int] | None = None
        self._next = 0
        self._sent: list[tuple[int, tuple[str | None, ...]]] = []
        self._waiting: list = []

    async def send(self, ids: tuple[str | None, ...]):
        if self._identity is None:
            self._identity, self._next, self._sent = await init_producer(self._broker, None, 0), 0, []
        if self._sent and self._chance.random() < 0.3:
            sequence, ids = self._sent[-1]
        else:
            sequence, self._next = self._next, self._next + len(ids)
            self._sent.append((sequence, ids))
        producer = ProducerBatch(*self._identity, sequence)
        answer = start(self._broker, *ids, partition=self._partition, producer=producer)
        self._waiting.append(answer)
        return ids, answer

    def settle(self) -> None:
        if any(isinstance(one.result(), GoQueueError) for one in self._waiting):
            self._identity = None
        self._waiting = []


@pytest.mark.parametrize("seed", range(25))
async def test_two_records_of_an_id_are_a_window_apart_and_every_answer_is_true(seed):
    life = Life(seed)
    await life.run(lives=4, steps=40)
    assert any(published.originals for _, published in life.answers)
