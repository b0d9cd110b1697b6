"""A part of a larger transaction: written by one of many writers, decided by somebody who has heard of them all."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Self

from msgspec import UNSET, UnsetType

from goqueue.client.accumulator import NORMAL_PRIORITY
from goqueue.client.batch import Delivery, Sent
from goqueue.client.open_transaction import COMMIT_WITHIN_S, OpenTransaction
from goqueue.client.options import ProducerOptions
from goqueue.client.producer import Producer
from goqueue.client.values import HeaderItems, Text
from goqueue.errors import GoQueueError, InvalidRequest, TransactionEnded
from goqueue.wire.native import transactions as wire
from goqueue.wire.native.frames import Opcode
from goqueue.wire.native.messages import Done

__all__ = ["PART_TIMEOUT_MS", "Part"]

PART_TIMEOUT_MS = 15 * 60 * 1000


class Part(OpenTransaction):
    """One of many writers whose records become visible together, when `Admin.decide` names their tokens.

    What is not prepared when the block is left is aborted.

    Example:

        from goqueue.client import Admin

        async with Admin() as admin:
            async with admin.part("export-2030-01-01") as part:
                await part.send("orders", json={"id": 5})
                token = await part.prepare()
            await admin.decide("export-2030-01-01", [token])
    """

    def __init__(self, bootstrap: str, key: str, timeout_ms: int, settings: ProducerOptions) -> None:
        producer = Producer(bootstrap, **settings)
        super().__init__(producer)
        self._key = key
        self._timeout_ms = timeout_ms
        self._is_prepared = False
        producer._scope.enter(self)

    async def __aenter__(self) -> Self:
        await self.begin()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if self._ended is None or (kind is not None and self._is_prepared):
                with suppress(GoQueueError):
                    await self.abort()
        finally:
            await self.close()

    async def begin(self) -> None:
        """Begin without a context manager; `close` must be called, too.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                part = admin.part("async-begin-and-close")
                await part.begin()
                await part.close()
        """
        if self._ref is not None:
            raise InvalidRequest("a part is begun once", hint="ask for another one")
        try:
            # Should the answer get lost, there is a part that nobody prepares: it is left out of the decision.
            within_s = self._producer._settings.delivery_timeout_ms / 1000
            request = wire.BeginPart(self._key, self._timeout_ms)
            begun = await self._link.ask_within(within_s, Opcode.BEGIN_PART, request, wire.Begun)
            await self._producer._write_as(begun.producer_id, begun.epoch)
        except BaseException:
            await self.close()
            raise
        self._begun(begun, self._timeout_ms)

    async def close(self) -> None:
        """Let go of the connection. What is prepared stays so.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                part = admin.part("async-close")
                await part.begin()
                await part.close()
        """
        if self._ended is None:
            self._ended = "was left before it was prepared"
        await self._producer.close(flush=False)

    # Records.

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
        delay: timedelta | None = None,
        delay_ms: int | None = None,
        deliver_at: datetime | None = None,
        deliver_at_ns: int | None = None,
        ttl: timedelta | None = None,
        ttl_ms: int | None = None,
        expires_at: datetime | None = None,
        expires_at_ns: int | None = None,
    ) -> Delivery:
        """Send as a producer does; the records count when the part is decided.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin, admin.part("async-send") as part:
                await part.send("orders", json={"id": 5}, key="customer-1")
                await part.prepare()
        """
        return await self._producer.send(
            topic,
            value,
            json=json,
            key=key,
            headers=headers,
            partition=partition,
            priority=priority,
            delay=delay,
            delay_ms=delay_ms,
            deliver_at=deliver_at,
            deliver_at_ns=deliver_at_ns,
            ttl=ttl,
            ttl_ms=ttl_ms,
            expires_at=expires_at,
            expires_at_ns=expires_at_ns,
        )

    async def send_many(
        self,
        topic: str,
        values: Sequence[Text | None] | UnsetType = UNSET,
        *,
        json: Sequence[object] | UnsetType = UNSET,
        keys: Sequence[Text | None] | None = None,
        partition: int | None = None,
        priority: int = NORMAL_PRIORITY,
        delay: timedelta | None = None,
        delay_ms: int | None = None,
        deliver_at: datetime | None = None,
        deliver_at_ns: int | None = None,
    ) -> Sequence[Sent]:
        """Send as a producer does; the records count when the part is decided.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin, admin.part("async-send-many") as part:
                await part.send_many("orders", json=[{"id": 5}, {"id": 6}])
                await part.prepare()
        """
        return await self._producer.send_many(
            topic,
            values,
            json=json,
            keys=keys,
            partition=partition,
            priority=priority,
            delay=delay,
            delay_ms=delay_ms,
            deliver_at=deliver_at,
            deliver_at_ns=deliver_at_ns,
        )

    async def send_batch(self, topic: str, partition: int, records: bytes, count: int) -> Delivery:
        """Send as a producer does; the records count when the part is decided.

        Example:

            from goqueue import codec
            from goqueue.client import Admin
            from goqueue.model.record import Record

            async with Admin() as admin, admin.part("async-send-batch") as part:
                await part.send_batch("orders", 0, codec.encode([Record(b'{"id": 5}')]), 1)
                await part.prepare()
        """
        return await self._producer.send_batch(topic, partition, records, count)

    # Its end.

    async def prepare(self) -> int:
        """Make all of it durable; the token is an argument of `Admin.decide`. After this, nothing can be added.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin, admin.part("async-prepare") as part:
                await part.send("orders", json={"id": 5})
                token = await part.prepare()
                print(token)
        """
        ref = self._open_ref()
        self._ended = "is being prepared"
        try:
            await self._producer._settle()
            if self._failure is not None:
                raise self._as_refusal(self._failure) from self._failure
            await self._link.ask_within(COMMIT_WITHIN_S, Opcode.PREPARE_PART, wire.PreparePart(ref), Done)
        except BaseException:
            with suppress(GoQueueError):
                await self._abandon()
            raise
        self._ended = "is prepared, and waits for the decision"
        self._is_prepared = True
        return ref.number

    async def abort(self) -> None:
        """Undo all of it. Fails after it was decided.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin, admin.part("async-abort") as part:
                await part.send("orders", json={"id": 5})
                await part.abort()
        """
        if self._ended is not None and not self._is_prepared:
            raise TransactionEnded(f"transaction {self._known_ref().number} {self._ended}")
        await self._abandon()

    async def _abandon(self) -> None:
        self._ended, self._is_prepared = "was aborted", False
        await self._producer._drop(self._known_ref().number)
        await self._abort_at_broker()
