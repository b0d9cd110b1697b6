"""The client libraries as paths: written for asyncio, and for the blocking face each call in a thread."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import msgspec

from goqueue import client
from goqueue.client import sync
from goqueue.errors import GoQueueError
from goqueue.model.log import LogId
from goqueue.model.topic import Topic, TopicConfig
from tests.behaviour.path import (
    Ability,
    DelayFacts,
    Got,
    GroupFacts,
    Lent,
    Out,
    Place,
    Refused,
    TopicFacts,
    WorkerFacts,
)
from tests.behaviour.serving import Server

__all__ = ["AsyncioPath", "SyncPath"]


@contextmanager
def refusals() -> Iterator[None]:
    try:
        yield
    except GoQueueError as error:
        raise Refused(error.code, error.message) from error


class AsyncioPath:
    """`goqueue.client`."""

    abilities = frozenset(
        {
            Ability.TOPICS,
            Ability.RECORDS,
            Ability.GROUPS,
            Ability.CONSUMING,
            Ability.QUEUE,
            Ability.RELEASE,
            Ability.DELAYS,
            Ability.TRANSACTIONS,
        }
    )
    library: Any = client

    def __init__(self, server: Server) -> None:
        self._address = server.native
        self._admin = self.library.Admin(server.native)
        self._producers: list[Any] = []

    async def _ask(self, action: Callable[..., Any], *given: Any, **options: Any) -> Any:
        with refusals():
            answer = action(*given, **options)
            return await answer if inspect.isawaitable(answer) else answer

    @asynccontextmanager
    async def _opened(self, kind: Any) -> AsyncIterator[Any]:
        async with kind as opened:
            yield opened

    async def _outcome(self, delivery: Any) -> Any:
        with refusals():
            return await delivery

    async def _entered(self, kind: Any) -> Any:
        with refusals():
            return await kind.__aenter__()

    async def close(self) -> None:
        for producer in self._producers:
            await self._ask(producer.close, flush=False)
        await self._ask(self._admin.close)

    # Topics.

    async def create_topic(self, name: str, partitions: int = 3, **config: Any) -> TopicFacts:
        return _facts(await self._ask(self._admin.create_topic, name, partitions, TopicConfig(**config)))

    async def topic(self, name: str) -> TopicFacts:
        return _facts(await self._ask(self._admin.topic, name))

    async def topics(self) -> list[str]:
        return sorted(topic.name for topic in await self._ask(self._admin.topics))

    async def alter_topic(self, name: str, **config: Any) -> TopicFacts:
        before = (await self._ask(self._admin.topic, name)).config
        return _facts(await self._ask(self._admin.alter_topic, name, msgspec.structs.replace(before, **config)))

    async def delete_topic(self, name: str) -> None:
        await self._ask(self._admin.delete_topic, name)

    async def ends(self, topic: str) -> list[tuple[int, int]]:
        logs = [LogId(topic, number) for number in range((await self.topic(topic)).partitions)]
        first, last = [await self._ask(self._admin.offsets_at, logs, at) for at in ("earliest", "latest")]
        return [(first[log], last[log]) for log in logs]

    # Records.

    async def publish(self, topic: str, records: Sequence[Out], *, durability: str | None = None) -> list[Place]:
        producer = self.library.Producer(self._address, durability=durability)
        async with self._opened(producer) as opened:
            deliveries = [
                await self._ask(
                    opened.send,
                    topic,
                    record.value,
                    key=record.key,
                    headers=record.headers,
                    partition=record.partition,
                    priority=record.priority,
                    id=record.id,
                    delay_ms=record.delay_ms,
                    deliver_at_ns=record.deliver_at_ns,
                )
                for record in records
            ]
            sent = [await self._outcome(delivery) for delivery in deliveries]
        return [Place(one.partition, one.offset) for one in sent]

    async def read(
        self,
        topic: str,
        partition: int,
        offset: int = 0,
        limit: int = 1000,
        *,
        isolation: str = "read_committed",
    ) -> list[Got]:
        log = LogId(topic, partition)
        consumer = self.library.Consumer(topic, bootstrap=self._address, isolation=isolation)
        with refusals():
            async with self._opened(consumer) as opened:
                await self._ask(opened.pause, *(await self._assigned(opened) - {log}))
                await self._ask(opened.seek, log, offset)
                found: list[Got] = []
                while len(found) < limit:
                    some = await self._ask(opened.poll, wait_ms=0, limit=limit - len(found))
                    if not some:
                        break
                    found += [Got(*one) for one in some]
        return found

    async def _assigned(self, consumer: Any) -> frozenset[LogId]:
        return consumer.assigned

    # Transactions: a handle is a producer, and the transaction that it has begun.

    async def begin_transaction(self, transactional_id: str, timeout_ms: int = 60_000) -> Any:
        settings = {"transactional_id": transactional_id, "transaction_timeout_ms": timeout_ms}
        producer = self.library.Producer(self._address, **settings)
        self._producers.append(producer)
        return producer, await self._entered(producer.transaction())

    async def publish_in(self, handle: Any, topic: str, partition: int, values: Sequence[bytes]) -> None:
        await self._ask(handle[0].send_many, topic, values, partition=partition)

    async def ack_in(self, handle: Any, lent: Lent, action: str = "ack") -> None:
        await self._ask(getattr(handle[1], action), lent.receipt)

    async def offsets_in(self, handle: Any, group: str, topic: str, partition: int, offset: int) -> None:
        await self._ask(handle[1].add_offsets, group, {LogId(topic, partition): offset})

    async def commit_transaction(self, handle: Any) -> None:
        await self._ask(handle[1].commit)

    async def abort_transaction(self, handle: Any) -> None:
        await self._ask(handle[1].abort)

    # Groups.

    async def group(self, name: str) -> GroupFacts:
        found = await self._ask(self._admin.describe_group, name)
        return GroupFacts(
            found.state,
            {one.member_id: frozenset(LogId(*_pair(p)) for p in one.partitions) for one in found.members},
            {LogId(one.topic, one.partition): one.lag for one in found.partitions},
            found.paused,
            sum(one.delayed for one in found.partitions),
            tuple(WorkerFacts(one.consumer, one.address or None, one.since_ns, one.in_flight) for one in found.workers),
        )

    async def groups(self) -> list[str]:
        return [one.group for one in await self._ask(self._admin.list_groups)]

    async def committed(self, group: str) -> dict[LogId, int]:
        return dict(await self._ask(self._admin.committed_offsets, group))

    async def reset(
        self, group: str, to: str, value: int | None = None, *, topics: list[str], dry_run: bool = False
    ) -> dict[LogId, int]:
        changes = await self._ask(self._admin.reset_offsets, group, to, value, topics=topics, dry_run=dry_run)
        return {LogId(one.topic, one.partition): one.after for one in changes}

    async def pause_group(self, group: str, *, paused: bool) -> None:
        await self._ask(self._admin.pause_group if paused else self._admin.resume_group, group)

    async def delete_group(self, group: str) -> None:
        await self._ask(self._admin.delete_group, group)

    # Delays.

    async def delayed(self, topic: str, *, skip: int = 0, limit: int = 100) -> list[DelayFacts]:
        found = await self._ask(self._admin.list_delayed, topic, skip=skip, limit=limit)
        return [_delay(one) for one in found.records]

    async def delay(self, topic: str, place: Place) -> tuple[DelayFacts, bytes | None]:
        found, message = await self._ask(self._admin.delayed, topic, *place)
        return _delay(found), message.value

    async def cancel(self, topic: str, place: Place) -> DelayFacts:
        return _delay(await self._ask(self._admin.cancel_delayed, topic, *place))

    async def cancel_many(self, topic: str, places: Sequence[Place]) -> tuple[list[Place], dict[Place, str]]:
        found = await self._ask(self._admin.cancel_delayed_many, topic, places)
        refused = {Place(*place): error.code for place, error in found.refused.items()}
        return [Place(*place) for place in found.cancelled], refused

    async def reschedule(self, topic: str, place: Place, due_ns: int) -> DelayFacts:
        return _delay(await self._ask(self._admin.reschedule_delayed, topic, *place, deliver_at_ns=due_ns))

    async def delay_stats(self, topic: str) -> dict[str, int]:
        found = {one.topic: one for one in await self._ask(self._admin.delay_stats)}
        return {name: getattr(found[topic], name) for name in ("pending", "delivered", "cancelled")}

    @asynccontextmanager
    async def consumer(self, group: str, *topics: str, **options: Any) -> AsyncIterator["ClientConsuming"]:
        made = self.library.Consumer(*topics, bootstrap=self._address, group=group, auto_commit_ms=None, **options)
        with refusals():
            async with self._opened(made) as opened:
                yield ClientConsuming(self, opened)

    # Queue.

    @asynccontextmanager
    async def worker(
        self, group: str, *topics: str, visibility_ms: int | None = None, key_order: bool = False
    ) -> AsyncIterator["ClientWorking"]:
        settings = {"visibility_ms": visibility_ms, "key_order": key_order}
        made = self.library.Worker(*topics, group=group, bootstrap=self._address, **settings)
        async with self._opened(made) as opened:
            yield ClientWorking(self, opened)

    def forged(self, lent: Lent) -> dict[str, Lent]:
        job = lent.receipt
        grant, message, log = job.grant, job.message, job.grant.log
        other = grant.token[:-2] + ("AA" if grant.token[-2:] != "AA" else "BB")
        wrong = {
            "another token": job._replace(grant=grant._replace(token=other)),
            "half a token": job._replace(grant=grant._replace(token=grant.token[:8])),
            "no token": job._replace(grant=grant._replace(token="")),
            "the next grant": job._replace(grant=grant._replace(number=grant.number + 1)),
            "another partition": job._replace(grant=grant._replace(log=LogId(log.topic, log.partition + 1))),
            "another topic": job._replace(grant=grant._replace(log=LogId(f"{log.topic}-other", log.partition))),
            "an offset far away": job._replace(message=message._replace(offset=2**62)),
            "an offset before all": job._replace(message=message._replace(offset=-1)),
        }
        return {what: lent._replace(receipt=receipt) for what, receipt in wrong.items()}


class ClientWorking:
    def __init__(self, path: AsyncioPath, worker: Any) -> None:
        self._path = path
        self._worker = worker

    async def take(self, limit: int = 100, *, wait_ms: int = 0) -> list[Lent]:
        jobs = await self._path._ask(self._worker.take, limit, wait_ms=wait_ms)
        return [Lent(Got(*job.message), job.deliveries, job.failures, job) for job in jobs]

    async def ack(self, *lent: Lent) -> None:
        await self._path._ask(self._worker.ack, *_jobs(lent))

    async def nack(self, *lent: Lent, reason: str = "", delay_ms: int | None = None) -> None:
        await self._path._ask(self._worker.nack, *_jobs(lent), reason=reason, delay_ms=delay_ms)

    async def reject(self, *lent: Lent, reason: str = "") -> None:
        await self._path._ask(self._worker.reject, *_jobs(lent), reason=reason)

    async def extend(self, *lent: Lent, visibility_ms: int) -> None:
        await self._path._ask(self._worker.extend, *_jobs(lent), visibility_ms=visibility_ms)

    async def release(self, *lent: Lent) -> None:
        await self._path._ask(self._worker.release, *_jobs(lent))


class ClientConsuming:
    def __init__(self, path: AsyncioPath, consumer: Any) -> None:
        self._path = path
        self._consumer = consumer

    async def poll(self, *, wait_ms: int = 1000, limit: int = 500) -> list[Got]:
        return [Got(*one) for one in await self._path._ask(self._consumer.poll, wait_ms=wait_ms, limit=limit)]

    async def commit(self) -> None:
        await self._path._ask(self._consumer.commit)

    async def assigned(self) -> frozenset[LogId]:
        return await self._path._assigned(self._consumer)


class SyncPath(AsyncioPath):
    """`goqueue.client.sync`."""

    library = sync

    async def _ask(self, action: Callable[..., Any], *given: Any, **options: Any) -> Any:
        with refusals():
            return await asyncio.to_thread(action, *given, **options)

    @asynccontextmanager
    async def _opened(self, kind: Any) -> AsyncIterator[Any]:
        opened = await asyncio.to_thread(kind.__enter__)
        try:
            yield opened
        except BaseException as error:
            await asyncio.to_thread(kind.__exit__, type(error), error, error.__traceback__)
            raise
        await asyncio.to_thread(kind.__exit__, None, None, None)

    async def _outcome(self, delivery: Any) -> Any:
        return await self._ask(delivery.result, 30)

    async def _entered(self, kind: Any) -> Any:
        return await self._ask(kind.__enter__)


def _facts(topic: Topic) -> TopicFacts:
    ranges = tuple((one.start, one.stop) for one in topic.ranges)
    config = msgspec.json.decode(msgspec.json.encode(topic.config))
    return TopicFacts(topic.name, topic.partitions, topic.epoch, ranges, config)


def _jobs(lent: Sequence[Lent]) -> list[Any]:
    return [one.receipt for one in lent]


def _delay(found: Any) -> DelayFacts:
    return DelayFacts(found.partition, found.offset, found.state, found.deliver_at_ns)


def _pair(partition: Any) -> tuple[str, int]:
    return partition.topic, partition.partition
