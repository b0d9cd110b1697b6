"""Publish and wait, in the thread of the caller: nothing runs in the background, and nothing is gathered.

The quickest way for a program that goes on only when a record is written. To have many under way at a time, or to
send in transactions, use a `Producer`.
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self, Unpack, overload

import msgspec
from msgspec import UNSET, UnsetType

from goqueue import codec
from goqueue.client.accumulator import NORMAL_PRIORITY
from goqueue.client.addresses import DEFAULT_BOOTSTRAP, Addresses, AttemptTimes, addresses_of, none_answers
from goqueue.client.batch import Sent
from goqueue.client.direct_connection import DirectConnection
from goqueue.client.options import PublisherOptions
from goqueue.client.partitioner import PartitionerName, TopicPartitioner
from goqueue.client.producer import due_of, expiring, new_record
from goqueue.client.settings import checked_settings
from goqueue.client.tracing import current_context
from goqueue.client.values import HeaderItems, Text, as_key, as_values
from goqueue.errors import (
    BrokerUnreachable,
    ClientClosed,
    DiskFull,
    GoQueueError,
    InvalidRequest,
    OutOfOrderSequence,
    ProducerFenced,
    RecordTooLarge,
    RequestTimeout,
    StorageBusy,
    UnknownPartition,
    UnknownProducer,
    UnknownTopic,
)
from goqueue.model.record_id import with_id
from goqueue.model.topic import TopicName
from goqueue.wire.native.frames import Opcode
from goqueue.wire.native.messages import (
    DurabilityName,
    InitProducer,
    Metadata,
    MetadataReply,
    ProducerIdentity,
    Publish,
    Published,
)

__all__ = ["Publisher"]

HEAD_BYTES = 2048
"""More than the head of a request ever takes."""
FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 1.0
PASSING = (StorageBusy, DiskFull)
"""Not written, and the same may succeed later."""
IDENTITY_LOST = (UnknownProducer, ProducerFenced, OutOfOrderSequence)
"""Not written, as the broker does not know this publisher, or knows other numbers."""

_encode = msgspec.msgpack.Encoder().encode
_decode_published = msgspec.msgpack.Decoder(Published).decode


class PublisherSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    durability: DurabilityName | None = None
    partitioner: PartitionerName = "murmur3"
    delivery_timeout_ms: int = 120_000
    connect_timeout_ms: int = 5000

    def __post_init__(self) -> None:
        for name in ("delivery_timeout_ms", "connect_timeout_ms"):
            if getattr(self, name) < 1:
                raise InvalidRequest(f"{name} = {getattr(self, name)}", hint=f"{name} is at least 1")


class _Batch(msgspec.Struct, frozen=True):
    """Encoded records for one partition, on their way."""

    topic: str
    partition: int
    count: int
    records: bytes
    ids: tuple[str | None, ...] | None = None
    partitions: int | None = None
    """How many there were when the key decided; None when it did not."""
    due: int = 0


class Publisher:
    """Publishes one record at a time and waits for it. Threads may share one, and wait for each other.

    What is sent again, as there was no answer, is written once all the same.

    Example:

        from goqueue.client.direct import Publisher

        with Publisher() as publisher:
            print(publisher.publish("orders", json={"id": 5}, key="customer-1").offset)

    Settings:

    - `bootstrap`: HOST:PORT of the broker; several with commas between them, or a list: the first that answers is
      used.
    - `connect_timeout_ms` (5000): how long connecting may take, and how long a broker that never answered is waited
      for.
    - `durability` (None): "memory" or "fsync"; None leaves it to the topic.
    - `partitioner` ("murmur3"): "murmur2" as Kafka's, or "round_robin".
    - `delivery_timeout_ms` (120000): how long a record may take before `publish` fails.

    Each setting that ends in `_ms` can be given as a `timedelta` by its name without `_ms`.
    """

    def __init__(self, bootstrap: Addresses = DEFAULT_BOOTSTRAP, **settings: Unpack[PublisherOptions]) -> None:
        self._addresses = addresses_of(bootstrap)
        self._was_connected = False
        self._settings = checked_settings(settings, PublisherSettings)
        self._turn = threading.Lock()
        self._process = os.getpid()
        self._connection: DirectConnection | None = None
        self._identity: ProducerIdentity | None = None
        self._sequences: dict[tuple[str, int], int] = {}
        """The number of the next record, for each partition."""
        self._topics: dict[str, TopicPartitioner] = {}
        self._is_closed = False

    def publish(
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
    ) -> Sent:
        """Where the record is, once it is written. The arguments are those of `Producer.send`.

        Example:

            from goqueue.client.direct import Publisher

            with Publisher() as publisher:
                publisher.publish("orders", json={"id": 5}, key="customer-1")
        """
        record = new_record(value, json, key, headers, priority)
        if ttl_ms is not None or ttl is not None or expires_at_ns is not None or expires_at is not None:
            record = expiring(record, ttl, ttl_ms, expires_at, expires_at_ns)
        key = record.key
        with self._turn:
            partitioner = self._topic(topic)
            if id is not None:
                record = with_id(record, id)
            batch = _Batch(
                topic,
                partitioner.pick(key, partition),
                1,
                codec.encode((record,)),
                None if id is None else (id,),
                partitioner.chosen_among(key, partition),
                due_of(partitioner.topic, delay_ms, deliver_at_ns, delay, deliver_at),
            )
            published = self._written(batch)
            partitioner.batch_left(batch.partition)
        if published.originals:
            (original,), (offset,) = published.originals, published.offsets or (-1,)
            return Sent(topic, original.partition, offset, original.timestamp_ns, True)
        return Sent(topic, batch.partition, published.base_offset, published.timestamp_ns, published.duplicate)

    def publish_many(
        self,
        topic: str,
        values: Sequence[Text | None] | UnsetType = UNSET,
        *,
        json: Sequence[object] | UnsetType = UNSET,
        key: Text | None = None,
        partition: int | None = None,
        priority: int = NORMAL_PRIORITY,
    ) -> Sequence[Sent]:
        """Where the records are, once they are written: together, as one batch of one partition, or not at all.

        Example:

            from goqueue.client.direct import Publisher

            with Publisher() as publisher:
                sent = publisher.publish_many("orders", json=[{"id": 5}, {"id": 6}], key="customer-1")
                print([one.offset for one in sent])
        """
        values, key = as_values(values, json), as_key(key)
        if not values:
            return ()
        with self._turn:
            partitioner = self._topic(topic)
            number, among = partitioner.pick(key, partition), partitioner.chosen_among(key, partition)
            keys = None if key is None else [key] * len(values)
            records = codec.encode_values(values, keys, current_context(), priority)
            published = self._written(_Batch(topic, number, len(values), records, partitions=among))
            partitioner.batch_left(number)
        first = Sent(topic, number, published.base_offset, published.timestamp_ns, published.duplicate)
        return SentTogether(first, len(values))

    def _topic(self, name: str) -> TopicPartitioner:
        if self._is_closed:
            raise ClientClosed("this publisher is closed")
        if os.getpid() != self._process:
            raise ClientClosed(
                f"this publisher belongs to process {self._process}, and this is its fork {os.getpid()}",
                hint="make it after the fork, one for each process",
            )
        return self._topics.get(name) or self._load_topic(name)

    def _load_topic(self, name: str) -> TopicPartitioner:
        failure: GoQueueError
        for _ in self._tries():
            try:
                (topic,) = self._connected().ask(Opcode.METADATA, Metadata((name,)), MetadataReply).topics
            except BrokerUnreachable as error:
                failure = error
            else:
                found = self._topics[name] = TopicPartitioner(topic, self._settings.partitioner)
                return found
        raise failure

    # Until it is written.

    def _written(self, batch: _Batch) -> Published:
        """Send it, and again if need be: the broker knows by its number whether it has it already."""
        sending = _Sending()
        try:
            for _ in self._tries():
                try:
                    return self._send(batch, sending)
                except BrokerUnreachable as error:
                    sending.unanswered(error)
                except PASSING as error:
                    sending.refused(error)
                except IDENTITY_LOST as error:
                    self._forget()
                    sending.refused(error)
                    if sending.is_in_doubt:
                        # Under another identity it might be written twice.
                        break
            raise sending.out_of_time()
        except GoQueueError as error:
            if isinstance(error, UnknownTopic | UnknownPartition):
                # What is known of the topic is old.
                self._topics.pop(batch.topic, None)
            if sending.is_in_doubt:
                self._forget()
            raise
        except BaseException:
            # Interrupted: the number may be that of a record that is written.
            self._forget()
            raise

    def _send(self, batch: _Batch, sending: "_Sending") -> Published:
        connection = self._connected()
        identity = self._identity
        if identity is None:
            identity = self._identity = connection.ask(Opcode.INIT_PRODUCER, InitProducer(), ProducerIdentity)
        most = connection.max_frame_bytes - HEAD_BYTES
        if len(batch.records) > most:
            raise RecordTooLarge(f"a batch of {len(batch.records)} bytes, the broker takes {most}")
        place = (batch.topic, batch.partition)
        sequence = self._sequences.get(place, 0)
        head = Publish(
            TopicName(batch.topic),
            batch.partition,
            self._settings.durability,
            identity.producer_id,
            identity.epoch,
            sequence,
            batch.ids,
            batch.partitions,
            (batch.due,) if batch.due else None,
        )
        sending.is_under_way = True
        published = connection.request(Opcode.PUBLISH, _encode(head), batch.records, _decode_published)
        self._sequences[place] = sequence + batch.count
        return published

    def _connected(self) -> DirectConnection:
        connection = self._connection
        if connection is None or connection.is_lost:
            if connection is not None:
                connection.close()
            connection = self._connection = self._connect()
            self._was_connected = True
        return connection

    def _connect(self) -> DirectConnection:
        """The first address that answers; the next time it begins with that one."""
        failures = []
        for address, within_s in AttemptTimes(self._settings.connect_timeout_ms / 1000).of(self._addresses):
            try:
                connection = DirectConnection(address, within_s)
            except BrokerUnreachable as failure:
                failures.append(failure)
            else:
                place = self._addresses.index(address)
                self._addresses = self._addresses[place:] + self._addresses[:place]
                return connection
        raise none_answers(failures)

    def _tries(self) -> Iterator[None]:
        """For as long as a record may take; the pauses between them become longer.

        A broker that never answered is waited for no longer than connecting may take: the address may be wrong.
        """
        within_ms = self._settings.delivery_timeout_ms
        if not self._was_connected:
            within_ms = min(within_ms, self._settings.connect_timeout_ms)
        deadline = time.monotonic() + within_ms / 1000
        pause_s = FIRST_PAUSE_S
        while True:
            yield
            if time.monotonic() + pause_s > deadline:
                return
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _forget(self) -> None:
        """Go on as somebody whom the broker does not know: numbers begin anew."""
        self._identity = None
        self._sequences.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection. What was published is written.

        Example:

            from goqueue.client.direct import Publisher

            publisher = Publisher()
            publisher.publish("orders", json={"id": 5})
            publisher.close()
        """
        with self._turn:
            self._is_closed = True
            if self._connection is not None:
                self._connection.close()


class SentTogether(Sequence[Sent]):
    """Places one behind the other; each is made when it is looked at."""

    def __init__(self, first: Sent, count: int) -> None:
        self._first = first
        self._steps = range(count)

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, at: int) -> Sent: ...
    @overload
    def __getitem__(self, at: slice) -> list[Sent]: ...
    def __getitem__(self, at: int | slice) -> Sent | list[Sent]:
        if isinstance(at, slice):
            return [self[place] for place in self._steps[at]]
        return self._first._replace(offset=self._first.offset + self._steps[at])

    def __repr__(self) -> str:
        return repr(list(self))


class _Sending:
    """What is known of a batch that was sent, perhaps more than once."""

    def __init__(self) -> None:
        self.is_under_way = False
        self.is_in_doubt = False
        """It was sent, and nobody has said what became of it."""
        self._last: GoQueueError

    def unanswered(self, error: GoQueueError) -> None:
        self.is_in_doubt = self.is_in_doubt or self.is_under_way
        self.is_under_way = False
        self._last = error

    def refused(self, error: GoQueueError) -> None:
        self.is_under_way = False
        self._last = error

    def out_of_time(self) -> RequestTimeout:
        doubt = "it may have been written" if self.is_in_doubt else "it was not written"
        return RequestTimeout(f"not confirmed in time ({doubt}): {self._last.message}", hint=self._last.hint)
