"""A refused write leaves memory exactly as the journal is.

A life touches each kind of state. It is lived once for each of its writes, which is then refused; whenever the broker
is idle, its state is compared with a replay of what was written.
"""

import asyncio
from contextlib import suppress

import msgspec
import pytest

from goqueue import codec
from goqueue.adapters.memory.ids import MemoryIdIndex
from goqueue.adapters.memory.store import MemoryDisk, MemoryStore
from goqueue.adapters.schemas.protoc import compile_files
from goqueue.core.delivery.group_policies import GroupPolicy
from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.core.schedules.schedule import ScheduleConfig, SchedulePatch
from goqueue.core.schemas.policies import Config, Level
from goqueue.core.schemas.schema import Schema
from goqueue.core.transactions.outcomes import Outcomes
from goqueue.engine.broker import Broker
from goqueue.engine.delays import cancel_delay, cancel_delays, reschedule_delay
from goqueue.engine.expiry import forget_transactional_ids
from goqueue.engine.firing import fire_due as fire_delays
from goqueue.engine.groups import (
    JoinRequest,
    OffsetReset,
    commit_offsets,
    confirm_revoked,
    delete_group,
    heartbeat,
    join_group,
    leave_group,
    pause_group,
    reset_offsets,
)
from goqueue.engine.partition import ProducerBatch
from goqueue.engine.placement import Placement
from goqueue.engine.producers import init_producer
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.queue import settle
from goqueue.engine.queue.policies import set_policy
from goqueue.engine.schedules import change_schedule, create_schedule, delete_schedule, fire_due, pause_schedule
from goqueue.engine.schemas.changing import delete_subject, register_schema, remove_config, set_config
from goqueue.engine.topics import amend_topic, create_topic, delete_topic
from goqueue.engine.transactions.beginning import add_offsets, begin, begin_part, enlist, prepare
from goqueue.engine.transactions.ending import abort, abort_overdue, commit, decide
from goqueue.engine.transactions.joining import InTransaction
from goqueue.engine.transactions.pledging import pledge
from goqueue.errors import GoQueueError, StorageBusy
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.record_id import ID_HEADER
from goqueue.model.topic import TopicConfig, topic_name
from goqueue.testing.clock import FakeClock
from goqueue.testing.entropy import SeededEntropy
from tests.unit.engine.queue_scene import LOG, TOPIC, lease, steps, take

OTHER, REPORTS = topic_name("other"), topic_name("reports")
MS = 1_000_000


class RefusingStore(MemoryStore):
    """Refuses one entry, counted from the first."""

    def __init__(self, disk: MemoryDisk, refused: int | None) -> None:
        super().__init__(disk)
        self.refused = refused
        self.entries = 0

    def write(self, entries):
        return [outcome for entry in entries for outcome in self._write_one(entry)]

    def _write_one(self, entry):
        self.entries += 1
        return [StorageBusy("refused")] if self.entries - 1 == self.refused else super().write([entry])


def broker_on(store: MemoryStore, clock: FakeClock) -> Broker:
    return Broker(store, clock, SeededEntropy(), MemoryIdIndex(), compile_files)


class Life:
    def __init__(self, broker: Broker, clock: FakeClock, disk: MemoryDisk, store: RefusingStore) -> None:
        self.broker = broker
        self.clock = clock
        self.disk = disk
        self.store = store

    async def live(self) -> None:
        for step in (self.topics, self.records, self.groups, self.queue, self.delays, self.schedules, self.schemas):
            await step()
            await self.compare()
        for step in (self.transactions, self.parts, self.ends):
            await step()
            await self.compare()

    async def attempt(self, *work):
        """Each of them, refused or not; the result of the last one."""
        result = None
        for one in work:
            with suppress(GoQueueError):
                result = await one
            await self.compare()
        return result

    async def compare(self) -> None:
        """With what a restart would find, once something was refused, or always if nothing is to be."""
        if self.store.refused is not None and self.store.entries <= self.store.refused:
            return
        await self.broker.commit.drain()
        await steps(3)
        replayed = broker_on(MemoryStore(MemoryDisk()), self.clock).streams
        for entry in self.disk.journal:
            for event in entry.events:
                replayed.apply(event)
        live = self.broker.streams
        for stream in sorted({name for streams in (live, replayed) for name, _ in streams.machines("")}):
            assert shown(live, stream) == shown(replayed, stream), stream

    # What happens in it.

    async def topics(self) -> None:
        broker = self.broker
        config = TopicConfig(dedup_window_ms=60_000, max_attempts=2, retry_backoff_ms=1)
        await self.attempt(create_topic(broker, TOPIC, 2, config), create_topic(broker, OTHER, 1, TopicConfig()))
        await self.attempt(
            amend_topic(broker, TOPIC, lambda found: msgspec.structs.replace(found, retention_ms=5)),
            delete_topic(broker, OTHER),
            create_topic(broker, TOPIC, 2, config),
            create_topic(broker, OTHER, 1, TopicConfig()),
            create_topic(broker, REPORTS, 1, TopicConfig()),
        )

    def publish(self, *values, **options):
        ids = options.get("ids") or [None] * len(values)
        headers = [() if one is None else ((ID_HEADER, one.encode()),) for one in ids]
        priority = options.pop("priority", 2)
        records = [
            Record(value=value, headers=some, priority=priority) for value, some in zip(values, headers, strict=True)
        ]
        topic = options.pop("topic", TOPIC)
        return publish_and_wait(self.broker, PublishBatch(topic, 0, bytearray(codec.encode(records)), **options))

    async def records(self) -> None:
        later = self.clock.now_ns() + 1000 * MS
        await self.attempt(
            *(self.publish(b"plain") for _ in range(8)),
            self.publish(b"urgent", b"too", priority=0),
            self.publish(b"later", b"now", dues=[later, 0]),
            self.publish(b"later", dues=[later + MS], priority=4),
            self.publish(b"a", b"b", ids=["a", "b"]),
            self.publish(b"a", b"c", ids=["a", "c"]),
        )
        await self.attempt(asyncio.gather(*(self.publish(b"x", ids=["same"]) for _ in range(3))))
        await self.attempt(asyncio.gather(*(self.publish(b"together", dues=[later]) for _ in range(3))))
        given = await self.attempt(init_producer(self.broker, None, 0), init_producer(self.broker, None, 0))
        given = given or await init_producer(self.broker, None, 0)
        for sequence in range(3):
            await self.attempt(self.publish(b"n", producer=ProducerBatch(*given, sequence)))
        await self.attempt(
            self.publish(b"n", b"m", producer=ProducerBatch(*given, 3), dues=[later, later]),
            self.publish(b"a", producer=ProducerBatch(*given, 5), ids=["a"]),
            init_producer(self.broker, *given),
        )

    async def groups(self) -> None:
        broker = self.broker
        joined = await self.attempt(join_group(broker, "readers", JoinRequest("a", topics=[TOPIC], member_id="a")))
        other = await self.attempt(join_group(broker, "readers", JoinRequest("b", topics=[TOPIC], member_id="b")))
        for _ in range(2):
            if joined and other:
                generation = broker.groups.group("readers").generation
                await self.attempt(
                    heartbeat(broker, "readers", "a", joined.generation, []),
                    confirm_revoked(broker, "readers", "a", generation, [LogId(TOPIC, 1)]),
                    heartbeat(broker, "readers", "b", generation, None),
                )
        await self.attempt(
            leave_group(broker, "readers", "a"),
            leave_group(broker, "readers", "b"),
            commit_offsets(broker, "readers", {LOG: OffsetAndMetadata(1)}, None, None),
            reset_offsets(broker, "readers", OffsetReset("latest")),
            pause_group(broker, "readers", paused=True),
            pause_group(broker, "readers", paused=False),
            delete_group(broker, "readers"),
        )

    async def queue(self) -> None:
        broker = self.broker
        await self.attempt(set_policy(broker, "billing", GroupPolicy(max_attempts=1)))
        for settled in (
            lambda part: settle.acknowledge(broker, lease(part)),
            lambda part: settle.nack(broker, lease(part), reason="no"),
            lambda part: settle.reject(broker, lease(part), reason="never"),
            lambda part: settle.extend(broker, lease(part), 50_000),
            lambda part: settle.give_back(broker, lease(part)),
        ):
            taken = await self.attempt(take(broker, 2)) or []
            await self.attempt(*map(settled, taken))
        taken = await self.attempt(take(broker, 3, visibility_ms=5)) or []
        self.clock.advance_ms(10)
        await self.attempt(settle.return_overdue(broker), settle.return_overdue(broker))
        taken = await self.attempt(asyncio.gather(*(take(broker, 1) for _ in range(3)))) or []
        await self.attempt(
            *(settle.acknowledge(broker, lease(part)) for parts in taken for part in parts),
            commit_offsets(broker, "billing", {LOG: OffsetAndMetadata(3)}, None, None),
            delete_group(broker, "billing"),
        )

    async def delays(self) -> None:
        broker, later = self.broker, self.clock.now_ns() + 1000 * MS
        placed = await self.attempt(self.publish(b"1", b"2", b"3", b"4", dues=[later] * 4))
        base = placed.base_offset if placed else 0
        await self.attempt(
            cancel_delay(broker, TOPIC, 0, base),
            cancel_delays(broker, TOPIC, {0: [base, base + 1]}),
            reschedule_delay(broker, TOPIC, 0, base + 2, later + 5 * MS),
        )
        self.clock.advance_ms(2000)
        await self.attempt(fire_delays(broker), fire_delays(broker))

    async def schedules(self) -> None:
        broker = self.broker
        config = ScheduleConfig(id="report", topic=REPORTS, value=b"make it", every_s=1)
        await self.attempt(
            create_schedule(broker, config), change_schedule(broker, "report", SchedulePatch(value=b"make it well"))
        )
        self.clock.advance_ms(1000)
        await self.attempt(fire_due(broker, Placement()), fire_due(broker, Placement()))
        self.clock.advance_ms(500_000)
        await self.attempt(
            fire_due(broker, Placement()),
            pause_schedule(broker, "report", paused=True),
            pause_schedule(broker, "report", paused=False),
            delete_topic(broker, REPORTS),
        )
        self.clock.advance_ms(1000)
        await self.attempt(fire_due(broker, Placement()), delete_schedule(broker, "report"))

    async def schemas(self) -> None:
        broker, schema = self.broker, Schema("AVRO", '"string"')
        await self.attempt(
            set_config(broker, None, Config(Level.FULL)),
            register_schema(broker, "values", schema),
            register_schema(broker, "values", Schema("AVRO", '["null", "string"]')),
            remove_config(broker, None),
            delete_subject(broker, "values"),
            delete_subject(broker, "values", permanent=True),
        )

    async def begun(self, name: str = "shop") -> InTransaction | None:
        enlisted = await self.attempt(enlist(self.broker, name, 60_000))
        if enlisted is None:
            return None
        began = await self.attempt(begin(self.broker, enlisted.producer_id, enlisted.epoch))
        return began and InTransaction(began.number, enlisted.producer_id, enlisted.epoch)

    async def transactions(self) -> None:
        broker, later = self.broker, self.clock.now_ns() + 1000 * MS
        for is_committed in (True, False):
            for _ in range(3):
                await self.attempt(self.publish(b"to take"))
            if (ref := await self.begun()) is None:
                continue
            await self.attempt(
                self.publish(b"in", transaction=ref),
                self.publish(b"later", dues=[later], transaction=ref),
                self.publish(b"elsewhere", topic=OTHER, transaction=ref),
                add_offsets(broker, ref, "readers", {LOG: OffsetAndMetadata(2)}),
            )
            for action in ("ack", "nack", "reject"):
                for part in await self.attempt(take(broker, 1)) or []:
                    await self.attempt(pledge(broker, ref, lease(part), action))
            await self.attempt(commit(broker, *ref) if is_committed else abort(broker, *ref))
        await self.begun()
        self.clock.advance_ms(70_000)
        await self.attempt(abort_overdue(broker))

    async def parts(self) -> None:
        broker, numbers = self.broker, []
        for _ in range(3):
            began = await self.attempt(begin_part(broker, "key", 60_000))
            if began is not None:
                ref = InTransaction(began.number, began.producer_id, began.epoch)
                await self.attempt(self.publish(b"part", transaction=ref), prepare(broker, ref))
                numbers.append(ref.number)
        await self.attempt(decide(broker, "key", numbers[:2]), decide(broker, "key", numbers[:2]))

    async def ends(self) -> None:
        self.clock.advance_ms(60 * 24 * 3600 * 1000)
        await self.attempt(
            abort_overdue(self.broker),
            settle.return_overdue(self.broker),
            forget_transactional_ids(self.broker),
            delete_topic(self.broker, OTHER),
            delete_topic(self.broker, TOPIC),
        )


def shown(streams, stream: str) -> object:
    machine = streams.machine(stream)
    if isinstance(machine, Outcomes):
        # Ends are remembered until `stable` is called with a high watermark behind them, which all of them have by now.
        machine.stable(1 << 62)
    return msgspec.msgpack.decode(msgspec.msgpack.encode(streams.machine(stream).snapshot()))


async def lived(refused: int | None) -> int:
    """How many entries were written, or refused."""
    disk, clock = MemoryDisk(), FakeClock()
    store = RefusingStore(disk, refused)
    async with broker_on(store, clock) as broker:
        await Life(broker, clock, disk, store).live()
        return store.entries


async def test_memory_is_as_the_journal_is():
    assert await lived(None) > 100


@pytest.mark.parametrize("part", range(8))
async def test_a_refused_write_leaves_memory_as_the_journal_is(part):
    # The first entry is the key of receipts, without which a broker does not start.
    for refused in range(1 + part, await lived(None), 8):
        try:
            await lived(refused)
        except AssertionError as failure:
            raise AssertionError(f"after entry {refused} was refused") from failure
