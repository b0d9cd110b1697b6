"""The client without asyncio: the same producer, consumer and admin, with calls that block.

    from goqueue.client.sync import Consumer, Producer

    with Producer() as producer:
        print(producer.send("orders", "hello", key="customer-1").result().offset)

    with Consumer("orders", group="billing") as consumer:
        for message in consumer:
            print(message.value)

A client may be used by several threads. It does not survive a fork: make one in each process.
"""

import asyncio
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from types import TracebackType
from typing import Literal, Self, Unpack

from goqueue.client import admin as aio_admin
from goqueue.client import consumer as aio_consumer
from goqueue.client import worker as aio_worker
from goqueue.client.addresses import DEFAULT_BOOTSTRAP, Addresses
from goqueue.client.batch import Sent
from goqueue.client.blocking import Blocking
from goqueue.client.cancelling import Cancellation
from goqueue.client.fetcher import LONGEST_WAIT_MS, Start
from goqueue.client.message import Message, RawBatch
from goqueue.client.options import (
    AdminOptions,
    ConsumerOptions,
    GroupPolicyOptions,
    NewScheduleOptions,
    ProducerOptions,
    ScheduleOptions,
    WorkerOptions,
)
from goqueue.client.outbox import Delivery
from goqueue.client.part import PART_TIMEOUT_MS
from goqueue.client.stop_signals import StopSignals
from goqueue.client.sync_part import Part
from goqueue.client.sync_producer import Producer
from goqueue.client.sync_transaction import Transaction
from goqueue.client.transaction_admin import BlockingTransactionAdmin
from goqueue.client.worker import Job, Settlement
from goqueue.errors import ClientClosed, InvalidRequest
from goqueue.model.log import LogId
from goqueue.model.topic import Cleanup, Durability, Topic, TopicConfig
from goqueue.wire.native import letters, messages, transactions
from goqueue.wire.native.letters import LetterEdit, LetterSelect

__all__ = [
    "Admin",
    "Cancellation",
    "Cleanup",
    "Consumer",
    "Delivery",
    "Durability",
    "Job",
    "LetterEdit",
    "LetterSelect",
    "LogId",
    "Message",
    "Part",
    "Producer",
    "RawBatch",
    "Sent",
    "Settlement",
    "Topic",
    "TopicConfig",
    "Transaction",
    "Worker",
]


class Consumer(Blocking):
    """Reads the records of topics: alone, or as a member of a group that shares the partitions.

    Without a group every partition of the topics is read, and nothing is committed. In a group, what was delivered is
    committed every five seconds, once the next message is asked for: what a program was working on when it failed is
    delivered again. With `auto_commit_ms=None` only `commit` does so.

    Example:

        from goqueue import Consumer

        with Consumer("orders", group="billing") as consumer:
            for message in consumer:
                print(message.key, message.json())

    Settings:

    - `bootstrap`: HOST:PORT of the broker; several with commas between them, or a list: the first that answers is
      used.
    - `group`: the consumer group to be a member of. `pattern`: read the topics whose names match, in a group.
    - `connect_timeout_ms` (5000): how long connecting may take, and how long a broker that never answered is waited
      for.
    - `start` ("earliest"): where to begin without a committed offset; "latest" reads only what is written from now
      on.
    - `auto_commit_ms` (5000): how often to commit; None: only `commit` does.
    - `max_bytes` (1048576): how much to fetch at once.
    - `isolation` ("read_committed"): "read_uncommitted" also reads what open and aborted transactions wrote.
    - `protocol` ("cooperative"), `assignor` (None), `session_ms` (30000): how the group shares partitions, and after
      which silence a member is removed. `client_id` ("goqueue-python"), `instance_id` (None): names of this member.

    Each setting that ends in `_ms` can be given as a `timedelta` by its name without `_ms`.
    """

    def __init__(
        self,
        *topics: str,
        bootstrap: Addresses = DEFAULT_BOOTSTRAP,
        group: str | None = None,
        pattern: str | None = None,
        **settings: Unpack[ConsumerOptions],
    ) -> None:
        super().__init__("consumer")
        self._client = aio_consumer.Consumer(*topics, bootstrap=bootstrap, group=group, pattern=pattern, **settings)

    def __enter__(self) -> Self:
        try:
            self._run(self._client.__aenter__)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close(self._client.__aexit__, kind, error, trace)

    def close(self) -> None:
        """Commit what was delivered, if that is done automatically, and leave the group.

        Example:

            from goqueue import Consumer

            with Consumer("orders") as consumer:
                print(len(consumer.poll()))
                consumer.close()
        """
        self._close(self._client.close)

    def _abandon(self) -> None:
        self.close()

    # Reading.

    def __iter__(self) -> Iterator[Message]:
        while not self._is_closed:
            message = self._client._next_ready()
            if message is None:
                self._run(self._client._fill, LONGEST_WAIT_MS)
            else:
                yield message

    def poll(self, *, wait: timedelta | None = None, wait_ms: int | None = None, limit: int = 500) -> list[Message]:
        """Up to `limit` messages; none when nothing arrives within `wait`, one second by default.

        The messages of the last poll count as done.

        Example:

            from datetime import timedelta

            from goqueue import Consumer

            with Consumer("orders") as consumer:
                for message in consumer.poll(wait=timedelta(seconds=2), limit=10):
                    print(message.json())
        """
        return self._run(self._client.poll, wait=wait, wait_ms=wait_ms, limit=limit)

    def poll_raw(self, *, wait: timedelta | None = None, wait_ms: int | None = None) -> list[RawBatch]:
        """Poll for records as bytes, for `goqueue.codec` or Arrow.

        Example:

            from goqueue import Consumer

            with Consumer("orders") as consumer:
                for batch in consumer.poll_raw():
                    print(batch.topic, batch.partition, len(batch.records))
        """
        return self._run(self._client.poll_raw, wait=wait, wait_ms=wait_ms)

    # Partitions and offsets.

    @property
    def assigned(self) -> frozenset[LogId]:
        """The partitions that are read now.

        Example:

            from goqueue import Consumer

            with Consumer("orders") as consumer:
                print(sorted(consumer.assigned))
        """
        return self._client.assigned

    def commit(self, offsets: Mapping[LogId, int] | None = None) -> None:
        """Commit these offsets: everything below them is done. Without offsets, everything delivered so far.

        Example:

            from goqueue import Consumer

            with Consumer("orders", group="reports", auto_commit_ms=None) as consumer:
                for message in consumer.poll():
                    print(message.offset)
                consumer.commit()
        """
        self._run(self._client.commit, offsets)

    def offsets_at(self, partitions: Iterable[LogId], at: Start | int | datetime) -> dict[LogId, int]:
        """The earliest or latest offset of each, or the first whose record is not older than a time.

        The time is a `datetime`, or nanoseconds since 1970.

        Example:

            from datetime import UTC, datetime, timedelta

            from goqueue import Consumer

            with Consumer("orders") as consumer:
                yesterday = datetime.now(UTC) - timedelta(days=1)
                for partition, offset in consumer.offsets_at(consumer.assigned, yesterday).items():
                    consumer.seek(partition, offset)
        """
        return self._run(self._client.offsets_at, partitions, at)

    def position(self, partition: LogId) -> int:
        """The offset that comes next; of a partition that is read, once it was polled.

        Example:

            from goqueue import Consumer

            with Consumer("orders") as consumer:
                for partition in consumer.assigned:
                    print(partition, consumer.position(partition))
        """
        return self._call(self._client.position, partition)

    def seek(self, partition: LogId, offset: int) -> None:
        """Go on reading there.

        Example:

            from goqueue import Consumer

            with Consumer("orders") as consumer:
                for partition in consumer.assigned:
                    consumer.seek(partition, 0)
        """
        self._call(self._client.seek, partition, offset)

    def pause(self, *partitions: LogId) -> None:
        """Read nothing from these until `resume`; they stay assigned.

        Example:

            from goqueue import Consumer

            with Consumer("orders") as consumer:
                consumer.pause(*consumer.assigned)
                print(consumer.poll(wait_ms=100))
        """
        self._call(self._client.pause, *partitions)

    def resume(self, *partitions: LogId) -> None:
        """Go on reading partitions that were paused.

        Example:

            from goqueue import Consumer

            with Consumer("orders") as consumer:
                consumer.pause(*consumer.assigned)
                consumer.resume(*consumer.assigned)
        """
        self._call(self._client.resume, *partitions)


class Worker(Blocking):
    """Takes jobs from a queue: each record goes to one worker of the group, which says what became of it.

    A job that is not settled in time goes to another worker; one that fails too often goes to the dead letters.
    Leaving the block, also by an exception, gives back every job that was taken and not settled.

    Example:

        from goqueue import Worker

        with Worker("orders", group="billing") as worker:
            for job in worker:
                print(job.json())
                worker.ack(job)

    Settings:

    - `bootstrap`: HOST:PORT of the broker; several with commas between them, or a list: the first that answers is
      used.
    - `group`: the queue group, whose workers share the records.
    - `connect_timeout_ms` (5000): how long connecting may take, and how long a broker that never answered is waited
      for.
    - `visibility_ms` (None): how long a job is this worker's before the broker gives it to another one; None leaves
      it to the group and the topic.
    - `prefetch` (100): how many jobs a loop takes at once. `max_bytes` (4194304): how many bytes one take may bring.
    - `key_order` (False): jobs with the same key are done one after the other.
    - `start` ("earliest"): where a new group begins. `client_id` ("goqueue-python"): the name of this worker.

    Each setting that ends in `_ms` can be given as a `timedelta` by its name without `_ms`.
    """

    def __init__(
        self, *topics: str, bootstrap: Addresses = DEFAULT_BOOTSTRAP, group: str, **settings: Unpack[WorkerOptions]
    ) -> None:
        super().__init__("worker")
        self._client = aio_worker.Worker(*topics, bootstrap=bootstrap, group=group, **settings)

    def __enter__(self) -> Self:
        try:
            self._run(self._client.__aenter__)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back every job that was taken and not settled, so that another worker can have it at once.

        Example:

            from goqueue import Worker

            with Worker("orders", group="billing") as worker:
                worker.take(10)
                worker.close()
        """
        self._close(self._client.close)

    def _abandon(self) -> None:
        self.close()

    # Taking.

    def __iter__(self) -> Iterator[Job]:
        while not self._is_closed:
            try:
                job = self._call(self._client._next_ready)
                if job is None:
                    self._run(self._client._fill)
                    continue
            except ClientClosed:
                # By another thread, while this one waited.
                return
            yield job

    def take(self, limit: int = 100, *, wait: timedelta | None = None, wait_ms: int | None = None) -> list[Job]:
        """Up to `limit` jobs; none when nothing is ready within `wait`, one second by default.

        Example:

            from datetime import timedelta

            from goqueue import Worker

            with Worker("orders", group="billing") as worker:
                jobs = worker.take(10, wait=timedelta(seconds=5))
                worker.ack(*jobs)
        """
        return self._run(self._client.take, limit, wait=wait, wait_ms=wait_ms)

    # A handler for each.

    def run(self, handler: Callable[[Job], object], *, concurrency: int = 1) -> None:
        """Call the handler for each job, until SIGTERM, SIGINT or `stop`; up to `concurrency` threads at a time.

        A job is acknowledged when its handler returns. When it raises, the job is tried again after a pause, which
        grows with its failures, and goes to the dead letters when it has failed too often; the exception is logged.
        Leases are extended as long as handlers run. A handler may also settle its job by itself.

        A run that is told to stop takes no more jobs, finishes those that were begun, and gives the others back. A
        second signal does what it would do without this.

        Example:

            from goqueue import Job, Worker

            def handle(job: Job) -> None:
                print(job.json())

            with Worker("orders", group="billing") as worker:
                worker.run(handle, concurrency=8)
        """
        if inspect.iscoroutinefunction(handler):
            raise InvalidRequest("the handler must be a function", hint="use goqueue.client.Worker for async def")
        self._hold_loop()
        with (
            ThreadPoolExecutor(max(concurrency, 1), thread_name_prefix="goqueue-handler") as threads,
            StopSignals(lambda: self._background.call_from_signal(self._client.stop)),
        ):

            async def handle(job: Job) -> object:
                return await asyncio.get_running_loop().run_in_executor(threads, handler, job)

            self._run(self._client._run_handler, handle, concurrency)

    def stop(self) -> None:
        """End `run`, from a handler or another thread: it takes no more jobs, finishes those that were begun, returns.

        Example:

            from goqueue import Job, Worker

            with Worker("orders", group="billing") as worker:

                def handle_one(job: Job) -> None:
                    print(job.json())
                    worker.stop()

                worker.run(handle_one)
        """
        self._call(self._client.stop)

    # What became of them.

    def ack(self, *jobs: Job) -> None:
        """Acknowledge jobs: they are done, and the group never gets them again.

        Example:

            from goqueue import Worker

            with Worker("orders", group="billing") as worker:
                for job in worker.take(10):
                    worker.ack(job)
        """
        self._run(self._client.ack, *jobs)

    def nack(
        self, *jobs: Job, reason: str = "", delay: timedelta | None = None, delay_ms: int | None = None
    ) -> Settlement:
        """Fail jobs: each is tried again after a pause, which grows with its failures unless it is given.

        Example:

            from datetime import timedelta

            from goqueue import Worker

            with Worker("orders", group="billing") as worker:
                for job in worker.take(1):
                    worker.nack(job, reason="the bank is closed", delay=timedelta(hours=1))
        """
        return self._run(self._client.nack, *jobs, reason=reason, delay=delay, delay_ms=delay_ms)

    def reject(self, *jobs: Job, reason: str = "") -> Settlement:
        """Reject jobs that can never be done: they go to the dead letters.

        Example:

            from goqueue import Worker

            with Worker("orders", group="billing") as worker:
                for job in worker.take(1):
                    worker.reject(job, reason="no such customer")
        """
        return self._run(self._client.reject, *jobs, reason=reason)

    def extend(self, *jobs: Job, visibility: timedelta | None = None, visibility_ms: int | None = None) -> Settlement:
        """Keep jobs for longer, counted from now.

        Example:

            from datetime import timedelta

            from goqueue import Worker

            with Worker("orders", group="billing") as worker:
                for job in worker.take(1):
                    worker.extend(job, visibility=timedelta(minutes=10))
                    worker.ack(job)
        """
        return self._run(self._client.extend, *jobs, visibility=visibility, visibility_ms=visibility_ms)

    def release(self, *jobs: Job) -> None:
        """Give jobs back untouched: another worker may have them at once, and it does not count as a failure.

        Example:

            from goqueue import Worker

            with Worker("orders", group="billing") as worker:
                worker.release(*worker.take(10))
        """
        self._run(self._client.release, *jobs)


class Admin(BlockingTransactionAdmin):
    """Creates, shows and changes topics, groups, schedules, delayed records, dead letters and transactions.

    Example:

        from goqueue import Admin

        with Admin() as admin:
            admin.create_topic("orders", partitions=3, if_not_exists=True)
            print([topic.name for topic in admin.list_topics()])

    Settings:

    - `bootstrap`: HOST:PORT of the broker; several with commas between them, or a list: the first that answers is
      used.
    - `connect_timeout_ms` (5000): how long connecting may take, and how long a broker that never answered is waited
      for.

    Each setting that ends in `_ms` can be given as a `timedelta` by its name without `_ms`.
    """

    _client: aio_admin.Admin

    def __init__(self, bootstrap: Addresses = DEFAULT_BOOTSTRAP, **settings: Unpack[AdminOptions]) -> None:
        super().__init__("admin client")
        self._client = aio_admin.Admin(bootstrap, **settings)

    def __enter__(self) -> Self:
        try:
            self._run(self._client.__aenter__)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection.

        Example:

            from goqueue import Admin

            admin = Admin()
            print(len(admin.list_topics()))
            admin.close()
        """
        self._close(self._client.close)

    def _abandon(self) -> None:
        self.close()

    # Topics.

    def list_topics(self) -> tuple[Topic, ...]:
        """Each topic with its partitions and settings.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                for topic in admin.list_topics():
                    print(topic.name, topic.partitions)
        """
        return self._run(self._client.list_topics)

    def topic_sizes(self) -> dict[str, int]:
        """The bytes on disk of each topic; none from a broker that does not tell.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                print(admin.topic_sizes()["orders"])
        """
        return self._run(self._client.topic_sizes)

    def describe_topic(self, name: str) -> Topic:
        """The partitions and settings of a topic.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                topic = admin.describe_topic("orders")
                print(topic.partitions, topic.config.max_attempts)
        """
        return self._run(self._client.describe_topic, name)

    def create_topic(
        self, name: str, partitions: int = 3, config: TopicConfig | None = None, *, if_not_exists: bool = False
    ) -> Topic:
        """Create a topic. With `if_not_exists` one that exists already is returned as it is, and nothing changes.

        Example:

            from goqueue import Admin, TopicConfig

            with Admin() as admin:
                admin.create_topic("payments", 6, TopicConfig(retention_ms=86_400_000), if_not_exists=True)
        """
        return self._run(self._client.create_topic, name, partitions, config, if_not_exists=if_not_exists)

    def alter_topic(self, name: str, config: TopicConfig) -> Topic:
        """Replace the settings of a topic, all that this client knows of.

        Example:

            from goqueue import Admin, TopicConfig

            with Admin() as admin:
                admin.alter_topic("invoices", TopicConfig(max_attempts=5))
        """
        return self._run(self._client.alter_topic, name, config)

    def delete_topic(self, name: str) -> None:
        """Delete a topic and its records.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                admin.create_topic("old-orders", if_not_exists=True)
                admin.delete_topic("old-orders")
        """
        self._run(self._client.delete_topic, name)

    def offsets_at(
        self,
        partitions: Iterable[LogId],
        at: Literal["earliest", "latest"] | int | datetime,
        *,
        isolation: messages.IsolationName = "read_committed",
    ) -> dict[LogId, int]:
        """The earliest or latest offset of each, or the first whose record is not older than a time.

        The time is a `datetime`, or nanoseconds since 1970.

        Example:

            from datetime import UTC, datetime, timedelta

            from goqueue import Admin
            from goqueue.client import LogId

            with Admin() as admin:
                partitions = [LogId("orders", number) for number in range(3)]
                print(admin.offsets_at(partitions, datetime.now(UTC) - timedelta(hours=1)))
        """
        return self._run(self._client.offsets_at, partitions, at, isolation=isolation)

    # Groups.

    def list_groups(self) -> tuple[messages.GroupSummary, ...]:
        """Each consumer group and queue group, with its state.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                for group in admin.list_groups():
                    print(group.group, group.state)
        """
        return self._run(self._client.list_groups)

    def describe_group(self, name: str) -> messages.GroupDescription:
        """The members of a group, and for each partition its reader, the committed offset and the lag.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                group = admin.describe_group("reporting")
                print(group.state, len(group.members))
        """
        return self._run(self._client.describe_group, name)

    def delete_group(self, name: str) -> None:
        """Forget a group and its offsets; it must have no members.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                admin.delete_group("obsolete")
        """
        self._run(self._client.delete_group, name)

    def pause_group(self, name: str) -> None:
        """Deliver nothing to the group's members until `resume_group`; they stay members.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                admin.pause_group("reporting")
        """
        self._run(self._client.pause_group, name)

    def resume_group(self, name: str) -> None:
        """Deliver to a paused group again.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                admin.resume_group("reporting")
        """
        self._run(self._client.resume_group, name)

    def committed_offsets(self, group: str, topics: Sequence[str] | None = None) -> dict[LogId, int]:
        """The offset at which the group goes on, for each partition where it has committed one.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                for partition, offset in admin.committed_offsets("reporting", ["orders"]).items():
                    print(partition, offset)
        """
        return self._run(self._client.committed_offsets, group, topics)

    def reset_offsets(
        self,
        group: str,
        to: Literal["earliest", "latest", "offset", "timestamp"],
        value: int | datetime | None = None,
        *,
        topics: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> tuple[messages.OffsetChange, ...]:
        """Set where the group goes on, in these topics or in all it has read; it must have no members.

        `value` is the offset, or the time as a `datetime` or in nanoseconds. With `dry_run` nothing changes.

        Example:

            from datetime import UTC, datetime, timedelta

            from goqueue import Admin

            with Admin() as admin:
                yesterday = datetime.now(UTC) - timedelta(days=1)
                for change in admin.reset_offsets("reporting", "timestamp", yesterday, dry_run=True):
                    print(change.topic, change.partition, change.before, change.after)
        """
        return self._run(self._client.reset_offsets, group, to, value, topics=topics, dry_run=dry_run)

    # Parts of larger transactions.

    def part(self, key: str, *, timeout_ms: int = PART_TIMEOUT_MS, **settings: Unpack[ProducerOptions]) -> Part:
        """One of many writers whose records become visible together, by `decide`; the settings are a producer's.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                with admin.part("export-1") as part:
                    part.send("orders", json={"id": 5})
                    token = part.prepare()
                admin.decide("export-1", [token])
        """
        return Part(self._client.part(key, timeout_ms=timeout_ms, **settings))

    def decide(self, key: str, tokens: Iterable[int]) -> transactions.PartsDecided:
        """Make the records of these prepared parts visible and abort all others under the key; repeating it is safe.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                with admin.part("export-2") as part:
                    part.send("orders", json={"id": 5})
                    token = part.prepare()
                admin.decide("export-2", [token])
        """
        return self._run(self._client.decide, key, tokens)

    # Dead letters.

    def list_dead_letters(
        self,
        topic: str,
        select: letters.LetterSelect = letters.EVERY_LETTER,
        *,
        limit: int = 100,
        after: letters.Cursor | None = None,
    ) -> letters.FoundLetters:
        """A page of the dead letters of a topic, in the order in which they died; `next` is where to go on.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                found = admin.list_dead_letters("orders", limit=10)
                for letter in found.letters:
                    print(letter.origin, letter.value)
        """
        return self._run(self._client.list_dead_letters, topic, select, limit=limit, after=after)

    def dead_letter_stats(self, topic: str) -> letters.LetterCounts:
        """The number of dead letters of a topic, by cause, reason and group.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                print(admin.dead_letter_stats("orders"))
        """
        return self._run(self._client.dead_letter_stats, topic)

    def redrive_dead_letters(
        self,
        topic: str,
        select: letters.LetterSelect,
        edit: letters.LetterEdit = letters.UNCHANGED,
        *,
        dry_run: bool = False,
        limit: int = 1000,
        per_second: float | None = None,
        after: letters.Cursor | None = None,
        ends: tuple[int, ...] | None = None,
    ) -> letters.RedriveReply:
        """Send up to `limit` dead letters back to their topics; for more, go on after `next`, with `ends`.

        Example:

            from goqueue import Admin
            from goqueue.client import LetterSelect

            with Admin() as admin:
                done = admin.redrive_dead_letters("orders", LetterSelect(reason="the bank is closed"), limit=100)
                print(done.matched)
        """
        return self._run(
            self._client.redrive_dead_letters,
            topic,
            select,
            edit,
            dry_run=dry_run,
            limit=limit,
            per_second=per_second,
            after=after,
            ends=ends,
        )

    def purge_dead_letters(
        self,
        topic: str,
        select: letters.LetterSelect,
        *,
        dry_run: bool = False,
        limit: int = 1000,
        after: letters.Cursor | None = None,
        ends: tuple[int, ...] | None = None,
    ) -> letters.RedriveReply:
        """Delete up to `limit` dead letters, for good.

        Example:

            from goqueue import Admin
            from goqueue.client import LetterSelect

            with Admin() as admin:
                would = admin.purge_dead_letters("orders", LetterSelect(group="billing"), dry_run=True)
                print(would.matched)
        """
        return self._run(
            self._client.purge_dead_letters, topic, select, dry_run=dry_run, limit=limit, after=after, ends=ends
        )

    # Delayed records.

    def list_delayed(self, topic: str, *, skip: int = 0, limit: int = 100) -> messages.DelayedList:
        """The pending records of a topic, the next one to be due first, and how many there are in all.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                found = admin.list_delayed("orders", limit=10)
                for record in found.records:
                    print(record.partition, record.offset, record.deliver_at_ns)
        """
        return self._run(self._client.list_delayed, topic, skip=skip, limit=limit)

    def describe_delayed(
        self, topic: str, partition: int, offset: int
    ) -> tuple[messages.DelayedRecord, Message | None]:
        """The state of a delayed record, and the record itself; None when it is gone from the log.

        Example:

            from datetime import timedelta

            from goqueue import Admin, Producer

            with Producer() as producer, Admin() as admin:
                (sent,) = producer.send_many("orders", json=[{"id": 5}], delay=timedelta(hours=1))
                record, message = admin.describe_delayed("orders", sent.partition, sent.offset)
                print(record.state, message)
        """
        return self._run(self._client.describe_delayed, topic, partition, offset)

    def cancel_delayed(self, topic: str, partition: int, offset: int) -> messages.DelayedRecord:
        """Never deliver a pending record.

        Example:

            from datetime import timedelta

            from goqueue import Admin, Producer

            with Producer() as producer, Admin() as admin:
                (sent,) = producer.send_many("orders", json=[{"id": 5}], delay=timedelta(hours=1))
                admin.cancel_delayed("orders", sent.partition, sent.offset)
        """
        return self._run(self._client.cancel_delayed, topic, partition, offset)

    def cancel_delayed_many(self, topic: str, places: Iterable[tuple[int, int]]) -> Cancellation:
        """Never deliver these records, by partition and offset. One that cannot be cancelled stops no other.

        Ten thousand go in a request. When one fails, those before it are done; all can be asked again.

        Example:

            from datetime import timedelta

            from goqueue import Admin, Producer

            with Producer() as producer, Admin() as admin:
                (sent,) = producer.send_many("orders", json=[{"id": 5}], delay=timedelta(hours=1))
                cancellation = admin.cancel_delayed_many("orders", [(sent.partition, sent.offset)])
                print(len(cancellation.cancelled))
        """
        return self._run(self._client.cancel_delayed_many, topic, places)

    def reschedule_delayed(
        self,
        topic: str,
        partition: int,
        offset: int,
        *,
        delay: timedelta | None = None,
        delay_ms: int | None = None,
        deliver_at: datetime | None = None,
        deliver_at_ns: int | None = None,
    ) -> messages.DelayedRecord:
        """Deliver a pending record at another time: after a delay from now, or at an instant.

        Example:

            from datetime import timedelta

            from goqueue import Admin, Producer

            with Producer() as producer, Admin() as admin:
                (sent,) = producer.send_many("orders", json=[{"id": 5}], delay=timedelta(hours=1))
                admin.reschedule_delayed("orders", sent.partition, sent.offset, delay=timedelta(minutes=1))
        """
        return self._run(
            self._client.reschedule_delayed,
            topic,
            partition,
            offset,
            delay=delay,
            delay_ms=delay_ms,
            deliver_at=deliver_at,
            deliver_at_ns=deliver_at_ns,
        )

    def delay_stats(self) -> tuple[messages.TopicDelays, ...]:
        """How many records are pending, delivered and cancelled, in each topic that has such.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                for topic in admin.delay_stats():
                    print(topic.topic, topic.pending)
        """
        return self._run(self._client.delay_stats)

    def group_policy(self, group: str) -> messages.GroupPolicyReply:
        """The group's own settings for leases and retries; None where its topics decide.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                policy = admin.group_policy("reporting")
                print(policy.max_attempts)
        """
        return self._run(self._client.group_policy, group)

    def set_group_policy(self, group: str, **settings: Unpack[GroupPolicyOptions]) -> messages.GroupPolicyReply:
        """Give a group settings of its own, and leave the others to its topics.

        Example:

            from datetime import timedelta

            from goqueue import Admin

            with Admin() as admin:
                admin.set_group_policy("reporting", visibility_timeout=timedelta(minutes=5), max_attempts=10)
        """
        return self._run(self._client.set_group_policy, group, **settings)

    # Schedules.

    def list_schedules(self) -> tuple[messages.Schedule, ...]:
        """Each schedule, without its firings.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                for schedule in admin.list_schedules():
                    print(schedule.id, schedule.cron, schedule.next_due_ns)
        """
        return self._run(self._client.list_schedules)

    def describe_schedule(self, schedule: str) -> messages.Schedule:
        """A schedule with its last firings.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                schedule = admin.describe_schedule("hourly")
                print(schedule.status, schedule.history)
        """
        return self._run(self._client.describe_schedule, schedule)

    def create_schedule(self, schedule: str, topic: str, **settings: Unpack[NewScheduleOptions]) -> messages.Schedule:
        """Publish a record again and again: `cron` or `every` says when, `value` or `json` and `key` say what.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                admin.create_schedule("daily", "orders", cron="0 7 * * *", zone="Europe/Berlin", json={"id": 7})
        """
        return self._run(self._client.create_schedule, schedule, topic, **settings)

    def alter_schedule(self, schedule: str, **settings: Unpack[ScheduleOptions]) -> messages.Schedule:
        """Change these settings and leave the others as they are; `paused` is one of them.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                admin.alter_schedule("hourly", paused=True)
        """
        return self._run(self._client.alter_schedule, schedule, **settings)

    def delete_schedule(self, schedule: str) -> None:
        """Delete a schedule: it fires no more. What it has published stays.

        Example:

            from datetime import timedelta

            from goqueue import Admin

            with Admin() as admin:
                admin.create_schedule("weekly", "orders", every=timedelta(days=7), json={"report": "weekly"})
                admin.delete_schedule("weekly")
        """
        self._run(self._client.delete_schedule, schedule)

    # Names from before there was one rule for them.

    topics = list_topics
    topic = describe_topic
    dead_letters = list_dead_letters
    delayed = describe_delayed
    schedules = list_schedules
    schedule = describe_schedule
    change_schedule = alter_schedule
