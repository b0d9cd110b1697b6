"""The client without asyncio: the same producer, consumer and admin, with calls that block.

    from goqueue.client.sync import Consumer, Producer

    with Producer() as producer:
        print(producer.send("orders", b"hello", key=b"customer-1").result().offset)

    with Consumer("orders", group="billing") as consumer:
        for message in consumer:
            print(message.value)

A client may be used by several threads. It does not survive a fork: make one in each process.
"""

import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, ParamSpec, Self, TypeVar

from goqueue.client import admin as aio_admin
from goqueue.client import consumer as aio_consumer
from goqueue.client import producer as aio_producer
from goqueue.client.batch import Sent
from goqueue.client.blocking import Blocking
from goqueue.client.fetcher import LONGEST_WAIT_MS, Start
from goqueue.client.link import DEFAULT_BOOTSTRAP
from goqueue.client.message import Message, RawBatch
from goqueue.client.outbox import Delivery, Outbox
from goqueue.client.producer import NORMAL_PRIORITY
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.topic import Cleanup, Durability, Topic, TopicConfig
from goqueue.wire.native import messages

__all__ = [
    "Admin",
    "Cleanup",
    "Consumer",
    "Delivery",
    "Durability",
    "LogId",
    "Message",
    "Producer",
    "RawBatch",
    "Sent",
    "Topic",
    "TopicConfig",
]


Given = ParamSpec("Given")
Result = TypeVar("Result")


class Producer(Blocking):
    """Use as a context manager; leaving it sends what is still in the buffer.

    with Producer() as producer:
        delivery = producer.send("orders", b"hello", key=b"customer-1")
        print(delivery.result().offset)
    """

    def __init__(self, bootstrap: str = DEFAULT_BOOTSTRAP, **settings: object) -> None:
        super().__init__("producer")
        self._client = aio_producer.Producer(bootstrap, **settings)
        self._outbox = Outbox(self._client, self._background)
        self._making = threading.Lock()

    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Sequence[tuple[str, bytes]] = (),
        partition: int | None = None,
        priority: int = NORMAL_PRIORITY,
        id: str | None = None,
    ) -> Delivery:
        """Put a record into the buffer, waiting only while it is full. `result` of the delivery waits for the rest.

        While the topic remembers a record of the same `id`, this one is not written: the delivery says where that is.
        """
        self._hold_loop()
        partitioner = self._client._topics.get(topic) or self._run(self._client._load_topic, topic)
        partitioner.check(partition)
        # A compressor is not for several threads at a time.
        with self._making:
            record = self._client._made(partitioner.topic, Record(value, key, tuple(headers), priority), id)
        if self._client._room.taken + len(self._outbox) >= self._client._room.limit:
            self._run_in_turn(self._client._wait_for_room, 1)
        return self._outbox.put(partitioner, partition, record, id)

    def _run_in_turn(
        self, action: Callable[Given, Coroutine[Any, Any, Result]], *args: Given.args, **kwargs: Given.kwargs
    ) -> Result:
        """Behind the records that are in the outbox."""

        async def run() -> Result:
            self._outbox.empty()
            return await action(*args, **kwargs)

        return self._run(run)

    def send_many(
        self,
        topic: str,
        values: Sequence[bytes | None],
        *,
        keys: Sequence[bytes | None] | None = None,
        partition: int | None = None,
        priority: int = NORMAL_PRIORITY,
        ids: Sequence[str | None] | None = None,
    ) -> list[Sent]:
        """Publish a list and wait until all of it is written; the places come in the order of the values.

        It leaves in batches of its own, at once. When one of them fails, the others are written all the same.
        """
        return self._run_in_turn(
            self._client.send_many, topic, values, keys=keys, partition=partition, priority=priority, ids=ids
        )

    def send_batch(self, topic: str, partition: int, records: bytes, count: int) -> Delivery:
        """Send records that are encoded already (`goqueue.codec.encode`); the delivery is that of the first."""
        delivery = self._run_in_turn(self._client.send_batch, topic, partition, records, count)
        return Delivery(self._outbox, delivery)

    def flush(self) -> None:
        """Send everything now and wait until it is written; raises the first failure that nobody was told of yet."""
        self._run_in_turn(self._client.flush)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(flush=kind is None)

    def close(self, *, flush: bool = True) -> None:
        """Send what is in the buffer, unless told not to, and let go of the connection."""

        async def close() -> None:
            self._outbox.empty()
            await self._client.close(flush=flush)

        self._close(close)

    def _abandon(self) -> None:
        self.close(flush=False)


class Consumer(Blocking):
    """Use as a context manager.

    with Consumer("orders", group="billing") as consumer:
        for message in consumer:
            print(message.value)

    Without a group every partition of the topics is read, and nothing is committed. In a group, what was delivered
    is committed every five seconds, once the next message is asked for: what a failing program was working on comes
    again. With `auto_commit_ms=None` only `commit` does so.
    """

    def __init__(
        self,
        *topics: str,
        bootstrap: str = DEFAULT_BOOTSTRAP,
        group: str | None = None,
        pattern: str | None = None,
        **settings: object,
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
        """Commit what was delivered, if that is done automatically, and leave the group."""
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

    def poll(self, *, wait_ms: int = 1000, limit: int = 500) -> list[Message]:
        """Some messages, at most `limit`; none when nothing arrives in time. Those of the last poll are done now."""
        return self._run(self._client.poll, wait_ms=wait_ms, limit=limit)

    def poll_raw(self, *, wait_ms: int = 1000) -> list[RawBatch]:
        """As `poll`, with the records as bytes, for `goqueue.codec` or Arrow."""
        return self._run(self._client.poll_raw, wait_ms=wait_ms)

    # Partitions and offsets.

    @property
    def assigned(self) -> frozenset[LogId]:
        """The partitions that are read now."""
        return self._client.assigned

    def commit(self, offsets: Mapping[LogId, int] | None = None) -> None:
        """Remember that everything below these offsets is done; without offsets, everything delivered so far."""
        self._run(self._client.commit, offsets)

    def offsets_at(self, partitions: Iterable[LogId], at: Start | int) -> dict[LogId, int]:
        """The earliest or latest offset of each, or the first whose record is not older than a time in ns."""
        return self._run(self._client.offsets_at, partitions, at)

    def position(self, partition: LogId) -> int:
        """The offset that comes next; of a partition that is read, once it was polled."""
        return self._call(self._client.position, partition)

    def seek(self, partition: LogId, offset: int) -> None:
        """Go on reading there."""
        self._call(self._client.seek, partition, offset)

    def pause(self, *partitions: LogId) -> None:
        """Read nothing from these until `resume`; they stay assigned."""
        self._call(self._client.pause, *partitions)

    def resume(self, *partitions: LogId) -> None:
        self._call(self._client.resume, *partitions)


class Admin(Blocking):
    """Use as a context manager."""

    def __init__(self, bootstrap: str = DEFAULT_BOOTSTRAP) -> None:
        super().__init__("admin client")
        self._client = aio_admin.Admin(bootstrap)

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
        self._close(self._client.close)

    def _abandon(self) -> None:
        self.close()

    # Topics.

    def topics(self) -> tuple[Topic, ...]:
        return self._run(self._client.topics)

    def topic(self, name: str) -> Topic:
        return self._run(self._client.topic, name)

    def create_topic(self, name: str, partitions: int = 3, config: TopicConfig | None = None) -> Topic:
        return self._run(self._client.create_topic, name, partitions, config)

    def alter_topic(self, name: str, config: TopicConfig) -> Topic:
        """Replace the settings of a topic."""
        return self._run(self._client.alter_topic, name, config)

    def delete_topic(self, name: str) -> None:
        self._run(self._client.delete_topic, name)

    def offsets_at(self, partitions: Iterable[LogId], at: Literal["earliest", "latest"] | int) -> dict[LogId, int]:
        """The earliest or latest offset of each, or the first whose record is not older than a time in ns."""
        return self._run(self._client.offsets_at, partitions, at)

    # Groups.

    def list_groups(self) -> tuple[messages.GroupSummary, ...]:
        return self._run(self._client.list_groups)

    def describe_group(self, name: str) -> messages.GroupDescription:
        """Its members, and for each partition who reads it, how far, and how much is left."""
        return self._run(self._client.describe_group, name)

    def delete_group(self, name: str) -> None:
        """Forget a group and its offsets; it must have no members."""
        self._run(self._client.delete_group, name)

    def pause_group(self, name: str) -> None:
        """Deliver nothing to the group's members until `resume_group`; they stay members."""
        self._run(self._client.pause_group, name)

    def resume_group(self, name: str) -> None:
        self._run(self._client.resume_group, name)

    def committed_offsets(self, group: str, topics: Sequence[str] | None = None) -> dict[LogId, int]:
        """Where the group goes on, in the partitions where it has committed something."""
        return self._run(self._client.committed_offsets, group, topics)

    def reset_offsets(
        self,
        group: str,
        to: Literal["earliest", "latest", "offset", "timestamp"],
        value: int | None = None,
        *,
        topics: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> tuple[messages.OffsetChange, ...]:
        """Set where the group goes on, in these topics or in all it has read; it must have no members.

        `value` is the offset, or the time in nanoseconds. With `dry_run` nothing changes.
        """
        return self._run(self._client.reset_offsets, group, to, value, topics=topics, dry_run=dry_run)
