"""One partition's way to the broker: batches leave in order, a few at a time, and are sent again in that order.

Each batch carries the lane's producer id and its own number. The broker remembers the last five batches of a
producer in a partition, so no more than five are under way, and sending one again never writes it twice.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from goqueue.client.batch import Batch, Outcome
from goqueue.client.connection import ClientConnection
from goqueue.client.link import Link
from goqueue.errors import (
    BrokerUnreachable,
    ClientClosed,
    DiskFull,
    GoQueueError,
    OutOfOrderSequence,
    ProducerFenced,
    RecordTooLarge,
    RequestTimeout,
    StorageBusy,
    UnknownProducer,
)
from goqueue.model.record_id import LONGEST_ID
from goqueue.model.topic import TopicName
from goqueue.wire.native.frames import Opcode
from goqueue.wire.native.messages import DurabilityName, InitProducer, ProducerIdentity, Publish, Published

__all__ = ["UNDER_WAY", "Finished", "Lane", "LaneSettings"]

UNDER_WAY = 5
PUBLISH = Opcode.PUBLISH
PASSING = (BrokerUnreachable, StorageBusy, DiskFull, UnknownProducer)
"""Errors after which the same batch may succeed; after UnknownProducer only if it was never in doubt."""
IDENTITY_LOST = (UnknownProducer, ProducerFenced, OutOfOrderSequence)
"""The broker does not know the lane's numbers as the lane does; later batches get a new identity."""

PUBLISH_HEAD_BYTES = 1024
"""More than the head of a publish frame ever takes, apart from ids and instants."""
ID_OVERHEAD_BYTES = 3
DUE_BYTES = 9

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 1.0

Finished = Callable[[Batch, GoQueueError | None], None]

_encode = msgspec.msgpack.Encoder().encode
_decode_published = msgspec.msgpack.Decoder(Published).decode


class LaneSettings(msgspec.Struct, frozen=True):
    durability: DurabilityName | None
    idempotent: bool
    wants_replies: bool
    identity: ProducerIdentity | None = None
    """Of a producer with transactions, whose lanes share it. Such a lane does not go on after a failure."""


class Lane:
    """Sends from callbacks while all is well; a task takes over when something has to be waited for."""

    def __init__(self, topic: str, partition: int, link: Link, settings: LaneSettings, finished: Finished) -> None:
        self._topic = TopicName(topic)
        self._partition = partition
        self._link = link
        self._settings = settings
        self._durability = settings.durability
        self._wants_replies = settings.wants_replies
        self._finished = finished
        self._queue: deque[Batch] = deque()
        self._under_way: deque[Batch] = deque()
        self._failed: list[tuple[Batch, GoQueueError]] = []
        self._needs_identity = settings.idempotent and settings.wants_replies
        self._identity = settings.identity
        self._is_known = False
        """The broker has written a batch of this identity, so it notices when one is missing."""
        self._next_sequence = 0
        self._pause_s = 0.0
        self._recovery: asyncio.Task[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._failure: GoQueueError | None = None
        self._is_closed = False

    def is_idle(self) -> bool:
        """Whether a batch that comes now goes off at once, and nobody waits for an answer."""
        return not self._under_way and not self._queue and self._recovery is None

    def add(self, batch: Batch) -> None:
        if self._failure is not None:
            self._fail(batch, self._failure)
            return
        self._queue.append(batch)
        self._pump()

    async def close(self, why: GoQueueError | None = None) -> None:
        """Give up on what is left."""
        self._is_closed = True
        self._failure = why or ClientClosed("the producer was closed before the record was confirmed")
        if self._alarm is not None:
            self._alarm.cancel()
        if self._recovery is not None:
            self._recovery.cancel()
            await asyncio.wait([self._recovery])
        for batch in (*(batch for batch, _ in self._failed), *self._under_way, *self._queue):
            self._fail(batch, self._failure)
        self._queue.clear()

    # All is well.

    def _pump(self) -> None:
        """Send what may be sent now."""
        connection = self._link.live
        if self._recovery is not None or self._failed or not self._queue:
            return
        if connection is None or (self._needs_identity and self._identity is None):
            self._recover()
        elif self._wants_replies:
            # Were the first one refused, a broker that knows nothing of us would take the second for the first.
            most = UNDER_WAY if self._is_known or not self._needs_identity else 1
            while self._queue and len(self._under_way) < most:
                self._send(connection, self._queue.popleft())
        else:
            while self._queue and connection.is_writable:
                self._tell(connection, self._queue.popleft())
            if self._queue:
                self._recover()

    def _send(self, connection: ClientConnection, batch: Batch) -> None:
        records = batch.encoded()
        if not self._fits(connection, batch, records):
            return
        if batch.sequence is None:
            batch.sequence = self._next_sequence
            self._next_sequence += batch.count
        identity = self._identity
        head = Publish(
            self._topic,
            self._partition,
            self._durability,
            None if identity is None else identity.producer_id,
            0 if identity is None else identity.epoch,
            batch.sequence,
            None if batch.ids is None else tuple(batch.ids),
            batch.partitions,
            None if batch.dues is None else tuple(batch.dues),
            batch.transaction,
        )
        self._under_way.append(batch)
        if self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_at(batch.deadline, self._look_at_the_clock)
        connection.send(PUBLISH, _encode(head), records, partial(self._answered, batch))

    def _tell(self, connection: ClientConnection, batch: Batch) -> None:
        records = batch.encoded()
        if not self._fits(connection, batch, records):
            return
        ids = None if batch.ids is None else tuple(batch.ids)
        dues = None if batch.dues is None else tuple(batch.dues)
        # Not among how many partitions: refusals are not heard here, so everything that follows would be lost.
        head = Publish(self._topic, self._partition, self._durability, ids=ids, deliver_at=dues)
        connection.tell(Opcode.PUBLISH, _encode(head), records)
        batch.succeed(Outcome(-1, 0))
        self._finished(batch, None)

    def _fits(self, connection: ClientConnection, batch: Batch, records: bytes) -> bool:
        """A frame over the limit would cost the connection, again and again."""
        most = connection.max_frame_bytes - PUBLISH_HEAD_BYTES
        if batch.ids is not None:
            most -= len(batch.ids) * (LONGEST_ID + ID_OVERHEAD_BYTES)
        if batch.dues is not None:
            most -= len(batch.dues) * DUE_BYTES
        if len(records) > most:
            self._fail(batch, RecordTooLarge(f"a batch of {len(records)} bytes, the broker takes {most}"))
        return len(records) <= most

    def _answered(self, batch: Batch, error: GoQueueError | None, head: memoryview, _: memoryview) -> None:
        if self._is_closed:
            return
        if error is not None:
            self._under_way.remove(batch)
            self._failed.append((batch, error))
        else:
            outcome = _outcome(_decode_published(head))
            self._under_way.remove(batch)
            self._pause_s = 0.0
            self._is_known = True
            batch.succeed(outcome)
            self._finished(batch, None)
        if not self._failed:
            if self._queue:
                self._pump()
        elif not self._under_way:
            self._sort_out()

    # Something went wrong.

    def _sort_out(self) -> None:
        """Nothing is under way any more: what is sent again, with which numbers, and what has failed for good?"""
        failed, self._failed = sorted(self._failed, key=lambda one: one[0].sequence or 0), []
        if self._settings.identity is not None and (lasting := _first_lasting(failed)) is not None:
            for batch, _ in failed:
                self._fail(batch, lasting)
            return
        again: list[Batch] = []
        free_from: int | None = None
        identity_lost: GoQueueError | None = None
        for place, (batch, error) in enumerate(failed):
            # Behind one that was not written, the numbers of all others are wrong.
            follows = place > 0 and isinstance(error, OutOfOrderSequence)
            batch.is_in_doubt |= isinstance(error, BrokerUnreachable)
            if isinstance(error, IDENTITY_LOST) and not follows:
                self._identity, free_from = None, 0
                identity_lost = error
            if isinstance(error, PASSING) or follows:
                again.append(batch)
            else:
                # Refused and not written, so its numbers are free for those behind it.
                free_from = batch.sequence if free_from is None else free_from
                self._fail(batch, error)
        self._queue.extendleft(reversed(again))
        if identity_lost is not None:
            self._fail_in_doubt(identity_lost)
        if free_from is not None:
            self._renumber(free_from)
        if self._queue:
            self._recover()

    def _fail_in_doubt(self, error: GoQueueError) -> None:
        """Fail batches that may have been written: under another identity the broker would write them again."""
        in_doubt = [batch for batch in self._queue if batch.is_in_doubt]
        self._queue = deque(batch for batch in self._queue if not batch.is_in_doubt)
        for batch in in_doubt:
            self._fail(batch, RequestTimeout(f"not confirmed (it may have been written): {error.message}"))

    def _renumber(self, first: int) -> None:
        self._next_sequence = first
        self._is_known = self._is_known and self._identity is not None
        for batch in self._queue:
            batch.sequence = None

    def _fail(self, batch: Batch, error: GoQueueError) -> None:
        batch.fail(error)
        self._finished(batch, error)
        if self._settings.identity is not None and self._failure is None:
            self._end(error)

    def _end(self, error: GoQueueError) -> None:
        """The transaction can only be aborted, and the next one begins with numbers of its own."""
        self._failure = error
        while self._queue:
            self._fail(self._queue.popleft(), error)

    def _recover(self) -> None:
        if self._recovery is None:
            self._recovery = asyncio.create_task(self._wait_and_resume())
            self._recovery.add_done_callback(self._recovered)

    async def _wait_and_resume(self) -> None:
        """Until there is a connection and an identity, or nothing is left that could still be sent."""
        loop = asyncio.get_running_loop()
        while self._queue:
            deadline = self._queue[0].deadline
            await asyncio.sleep(max(0.0, min(self._pause_s, deadline - loop.time())))
            self._pause_s = min(max(2 * self._pause_s, FIRST_PAUSE_S), LONGEST_PAUSE_S)
            try:
                async with asyncio.timeout_at(deadline):
                    await self._get_ready()
            except TimeoutError:
                self._give_up_on_overdue(BrokerUnreachable(f"{self._link.bootstrap} does not answer"))
            except PASSING as error:
                self._give_up_on_overdue(error)
            except GoQueueError as error:
                while self._queue:
                    self._fail(self._queue.popleft(), error)
            else:
                return

    async def _get_ready(self) -> None:
        connection = await self._link.connection()
        await connection.when_writable()
        if self._needs_identity and self._identity is None:
            self._identity = await self._link.ask(Opcode.INIT_PRODUCER, InitProducer(), ProducerIdentity)

    def _recovered(self, task: asyncio.Task[None]) -> None:
        self._recovery = None
        if not task.cancelled():
            task.result()
            self._give_up_on_overdue(RequestTimeout("the broker refused the record for too long"))
            self._pump()

    # Time.

    def _look_at_the_clock(self) -> None:
        """A broker that has not answered by the deadline of a batch is not waited for."""
        self._alarm = None
        if not self._under_way:
            return
        loop, oldest = asyncio.get_running_loop(), self._under_way[0]
        if oldest.deadline > loop.time():
            self._alarm = loop.call_at(oldest.deadline, self._look_at_the_clock)
        elif (connection := self._link.live) is not None:
            connection.hang_up("a record was not confirmed in time")

    def _give_up_on_overdue(self, reason: GoQueueError) -> None:
        """Fail batches that are past their time.

        One that was sent before may have been written after all. Nothing that was sent under the same identity can be
        sent again without it, so all of them fail, and what was never sent goes on under a new one.
        """
        now = asyncio.get_running_loop().time()
        if not self._queue or self._queue[0].deadline > now:
            return
        overdue = [batch for batch in self._queue if batch.deadline <= now or batch.sequence is not None]
        left = set(self._queue) - set(overdue)
        self._queue = deque(batch for batch in self._queue if batch in left)
        self._identity, self._is_known, self._next_sequence = None, False, 0
        for batch in overdue:
            doubt = "it may have been written" if batch.sequence is not None else "it was never sent"
            self._fail(batch, RequestTimeout(f"not confirmed in time ({doubt}): {reason.message}", hint=reason.hint))


def _first_lasting(failed: Sequence[tuple[Batch, GoQueueError]]) -> GoQueueError | None:
    """What ends a transaction: sending again what was refused does not help."""
    for place, (_, error) in enumerate(failed):
        follows = place > 0 and isinstance(error, OutOfOrderSequence)
        if not follows and not isinstance(error, BrokerUnreachable | StorageBusy | DiskFull):
            return error
    return None


def _outcome(published: Published) -> Outcome:
    if not published.originals:
        return Outcome(published.base_offset, published.timestamp_ns, published.duplicate)
    elsewhere = {one.step: (one.partition, one.timestamp_ns) for one in published.originals}
    return Outcome(published.base_offset, published.timestamp_ns, published.duplicate, published.offsets, elsewhere)
