"""Read records: alone from chosen partitions, or as a member of a group that shares them out."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Literal, Self, Unpack

import msgspec

from goqueue.client.addresses import DEFAULT_BOOTSTRAP, Addresses
from goqueue.client.fetcher import LONGEST_WAIT_MS, Fetched, Fetcher, Start
from goqueue.client.group_reader import GroupReader
from goqueue.client.inbox import Inbox
from goqueue.client.link import Link
from goqueue.client.membership import Subscription
from goqueue.client.message import Message, RawBatch, open_batch
from goqueue.client.options import ConsumerOptions
from goqueue.client.settings import checked_settings
from goqueue.client.times import ns_of, wait_in_ms
from goqueue.errors import BrokerUnreachable, ClientClosed, CorruptBatch, InvalidRequest
from goqueue.model.log import LogId
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["Consumer", "ConsumerSettings", "Message", "RawBatch"]

UNREACHABLE_FOR_S = 30.0
"""So long a broker may be away, for a restart say, before polls fail."""


class ConsumerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where to begin without a committed offset, how often to commit, and how much to fetch at once."""

    start: Start = "earliest"
    auto_commit_ms: int | None = 5000
    max_bytes: int = 1024 * 1024
    protocol: Literal["cooperative", "eager"] = "cooperative"
    assignor: Literal["sticky", "range", "round_robin"] | None = None
    session_ms: int = 30_000
    client_id: str = "goqueue-python"
    instance_id: str | None = None
    isolation: messages.IsolationName = "read_committed"
    connect_timeout_ms: int = 5000

    def __post_init__(self) -> None:
        for name in ("auto_commit_ms", "max_bytes", "connect_timeout_ms"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidRequest(f"{name} = {value}", hint=f"{name} is at least 1")


class Consumer:
    """Reads the records of topics: alone, or as a member of a group that shares the partitions.

    Without a group every partition of the topics is read, and nothing is committed. In a group, what was delivered is
    committed every five seconds, once the next message is asked for: what a program was working on when it failed is
    delivered again. With `auto_commit_ms=None` only `commit` does so.

    Example:

        from goqueue.client import Consumer

        async with Consumer("orders", group="billing") as consumer:
            async for message in consumer:
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
        if not topics and pattern is None:
            raise InvalidRequest("nothing to read", hint="name at least one topic, or a pattern")
        if pattern is not None and group is None:
            raise InvalidRequest("a pattern without a group", hint="give a group, whose members follow the pattern")
        chosen = checked_settings(settings, ConsumerSettings)
        self._topics = topics
        self._link = Link(bootstrap, chosen.connect_timeout_ms / 1000)
        self._inbox = Inbox()
        self._fetcher = Fetcher(self._link, max_bytes=chosen.max_bytes, start=chosen.start, isolation=chosen.isolation)
        self._group = None if group is None else self._group_reader(group, pattern, chosen)
        self._away_since: float | None = None
        self._is_open = False
        self._is_closed = False

    def _group_reader(self, group: str, pattern: str | None, chosen: ConsumerSettings) -> GroupReader:
        wish = Subscription(
            group,
            chosen.client_id,
            self._topics,
            pattern,
            chosen.protocol,
            chosen.assignor,
            chosen.session_ms,
            chosen.instance_id,
        )
        return GroupReader(self._link, wish, self._inbox, self._fetcher, chosen.auto_commit_ms)

    # Life cycle.

    async def __aenter__(self) -> Self:
        try:
            await self._link.connection()
            if self._group is None:
                await self._take_all_partitions()
            else:
                await self._group.start()
        except BaseException:
            await self.close()
            raise
        self._is_open = True
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._inbox.abandon()
        await self.close()

    async def _take_all_partitions(self) -> None:
        reply = await self._link.ask(Opcode.METADATA, messages.Metadata(self._topics), messages.MetadataReply)
        logs = [LogId(topic.name, number) for topic in reply.topics for number in range(topic.partitions)]
        self._fetcher.positions.update(await self._fetcher.begin(logs))

    async def close(self) -> None:
        """Commit what was delivered, if that is done automatically, and leave the group.

        Example:

            from goqueue.client import Consumer

            async with Consumer("orders") as consumer:
                print(len(await consumer.poll()))
                await consumer.close()
        """
        if self._is_closed:
            return
        self._is_closed = True
        self._fetcher.ask_anew()
        try:
            if self._group is not None:
                await self._group.close()
        finally:
            await self._link.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClientClosed("this consumer is closed")
        if not self._is_open:
            raise InvalidRequest("the consumer has not begun", hint="use it as a context manager")

    # Reading.

    async def __aiter__(self) -> AsyncIterator[Message]:
        while not self._is_closed:
            message = self._next_ready()
            if message is None:
                await self._fill(LONGEST_WAIT_MS)
            else:
                yield message

    def _next_ready(self) -> Message | None:
        """The next message that is here already. The blocking consumer calls this from its own thread."""
        taken = self._inbox.take(1)
        return taken[0] if taken else None

    async def poll(
        self, *, wait: timedelta | None = None, wait_ms: int | None = None, limit: int = 500
    ) -> list[Message]:
        """Up to `limit` messages; none when nothing arrives within `wait`, one second by default.

        The messages of the last poll count as done.

        Example:

            from datetime import timedelta

            from goqueue.client import Consumer

            async with Consumer("orders") as consumer:
                for message in await consumer.poll(wait=timedelta(seconds=2), limit=10):
                    print(message.json())
        """
        self._check_open()
        taken = self._inbox.take(limit)
        if not taken:
            await self._fill(wait_in_ms(wait, wait_ms))
            taken = self._inbox.take(limit)
        return taken

    async def poll_raw(self, *, wait: timedelta | None = None, wait_ms: int | None = None) -> list[RawBatch]:
        """Poll for records as bytes, for `goqueue.codec` or Arrow.

        Example:

            from goqueue.client import Consumer

            async with Consumer("orders") as consumer:
                for batch in await consumer.poll_raw():
                    print(batch.topic, batch.partition, len(batch.records))
        """
        batches = [batch for _, batch in await self._fetch(wait_in_ms(wait, wait_ms))]
        for batch in batches:
            self._inbox.note(LogId(batch.topic, batch.partition), batch.next_offset)
        return batches

    async def _fill(self, wait_ms: int) -> None:
        """Wait until there are messages in the inbox, or time is up, or the consumer is closed."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_ms / 1000
        while True:
            fetched = await self._fetch(max(0, round(1000 * (deadline - loop.time()))))
            faults = [fault for one in fetched if (fault := self._open_and_keep(one)) is not None]
            if faults and len(faults) == len(fetched):
                raise faults[0]
            # All that came may be hidden; behind it there may be more.
            if not fetched or self._inbox.has_ready() or self._is_closed:
                return

    def _open_and_keep(self, fetched: Fetched) -> CorruptBatch | None:
        """What is wrong, when not a single message of the batch can be read; it is asked for again then."""
        log = LogId(fetched.batch.topic, fetched.batch.partition)
        try:
            opened = open_batch(fetched.batch)
        except CorruptBatch as fault:
            self._fetcher.positions[log] = fetched.asked
            return fault
        self._inbox.put(log, opened.messages, opened.next_offset)
        if opened.fault is None:
            return None
        self._fetcher.positions[log] = opened.next_offset
        return None if opened.messages else opened.fault

    async def _fetch(self, wait_ms: int) -> list[Fetched]:
        self._check_open()
        self._inbox.finish()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_ms / 1000
        while True:
            try:
                found = await self._fetch_or_reconnect(max(0, round(1000 * (deadline - loop.time()))))
            except ClientClosed:
                # By another task, while this one waited.
                return []
            if found or self._is_closed or loop.time() >= deadline:
                return found

    async def _fetch_or_reconnect(self, wait_ms: int) -> list[Fetched]:
        try:
            found = await self._fetch_once(wait_ms)
        except BrokerUnreachable:
            await self._reconnect(wait_ms / 1000)
            return []
        self._away_since = None
        return found

    async def _fetch_once(self, wait_ms: int) -> list[Fetched]:
        self._fetcher.will_look()
        if self._group is None:
            return await self._fetcher.fetch(wait_ms)
        return await self._group.fetch(wait_ms)

    async def _reconnect(self, within_s: float) -> None:
        now = asyncio.get_running_loop().time()
        self._away_since = now if self._away_since is None else self._away_since
        try:
            await self._link.connection_within(within_s)
        except BrokerUnreachable:
            if now - self._away_since > UNREACHABLE_FOR_S:
                raise

    # Partitions and offsets.

    @property
    def assigned(self) -> frozenset[LogId]:
        """The partitions that are read now.

        Example:

            from goqueue.client import Consumer

            async with Consumer("orders") as consumer:
                print(sorted(consumer.assigned))
        """
        return self._group.assigned if self._group is not None else frozenset(self._fetcher.positions)

    async def commit(self, offsets: Mapping[LogId, int] | None = None) -> None:
        """Commit these offsets: everything below them is done. Without offsets, everything delivered so far.

        Example:

            from goqueue.client import Consumer

            async with Consumer("orders", group="reports", auto_commit_ms=None) as consumer:
                for message in await consumer.poll():
                    print(message.offset)
                await consumer.commit()
        """
        self._check_open()
        if self._group is None:
            raise InvalidRequest("there is nothing to commit without a group", hint="give the consumer a group")
        await self._group.commit(offsets)

    def _for_transaction(self, offsets: Mapping[LogId, int] | None) -> tuple[messages.GroupMember, dict[LogId, int]]:
        """As whom, and up to where: everything delivered so far when nothing is said."""
        self._check_open()
        if self._group is None:
            raise InvalidRequest("there is nothing to commit without a group", hint="give the consumer a group")
        return self._group.for_transaction(offsets)

    def _committed(self, offsets: Mapping[LogId, int]) -> None:
        self._inbox.committed(offsets)

    async def offsets_at(self, partitions: Iterable[LogId], at: Start | int | datetime) -> dict[LogId, int]:
        """The earliest or latest offset of each, or the first whose record is not older than a time.

        The time is a `datetime`, or nanoseconds since 1970.

        Example:

            from datetime import UTC, datetime, timedelta

            from goqueue.client import Consumer

            async with Consumer("orders") as consumer:
                yesterday = datetime.now(UTC) - timedelta(days=1)
                for partition, offset in (await consumer.offsets_at(consumer.assigned, yesterday)).items():
                    consumer.seek(partition, offset)
        """
        return await self._fetcher.offsets_at(partitions, ns_of("at", at) if isinstance(at, datetime) else at)

    def position(self, partition: LogId) -> int:
        """The offset that comes next; of a partition that is read, once it was polled.

        Example:

            from goqueue.client import Consumer

            async with Consumer("orders") as consumer:
                for partition in consumer.assigned:
                    print(partition, consumer.position(partition))
        """
        ready = self._inbox.first_ready(partition)
        if ready is not None:
            return ready
        if partition not in self._fetcher.positions:
            raise InvalidRequest(f"{partition} is not read by this consumer, or not yet")
        return self._fetcher.positions[partition]

    def seek(self, partition: LogId, offset: int) -> None:
        """Go on reading there.

        Example:

            from goqueue.client import Consumer

            async with Consumer("orders") as consumer:
                for partition in consumer.assigned:
                    consumer.seek(partition, 0)
        """
        self._fetcher.seek(partition, offset)
        self._inbox.drop((partition,))
        self._inbox.rewind(partition, offset)

    def pause(self, *partitions: LogId) -> None:
        """Read nothing from these until `resume`; they stay assigned.

        Example:

            from goqueue.client import Consumer

            async with Consumer("orders") as consumer:
                consumer.pause(*consumer.assigned)
                print(await consumer.poll(wait_ms=100))
        """
        for log in partitions:
            ready = self._inbox.first_ready(log)
            if ready is not None:
                self.seek(log, ready)
        self._fetcher.pause(partitions)

    def resume(self, *partitions: LogId) -> None:
        """Go on reading partitions that were paused.

        Example:

            from goqueue.client import Consumer

            async with Consumer("orders") as consumer:
                consumer.pause(*consumer.assigned)
                consumer.resume(*consumer.assigned)
        """
        self._fetcher.resume(partitions)
