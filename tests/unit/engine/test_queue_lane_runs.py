"""A backlog: what a poll gets is the same whether it is a slice of what was read for many or read by itself."""

import asyncio
import gc
import random
import weakref
from array import array
from types import SimpleNamespace

import msgspec
import pytest

from goqueue import codec
from goqueue.engine.queue import blocks, lane_runs, search, settle
from goqueue.engine.queue.gather import gather_lanes
from goqueue.engine.queue.lane_runs import LanePart
from goqueue.engine.topics import delete_topic
from goqueue.model.priority import LANES
from goqueue.model.record import Record
from tests.unit.engine.queue_scene import LOG, TOPIC, lease, made_topic, published, take

COUNT = 4000


def mixed(count, seed=1, weights=(1, 1, 1, 1, 1)):
    choose = random.Random(seed)
    lanes = choose.choices(range(LANES), weights, k=count)
    return [Record(value=b"%d" % number * choose.randrange(1, 9), priority=lane) for number, lane in enumerate(lanes)]


@pytest.fixture
def short_ways(monkeypatch):
    """How often records were found lane by lane, and how often in another way."""
    seen = {True: 0, False: 0}

    async def noted(*arguments):
        found = await gather_lanes(*arguments)
        seen[found is not None] += 1
        return found

    monkeypatch.setattr(search, "gather_lanes", noted)
    return seen


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "WIDTHS", (64, 16))


async def drained(broker, limit=100, spoil=None, **options):
    """All records, poll by poll, each of which is done with; `spoil` does something in between."""
    polls = []
    while parts := await take(broker, limit, **options):
        (part,) = parts
        polls.append(codec.decode(part.records))
        if spoil is None or not await spoil(part, len(polls)):
            await settle.acknowledge(broker, lease(part))
    return polls


def lanes_of(poll):
    return [sum(record.priority == lane for record in poll) for lane in range(LANES)]


async def test_each_poll_of_a_backlog_has_its_share_of_each_lane_and_nothing_is_left_out(
    open_broker, short_ways, small_blocks
):
    records = mixed(COUNT)
    async with open_broker() as broker:
        await made_topic(broker)
        for first in range(0, COUNT, 500):
            await published(broker, *records[first : first + 500])
        polls = await drained(broker)
        assert [lanes_of(poll) for poll in polls[:14]] == [[50, 25, 15, 7, 3]] * 14
        assert all([one.offset for one in poll] == sorted(one.offset for one in poll) for poll in polls)
        for lane in range(LANES):
            wanted = [record.value for record in records if record.priority == lane]
            assert [one.value for poll in polls for one in poll if one.priority == lane] == wanted
        assert broker.queues.get("billing", LOG).delivery.floor == COUNT
    assert short_ways[True] >= 5


@pytest.mark.parametrize("seed", range(6))
async def test_with_returns_and_small_answers_every_record_is_done_exactly_once(
    open_broker, clock, short_ways, small_blocks, monkeypatch, seed
):
    monkeypatch.setattr(lane_runs, "MOST_BYTES", 40_000)
    choose = random.Random(seed)
    records = mixed(2000, seed, choose.choice([(1, 1, 1, 1, 1), (1, 2, 90, 4, 3), (60, 1, 1, 20, 18)]))
    async with open_broker() as broker:
        await made_topic(broker, max_attempts=1000)
        await published(broker, *records)
        done = []

        async def spoil(part, number):
            offsets = [record.offset for record in codec.decode(part.records)]
            back = choose.sample(offsets, choose.randrange(len(offsets))) if choose.random() < 0.3 else []
            if back:
                await settle.nack(broker, lease(part, *back), pause_ms=0)
            left = sorted(set(offsets).difference(back))
            done.extend(left)
            if left:
                await settle.acknowledge(broker, lease(part, *left))
            return True

        await drained(broker, 50, spoil, max_bytes=choose.choice([1500, 100_000]))
        assert sorted(done) == list(range(2000))


async def test_a_delayed_record_among_the_others_is_left_out_until_it_is_due(
    open_broker, clock, short_ways, small_blocks
):
    records = mixed(1000)
    async with open_broker() as broker:
        await made_topic(broker)
        reply = asyncio.get_running_loop().create_future()
        dues = [clock.now_ns() + 10**12 if number % 10 == 3 else 0 for number in range(1000)]
        batch = bytearray(codec.encode(records))
        broker.partition(TOPIC, 0).append(batch, reply.set_result, durable=True, dues=dues)
        assert await reply is None
        found = [record.offset for poll in await drained(broker) for record in poll]
        assert sorted(found) == [number for number in range(1000) if number % 10 != 3]
    assert short_ways[True]


async def test_runs_of_lanes_are_kept_within_their_bounds(open_broker, small_blocks, monkeypatch):
    monkeypatch.setattr(lane_runs, "MOST_BYTES", 5000)
    async with open_broker() as broker:
        await made_topic(broker)
        await published(broker, *mixed(2000))
        await drained(broker)
        kept = broker.lane_runs._runs.values()
        assert sum(run.size for run in kept) == broker.lane_runs._bytes <= 5000
        assert sum(broker.lane_runs._partitions.values()) == len(kept)


async def test_with_a_backlog_in_many_partitions_blocks_are_smaller(open_broker, small_blocks, monkeypatch):
    monkeypatch.setattr(lane_runs, "MOST_BYTES", 16_000)
    async with open_broker() as broker:
        await made_topic(broker, partitions=4)
        assert broker.lane_runs.widths(100) == [64, 16]
        for number in range(4):
            await published(broker, *[Record(value=b"x", priority=lane % 2) for lane in range(64)], partition=number)
            partition = broker.partition(TOPIC, number)
            assert (
                await gather_lanes(broker, partition, [LanePart(0, [2, 4]), LanePart(1, [11, 13])], 10_000) is not None
            )
        assert broker.lane_runs.widths(100) == [16]
        assert broker.lane_runs.widths(100_000) == []
        monkeypatch.setattr(lane_runs, "MOST_BYTES", 4000)
        await gather_lanes(broker, partition, [LanePart(0, [42, 44]), LanePart(1, [51, 53])], 10_000)
        assert len(broker.lane_runs._partitions) < 4


async def test_the_end_of_the_log_is_read_in_smaller_blocks_and_what_is_no_block_yet_in_another_way(
    open_broker, small_blocks
):
    async with open_broker() as broker:
        await made_topic(broker)
        await published(broker, *[Record(value=b"x", priority=number % 2) for number in range(100)])
        partition = broker.partition(TOPIC, 0)
        found = await gather_lanes(broker, partition, [LanePart(0, [2, 4]), LanePart(1, [67, 69])], 10_000)
        assert list(found.offsets) == [2, 4, 67, 69]
        assert {run.end for run in broker.lane_runs._runs.values()} == {64, 80}
        assert await gather_lanes(broker, partition, [LanePart(0, [2, 4]), LanePart(1, [97, 99])], 10_000) is None
        assert await gather_lanes(broker, partition, [LanePart(0, [2, 6]), LanePart(1, [5, 9])], 10_000) is None
        assert await gather_lanes(broker, partition, [LanePart(0, [2, 4]), LanePart(1, [67, 69])], 100) is None
        assert await gather_lanes(broker, partition, [LanePart(0, [2, 3]), LanePart(1, [67, 69])], 10_000) is None


async def test_large_records_are_not_read_ahead(open_broker, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1000)
    async with open_broker() as broker:
        await made_topic(broker)
        await published(broker, *[Record(value=bytes(100), priority=number % 5) for number in range(300)])
        polls = await drained(broker)
        assert sum(map(len, polls)) == 300
        assert not broker.lane_runs._runs


def noted_reads(monkeypatch, broker):
    """Ranges of the log that were read."""
    seen = []
    log = broker.partition(TOPIC, 0).log

    def noted(offset, max_bytes, end):
        seen.append((offset, end))
        return log.read(offset, max_bytes, end)

    read_by(monkeypatch, broker, read=noted)
    return seen


def read_by(monkeypatch, broker, **functions):
    """Have these called in place of those of the log."""
    partition = broker.partition(TOPIC, 0)
    names = [name for name in dir(partition.log) if not name.startswith("__")]
    kept = SimpleNamespace(**{name: getattr(partition.log, name) for name in names} | functions)
    monkeypatch.setattr(partition, "log", kept)


async def test_a_backlog_of_one_priority_is_read_once_for_several_polls(open_broker, small_blocks, monkeypatch):
    async with open_broker() as broker:
        await made_topic(broker, *(b"%d" % number for number in range(200)))
        log = broker.partition(TOPIC, 0).log
        peeked = []
        read_by(monkeypatch, broker, peek=lambda offset, size: peeked.append(offset) or log.peek(offset, size))
        reads = noted_reads(monkeypatch, broker)
        polls = await drained(broker, 10)
        assert [[one.value for one in poll] for poll in polls] == [
            [b"%d" % number for number in range(first, first + 10)] for first in range(0, 200, 10)
        ]
        assert peeked == [0, 64, 128]
        # The last ones are no block yet.
        assert all(first >= 190 for first, _ in reads)


async def test_what_is_one_read_for_one_poll_is_not_read_ahead(open_broker, small_blocks, monkeypatch):
    async with open_broker() as broker:
        await made_topic(broker, *(b"%d" % number for number in range(200)))
        reads = noted_reads(monkeypatch, broker)
        polls = await drained(broker, 20)
        assert sum(map(len, polls)) == 200
        assert all(end - first <= 20 for first, end in reads)
        assert not broker.lane_runs._runs


@pytest.mark.parametrize("seed", range(4))
async def test_with_one_priority_returns_and_delays_every_record_is_done_exactly_once(
    open_broker, clock, short_ways, small_blocks, monkeypatch, seed
):
    monkeypatch.setattr(lane_runs, "MOST_BYTES", 10_000)
    choose = random.Random(seed)
    async with open_broker() as broker:
        await made_topic(broker, max_attempts=1000)
        reply = asyncio.get_running_loop().create_future()
        batch = bytearray(codec.encode([Record(value=b"%d" % number) for number in range(1000)]))
        dues = [clock.now_ns() + 10**9 if choose.random() < 0.01 else 0 for _ in range(1000)]
        broker.partition(TOPIC, 0).append(batch, reply.set_result, durable=True, dues=dues)
        assert await reply is None
        done = []

        async def spoil(part, number):
            offsets = [record.offset for record in codec.decode(part.records)]
            back = choose.sample(offsets, choose.randrange(len(offsets))) if choose.random() < 0.2 else []
            if back:
                await settle.nack(broker, lease(part, *back), pause_ms=0)
            left = sorted(set(offsets).difference(back))
            done.extend(left)
            if left:
                await settle.acknowledge(broker, lease(part, *left))
            return True

        await drained(broker, 10, spoil)
        assert sorted(done) == [number for number in range(1000) if not dues[number]]
    assert short_ways[True]
    assert short_ways[False]


@pytest.mark.parametrize("priorities", [1, 2])
async def test_records_that_the_log_has_no_more_are_passed_over_and_hold_up_nobody(
    open_broker, small_blocks, monkeypatch, priorities
):
    gone = {5, 70, 71, 150}
    async with open_broker() as broker:
        await made_topic(broker)
        await published(broker, *[Record(value=b"x", priority=number % priorities + 2) for number in range(256)])
        log = broker.partition(TOPIC, 0).log

        def left_of(records):
            whole = bytes(records[: codec.scan(records).end])
            kept = [one.offset for one in codec.decode(whole) if one.offset not in gone]
            return codec.pick(whole, array("q", kept).tobytes())[0]

        def read_left(offset, max_bytes, end):
            chunk = log.read(offset, max_bytes, end)
            return msgspec.structs.replace(chunk, records=left_of(chunk.records))

        def peek_left(offset, max_bytes):
            return left_of(log.peek(offset, max_bytes))

        read_by(monkeypatch, broker, read=read_left, peek=peek_left)
        polls = await drained(broker, 10)
        assert sorted(one.offset for poll in polls for one in poll) == sorted(set(range(256)) - gone)
        assert broker.queues.get("billing", LOG).delivery.floor == 256


@pytest.mark.parametrize("priorities", [1, 2])
async def test_a_damaged_record_is_not_delivered_and_those_around_it_are(
    open_broker, small_blocks, tmp_path, priorities
):
    async with open_broker() as broker:
        await made_topic(broker)
        await published(broker, *[Record(value=b"x" * 20, priority=number % priorities + 2) for number in range(64)])
        (file,) = (tmp_path / "data" / "logs" / TOPIC / "0").glob("*.log")
        content = bytearray(file.read_bytes())
        content[33 * len(content) // 64 - 1] ^= 1
        file.write_bytes(content)
        polls = await drained(broker, 10)
        assert sorted(one.offset for poll in polls for one in poll) == [*range(32), *range(33, 64)]


async def test_with_key_order_all_priorities_are_one_lane_and_none_is_left_out(open_broker, small_blocks):
    async with open_broker() as broker:
        await made_topic(broker)
        await published(broker, *[Record(value=b"x", priority=number % LANES) for number in range(200)])
        # Another group has made runs of the lanes.
        assert sum(map(len, await drained(broker, 10))) == 200
        polls = []
        while parts := await take(broker, 10, group="by-key", in_key_order=True):
            polls.append([one.offset for one in codec.decode(parts[0].records)])
            await settle.acknowledge(broker, lease(parts[0], group="by-key"))
        assert polls == [list(range(first, first + 10)) for first in range(0, 200, 10)]


async def test_a_deleted_topic_leaves_nothing_of_its_backlog_in_memory(open_broker, small_blocks):
    async with open_broker() as broker:
        await made_topic(broker)
        await published(broker, *mixed(COUNT))
        await take(broker, 100)
        log = weakref.ref(broker.partition(TOPIC, 0).log)
        await delete_topic(broker, TOPIC)
        gc.collect()
        assert log() is None
