"""Publish records: gathered into batches in the background, written once however often they have to be sent."""

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Literal, Self, TypeVar, Unpack

import msgspec
from msgspec import UNSET, UnsetType

from goqueue import codec
from goqueue.client.accumulator import NORMAL_PRIORITY, Accumulator, check_record, is_plain
from goqueue.client.addresses import DEFAULT_BOOTSTRAP, Addresses
from goqueue.client.batch import Batch, Delivery, Places, Sent, Values
from goqueue.client.enlisting import Enlistment
from goqueue.client.lane import LaneSettings
from goqueue.client.link import Link
from goqueue.client.options import ProducerOptions
from goqueue.client.partitioner import PartitionerName, TopicPartitioner
from goqueue.client.room import Room
from goqueue.client.scope import Scope
from goqueue.client.settings import checked_settings
from goqueue.client.times import duration_ms, instant_ns
from goqueue.client.tracing import Headers, current_context, with_context
from goqueue.client.transaction import Transaction
from goqueue.client.values import HeaderItems, Text, as_headers, as_key, as_keys, as_value, as_values
from goqueue.codec.compression import CompressionName, compressor
from goqueue.errors import (
    BufferFull,
    ClientClosed,
    GoQueueError,
    InvalidRequest,
    NotTransactional,
    RecordTooLarge,
    TransactionEnded,
)
from goqueue.model.delay import AT_ONCE, check_due, due_ns
from goqueue.model.expiry import expires_ns, with_expiry
from goqueue.model.record import Record
from goqueue.model.record_id import ID_HEADER, encoded_ids, with_id
from goqueue.model.topic import Topic
from goqueue.wire.native.frames import Opcode
from goqueue.wire.native.messages import DurabilityName, Metadata, MetadataReply, ProducerIdentity

__all__ = ["Producer", "ProducerSettings"]

MANY_RECORDS = 1000
MANY_BYTES = 4 * 1024 * 1024
Given = TypeVar("Given")


class ProducerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A batch leaves when it has `batch_records` or `batch_bytes`, or is `linger_ms` old, whichever is first."""

    batch_records: int = 100
    batch_bytes: int = 64 * 1024
    linger_ms: float = 5
    buffer_records: int = 10_000
    when_full: Literal["block", "error"] = "block"
    acks: Literal["none", "leader", "all"] = "all"
    durability: DurabilityName | None = None
    compression: CompressionName | None = None
    idempotent: bool = True
    partitioner: PartitionerName = "murmur3"
    delivery_timeout_ms: int = 120_000
    connect_timeout_ms: int = 5000
    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000

    def __post_init__(self) -> None:
        for name in ("batch_records", "batch_bytes", "buffer_records", "delivery_timeout_ms", "connect_timeout_ms"):
            if getattr(self, name) < 1:
                raise InvalidRequest(f"{name} = {getattr(self, name)}", hint=f"{name} is at least 1")
        if self.linger_ms < 0:
            raise InvalidRequest(f"linger_ms = {self.linger_ms}", hint="linger_ms is 0 (send at once) or more")
        if self.transactional_id is not None and (self.acks == "none" or not self.idempotent):
            raise InvalidRequest(
                "transactions without replies, or without being idempotent",
                hint="leave acks and idempotent as they are",
            )


class Producer:
    """Publishes records: they travel in batches, and each is written once however often it has to be sent.

    Leaving the block sends what is still in the buffer.

    Example:

        from goqueue.client import Producer

        async with Producer() as producer:
            delivery = await producer.send("orders", json={"id": 5}, key="customer-1")
            print((await delivery).offset)

    Settings:

    - `bootstrap`: HOST:PORT of the broker; several with commas between them, or a list: the first that answers is
      used.
    - `connect_timeout_ms` (5000): how long connecting may take, and how long a broker that never answered is waited
      for.
    - `batch_records` (100), `batch_bytes` (65536), `linger_ms` (5): a batch leaves when it has this many records
      or bytes, or when it is this old, whichever is first.
    - `buffer_records` (10000): how many records may wait. `when_full` ("block"): wait for room, or "error".
    - `acks` ("all"): "none" does not wait for the broker. `durability` (None): "memory" or "fsync"; None leaves it to
      the topic. `idempotent` (True): what is sent again is written once.
    - `compression` (None): "zstd" or "lz4". `partitioner` ("murmur3"): "murmur2" as Kafka's, or "round_robin".
    - `delivery_timeout_ms` (120000): how long a record may take before its delivery fails.
    - `transactional_id` (None): the name that makes `transaction` possible. `transaction_timeout_ms` (60000): how
      long one may take.

    Each setting that ends in `_ms` can be given as a `timedelta` by its name without `_ms`.
    """

    def __init__(self, bootstrap: Addresses = DEFAULT_BOOTSTRAP, **settings: Unpack[ProducerOptions]) -> None:
        self._settings = checked_settings(settings, ProducerSettings)
        self._link = Link(bootstrap, self._settings.connect_timeout_ms / 1000)
        self._compress = compressor(self._settings.compression)
        self._room = Room(self._settings.buffer_records)
        self._enlistment: Enlistment | None = None
        if self._settings.transactional_id is not None:
            timeout_ms = self._settings.transaction_timeout_ms
            self._enlistment = Enlistment(self._link, self._settings.transactional_id, timeout_ms)
        self._scope = Scope(is_transactional=self._enlistment is not None)
        self._accumulator = Accumulator(
            self._link,
            LaneSettings(
                self._settings.durability, self._settings.idempotent, wants_replies=self._settings.acks != "none"
            ),
            self._scope,
            self._room,
            batch_records=self._settings.batch_records,
            batch_bytes=self._settings.batch_bytes,
            linger_s=self._settings.linger_ms / 1000,
            timeout_s=self._settings.delivery_timeout_ms / 1000,
        )
        self._topics = self._accumulator.topics

    # Sending.

    async def send(
        self,
        topic: str,
        value: Text | UnsetType | None = UNSET,
        *,
        json: object = UNSET,
        key: Text | None = None,
        headers: HeaderItems = (),
        partition: int | None = None,
        priority: int = NORMAL_PRIORITY,
        id: str | None = None,
        delay: timedelta | None = None,
        delay_ms: int | None = None,
        deliver_at: datetime | None = None,
        deliver_at_ns: int | None = None,
        ttl: timedelta | None = None,
        ttl_ms: int | None = None,
        expires_at: datetime | None = None,
        expires_at_ns: int | None = None,
    ) -> Delivery:
        """Put a record into the buffer, waiting only while it is full. Await the delivery: then it is written.

        While the topic remembers a record of the same `id`, this one is not written: the delivery says where that is.
        With a delay from now, or an instant to deliver at, the record is written at once and hidden until then. With a
        time to live, or an instant to expire at, the queue delivers it no more after that.

        In an active span of OpenTelemetry the record carries its context, unless the headers have a `traceparent`.

        Example:

            from datetime import timedelta

            from goqueue.client import Producer

            async with Producer() as producer:
                await producer.send("orders", json={"id": 5}, key="customer-1", headers={"source": "web"})
                await producer.send("orders", json={"id": 6}, delay=timedelta(minutes=5), ttl=timedelta(days=1))
                await producer.send("invoices", "text, or bytes")
        """
        if self._scope.is_transactional:
            self._scope.check(id)
        partitioner = self._topics.get(topic) or await self._load_topic(topic)
        due = AT_ONCE
        if delay is not None or delay_ms is not None or deliver_at is not None or deliver_at_ns is not None:
            due = due_of(partitioner.topic, delay_ms, deliver_at_ns, delay, deliver_at)
        record = new_record(value, json, key, headers, priority)
        if ttl_ms is not None or ttl is not None or expires_at_ns is not None or expires_at is not None:
            record = expiring(record, ttl, ttl_ms, expires_at, expires_at_ns)
        record = self._made(partitioner.topic, record, id)
        if self._room.is_full():
            await self._wait_for_room(1)
        return self._accumulator.add(partitioner, partition, record, id, due)

    def _made(self, topic: Topic, record: Record, record_id: str | None) -> Record:
        """The record as it is sent. It is refused by itself: in a batch it would take its neighbours along."""
        if self._compress is not None:
            record = self._packed(record)
        needs_check = not is_plain(record, topic)
        if record_id is not None:
            record = with_id(record, record_id)
        if needs_check:
            check_record(record, topic)
        return record

    def _packed(self, record: Record) -> Record:
        """Compressed, if that makes it smaller. What is too large before would be too large for every reader."""
        if len(record.value or b"") > codec.MAX_VALUE:
            raise RecordTooLarge(f"a value of {len(record.value or b'')} bytes, the limit is {codec.MAX_VALUE}")
        assert self._compress is not None
        return self._compress(record)

    async def send_many(
        self,
        topic: str,
        values: Sequence[Text | None] | UnsetType = UNSET,
        *,
        json: Sequence[object] | UnsetType = UNSET,
        keys: Sequence[Text | None] | None = None,
        partition: int | None = None,
        priority: int = NORMAL_PRIORITY,
        ids: Sequence[str | None] | None = None,
        delay: timedelta | None = None,
        delay_ms: int | None = None,
        deliver_at: datetime | None = None,
        deliver_at_ns: int | None = None,
    ) -> Sequence[Sent]:
        """Publish a list and wait until all of it is written; the places come in the order of the values.

        It leaves in batches of its own, at once. When one of them fails, the others are written all the same. A delay,
        or an instant to deliver at, is that of all of them. In an active span of OpenTelemetry all carry its context.

        Example:

            from goqueue.client import Producer

            async with Producer() as producer:
                sent = await producer.send_many("orders", json=[{"id": 5}, {"id": 6}], keys=["ada", "bob"])
                print([one.offset for one in sent])
        """
        return await self._send_many(
            current_context(),
            topic,
            as_values(values, json),
            keys=as_keys(keys),
            partition=partition,
            priority=priority,
            ids=ids,
            delay_ms=duration_ms("delay", delay, delay_ms),
            deliver_at_ns=instant_ns("deliver_at", deliver_at, deliver_at_ns),
        )

    async def _send_many(
        self,
        context: Headers,
        topic: str,
        values: Sequence[bytes | None],
        *,
        keys: Sequence[bytes | None] | None,
        partition: int | None,
        priority: int,
        ids: Sequence[str | None] | None,
        delay_ms: int | None,
        deliver_at_ns: int | None,
    ) -> Sequence[Sent]:
        for name, given in (("keys", keys), ("ids", ids)):
            if given is not None and len(given) != len(values):
                raise InvalidRequest(
                    f"{len(given)} {name} for {len(values)} values", hint=f"give as many {name} as values, or none"
                )
        self._check_may_send(ids)
        names = None if ids is None else encoded_ids(ids)
        partitioner = self._topics.get(topic) or await self._load_topic(topic)
        due = due_of(partitioner.topic, delay_ms, deliver_at_ns)
        deliveries: list[tuple[Batch, Sequence[int]]] = []
        for number, places in self._split(partitioner, values, keys, partition):
            for some in _stretches(places, values):
                chosen = Values(_at(some, values), None if keys is None else _at(some, keys), context, priority)
                records: list[Record] | Values = chosen
                if names is not None or self._compress is not None:
                    records = self._made_singly(chosen, None if names is None else _at(some, names))
                await self._room.until_fits(len(some))
                batch = self._accumulator.new_batch(topic, number)
                batch.fill(records)
                batch.ids = None if ids is None else list(_at(some, ids))
                batch.dues = [due] * len(some) if due else None
                batch.partitions = partitioner.chosen_among(None if keys is None else b"", partition)
                self._accumulator.send_at_once(batch, len(some))
                deliveries.append((batch, some))
        for batch, _ in deliveries:
            batch.error_was_seen = True
            if not batch.is_done:
                await batch.wait()
            batch.outcome()
        return Places(deliveries, len(values))

    def _made_singly(self, given: Values, ids: Sequence[bytes | None] | None) -> list[Record]:
        """Records that differ in more than their values and keys."""
        nothing = [None] * len(given.values)
        records = [
            Record(value, key, given.headers if id is None else (*given.headers, (ID_HEADER, id)), given.priority)
            for value, key, id in zip(given.values, given.keys or nothing, ids or nothing, strict=True)
        ]
        return records if self._compress is None else [self._packed(record) for record in records]

    @staticmethod
    def _split(
        partitioner: TopicPartitioner,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None] | None,
        partition: int | None,
    ) -> Iterable[tuple[int, Sequence[int]]]:
        """Positions in the list by partition; without keys a whole stretch goes to one partition."""
        if partition is not None:
            return [(partitioner.pick(None, partition), range(len(values)))]
        if keys is None:
            stretches = range(0, len(values), MANY_RECORDS)
            return [(partitioner.move_on(), range(s, min(s + MANY_RECORDS, len(values)))) for s in stretches]
        places: dict[int, list[int]] = {}
        for place, key in enumerate(keys):
            places.setdefault(partitioner.pick(key, None), []).append(place)
        return places.items()

    async def send_batch(self, topic: str, partition: int, records: bytes, count: int) -> Delivery:
        """Send records that are encoded already (`goqueue.codec.encode`); the delivery is that of the first.

        Example:

            from goqueue import codec
            from goqueue.client import Producer
            from goqueue.model.record import Record

            async with Producer() as producer:
                records = codec.encode([Record(b'{"id": 5}'), Record(b'{"id": 6}')])
                await producer.send_batch("orders", 0, records, 2)
        """
        self._check_may_send()
        partitioner = self._topics.get(topic) or await self._load_topic(topic)
        await self._wait_for_room(count)
        batch = self._accumulator.new_batch(topic, partitioner.pick(None, partition), records, count)
        self._accumulator.send_at_once(batch, count)
        return Delivery(batch, 0)

    async def flush(self) -> None:
        """Send everything now and wait until it is written; raises the first failure that was not reported yet.

        Example:

            from goqueue.client import Producer

            async with Producer() as producer:
                for number in range(10):
                    await producer.send("orders", json={"id": number})
                await producer.flush()
        """
        self._accumulator.send_open()
        await self._accumulator.until_all_are_finished()
        failures = [error for batch, error in self._accumulator.failures if not batch.error_was_seen]
        self._accumulator.failures.clear()
        if failures:
            raise failures[0]

    async def _wait_for_room(self, wanted: int) -> None:
        if not self._room.is_full(wanted):
            return
        if self._settings.when_full == "error":
            raise BufferFull(f"{self._room.taken} records are in the producer's buffer")
        await self._room.until_fits(wanted)

    # Transactions.

    def transaction(self) -> Transaction:
        """What is sent inside counts when it commits. The first one fences other instances with the same id.

        Example:

            from goqueue.client import Producer

            async with Producer(transactional_id="shop-1") as producer:
                async with producer.transaction():
                    await producer.send("orders", json={"id": 5})
                    await producer.send("invoices", json={"order": 5})
        """
        if self._enlistment is None:
            raise NotTransactional("this producer has no transactions", hint="make it with a transactional_id")
        return Transaction(self, self._enlistment, self._settings.transaction_timeout_ms)

    def _check_may_send(self, ids: str | Sequence[str | None] | None = None) -> None:
        self._accumulator.check()
        if self._scope.is_transactional:
            self._scope.check(ids)

    async def _write_as(self, producer_id: int, epoch: int) -> None:
        """Records are numbered anew under another identity."""
        identity = ProducerIdentity(producer_id, epoch)
        accumulator = self._accumulator
        if accumulator.lane_settings.identity != identity:
            accumulator.lane_settings = msgspec.structs.replace(accumulator.lane_settings, identity=identity)
            await accumulator.close_lanes()

    async def _settle(self) -> None:
        """Send everything, and wait until it is written or has failed."""
        self._accumulator.send_open()
        while self._accumulator.unfinished:
            await self._accumulator.until_all_are_finished()
        self._accumulator.failures.clear()

    async def _drop(self, number: int) -> bool:
        """Send nothing more of this transaction; whether nothing was under way."""
        accumulator = self._accumulator
        was_quiet = not accumulator.unfinished
        why = TransactionEnded(f"transaction {number} was aborted before the record was confirmed")
        accumulator.fail_open(why)
        if not was_quiet:
            await accumulator.close_lanes(why)
        accumulator.failures.clear()
        return was_quiet

    # Topics and life cycle.

    async def _load_topic(self, topic: str) -> TopicPartitioner:
        self._accumulator.check()
        within_s = self._settings.delivery_timeout_ms / 1000
        reply = await self._link.ask_within(within_s, Opcode.METADATA, Metadata((topic,)), MetadataReply)
        # Another task may have asked at the same time; its turns are ours too.
        return self._topics.setdefault(topic, TopicPartitioner(reply.topics[0], self._settings.partitioner))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(flush=kind is None)

    async def close(self, *, flush: bool = True) -> None:
        """Send what is in the buffer, unless told not to, and let go of the connection.

        Example:

            from goqueue.client import Producer

            producer = Producer()
            await producer.send("orders", json={"id": 5})
            await producer.close()
        """
        if self._accumulator.is_closed:
            return
        try:
            if isinstance(self._scope.current, Transaction):
                with contextlib.suppress(GoQueueError):
                    await self._scope.current.abort()
            if flush:
                await self.flush()
        finally:
            self._accumulator.is_closed = True
            self._accumulator.fail_open(ClientClosed("the producer was closed before the record was sent"))
            await self._accumulator.close_lanes()
            await self._link.close()


def new_record(
    value: Text | UnsetType | None, json: object, key: Text | None, headers: HeaderItems, priority: int
) -> Record:
    """The record, with the context of the active span; a value and a key of bytes are taken as they are."""
    if value.__class__ is not bytes or json is not UNSET:
        value = as_value(value, json)
    if key is not None and key.__class__ is not bytes:
        key = as_key(key)
    return Record(value, key, with_context(as_headers(headers) if headers else ()), priority)


def expiring(
    record: Record, ttl: timedelta | None, ttl_ms: int | None, expires_at: datetime | None, expires_at_ns: int | None
) -> Record:
    ttl_ms = duration_ms("ttl", ttl, ttl_ms)
    expiry = expires_ns(ttl_ms, instant_ns("expires_at", expires_at, expires_at_ns), now_ns=time.time_ns())
    return record if expiry is None else with_expiry(record, expiry)


def due_of(
    topic: Topic,
    delay_ms: int | None,
    deliver_at_ns: int | None,
    delay: timedelta | None = None,
    deliver_at: datetime | None = None,
) -> int:
    """The instant that is meant, checked as far as that can be done here. 0 for at once."""
    if delay_ms is None and deliver_at_ns is None and delay is None and deliver_at is None:
        return AT_ONCE
    now_ns = time.time_ns()
    delay_ms = duration_ms("delay", delay, delay_ms)
    due = due_ns(delay_ms, instant_ns("deliver_at", deliver_at, deliver_at_ns), now_ns=now_ns)
    check_due(topic, due, since_ns=now_ns)
    return due


def _at(places: Sequence[int], given: Sequence[Given]) -> Sequence[Given]:
    """Those of a list that stand at these places."""
    return given[places.start : places.stop] if isinstance(places, range) else [given[place] for place in places]


def _stretches(places: Sequence[int], values: Sequence[bytes | None]) -> Iterator[Sequence[int]]:
    """Positions for one batch each: not too many, and not too much unless a single value is."""
    for start in range(0, len(places), MANY_RECORDS):
        yield from _halved(places[start : start + MANY_RECORDS], values)


def _halved(places: Sequence[int], values: Sequence[bytes | None]) -> Iterator[Sequence[int]]:
    # Without a step of Python for each record: most lists are short of the limit by far.
    if len(places) == 1 or sum(map(len, filter(None, _at(places, values)))) <= MANY_BYTES:
        yield places
        return
    middle = len(places) // 2
    yield from _halved(places[:middle], values)
    yield from _halved(places[middle:], values)
