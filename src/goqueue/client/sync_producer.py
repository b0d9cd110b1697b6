"""Publish records from any thread, with calls that block."""

import threading
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar, Unpack

from msgspec import UNSET, UnsetType

from goqueue.client import producer as aio_producer
from goqueue.client.accumulator import NORMAL_PRIORITY
from goqueue.client.addresses import DEFAULT_BOOTSTRAP, Addresses
from goqueue.client.batch import Sent
from goqueue.client.blocking import Blocking
from goqueue.client.options import ProducerOptions
from goqueue.client.outbox import Delivery, Outbox
from goqueue.client.producer import due_of, new_record
from goqueue.client.sync_transaction import Transaction
from goqueue.client.times import duration_ms, instant_ns
from goqueue.client.tracing import current_context
from goqueue.client.values import HeaderItems, Text, as_keys, as_values
from goqueue.model.delay import AT_ONCE

__all__ = ["Producer"]

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Producer(Blocking):
    """Publishes records: they travel in batches, and each is written once however often it has to be sent.

    Leaving the block sends what is still in the buffer. Threads may share a producer.

    Example:

        from goqueue import Producer

        with Producer() as producer:
            delivery = producer.send("orders", json={"id": 5}, key="customer-1")
            print(delivery.result().offset)

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
        self._send_through(aio_producer.Producer(bootstrap, **settings))

    def _send_through(self, producer: aio_producer.Producer) -> None:
        super().__init__("producer")
        self._client = producer
        self._outbox = Outbox(producer, self._background)
        self._making = threading.Lock()

    def send(
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
        """Put a record into the buffer, waiting only while it is full. `result` of the delivery waits for the rest.

        While the topic remembers a record of the same `id`, this one is not written: the delivery says where that is.
        With a delay from now, or an instant to deliver at, the record is written at once and hidden until then. With a
        time to live, or an instant to expire at, the queue delivers it no more after that.

        In an active span of OpenTelemetry the record carries its context, unless the headers have a `traceparent`.

        Example:

            from datetime import timedelta

            from goqueue import Producer

            with Producer() as producer:
                producer.send("orders", json={"id": 5}, key="customer-1", headers={"source": "web"})
                producer.send("orders", json={"id": 6}, delay=timedelta(minutes=5), ttl=timedelta(days=1))
                producer.send("invoices", "text, or bytes")
        """
        self._hold_loop()
        self._client._check_may_send(id)
        partitioner = self._client._topics.get(topic) or self._run(self._client._load_topic, topic)
        partitioner.check(partition)
        due = AT_ONCE
        if delay is not None or delay_ms is not None or deliver_at is not None or deliver_at_ns is not None:
            due = due_of(partitioner.topic, delay_ms, deliver_at_ns, delay, deliver_at)
        record = new_record(value, json, key, headers, priority)
        if ttl_ms is not None or ttl is not None or expires_at_ns is not None or expires_at is not None:
            record = aio_producer.expiring(record, ttl, ttl_ms, expires_at, expires_at_ns)
        # A compressor is not for several threads at a time.
        with self._making:
            record = self._client._made(partitioner.topic, record, id)
        if self._client._room.taken + len(self._outbox) >= self._client._room.limit:
            self._run_in_turn(self._client._wait_for_room, 1)
        return self._outbox.put(partitioner, partition, record, id, due)

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

            from goqueue import Producer

            with Producer() as producer:
                sent = producer.send_many("orders", json=[{"id": 5}, {"id": 6}], keys=["ada", "bob"])
                print([one.offset for one in sent])
        """
        # Taken here: the span of this thread is not that of the loop.
        return self._run_in_turn(
            self._client._send_many,
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

    def send_batch(self, topic: str, partition: int, records: bytes, count: int) -> Delivery:
        """Send records that are encoded already (`goqueue.codec.encode`); the delivery is that of the first.

        Example:

            from goqueue import Producer, codec
            from goqueue.model.record import Record

            with Producer() as producer:
                records = codec.encode([Record(b'{"id": 5}'), Record(b'{"id": 6}')])
                producer.send_batch("orders", 0, records, 2)
        """
        delivery = self._run_in_turn(self._client.send_batch, topic, partition, records, count)
        return Delivery(self._outbox, delivery)

    def flush(self) -> None:
        """Send everything now and wait until it is written; raises the first failure that was not reported yet.

        Example:

            from goqueue import Producer

            with Producer() as producer:
                for number in range(10):
                    producer.send("orders", json={"id": number})
                producer.flush()
        """
        self._run_in_turn(self._client.flush)

    def transaction(self) -> Transaction:
        """What is sent inside counts when it commits. The first one fences other instances with the same id.

        Example:

            from goqueue import Producer

            with Producer(transactional_id="shop-1") as producer:
                with producer.transaction():
                    producer.send("orders", json={"id": 5})
                    producer.send("invoices", json={"order": 5})
        """
        return Transaction(self._client.transaction(), self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(flush=kind is None)

    def close(self, *, flush: bool = True) -> None:
        """Send what is in the buffer, unless told not to, and let go of the connection.

        Example:

            from goqueue import Producer

            producer = Producer()
            producer.send("orders", json={"id": 5})
            producer.close()
        """

        async def close() -> None:
            self._outbox.empty()
            await self._client.close(flush=flush)

        self._close(close)

    def _abandon(self) -> None:
        self.close(flush=False)
