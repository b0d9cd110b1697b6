"""A transaction of a producer: what is sent, acknowledged and committed inside counts together, or not at all."""

from contextlib import suppress
from typing import TYPE_CHECKING, Self

from goqueue.client.enlisting import Enlistment
from goqueue.client.open_transaction import COMMIT_WITHIN_S, OpenTransaction
from goqueue.errors import BrokerUnreachable, GoQueueError, InvalidRequest, ProducerFenced
from goqueue.wire.native import transactions as wire
from goqueue.wire.native.frames import Opcode
from goqueue.wire.native.messages import Done

if TYPE_CHECKING:
    from goqueue.client.producer import Producer

__all__ = ["Transaction"]

COMMITTED, ABORTED = "was committed", "was aborted"


class Transaction(OpenTransaction):
    """Records, acknowledgements and offsets that count together: leaving the block commits, an exception aborts.

    Example:

        from goqueue.client import Producer, Worker

        async with Producer(transactional_id="billing-1") as producer, Worker("orders", group="billing") as worker:
            for job in await worker.take(1):
                async with producer.transaction() as transaction:
                    await producer.send("invoices", json={"order": job.json()})
                    await transaction.ack(job)
    """

    def __init__(self, producer: "Producer", enlistment: Enlistment, timeout_ms: int) -> None:
        super().__init__(producer)
        self._enlistment = enlistment
        self._timeout_ms = timeout_ms

    async def __aenter__(self) -> Self:
        if self._ref is not None or self._ended is not None:
            raise InvalidRequest("a transaction is begun once", hint="ask the producer for another one")
        self._producer._scope.enter(self)
        try:
            begun = await self._enlistment.begin()
            await self._producer._write_as(begun.producer_id, begun.epoch)
        except BaseException:
            # It may have begun all the same.
            self._enlistment.doubt()
            self._producer._scope.leave(self)
            raise
        self._begun(begun, self._timeout_ms)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._ended is not None:
            return
        if kind is None:
            await self.commit()
            return
        with suppress(GoQueueError):
            await self.abort()

    async def commit(self) -> None:
        """When it returns, all of it is durable and can be seen. When it raises, nothing of it ever will be.

        Only when no broker answers for a minute is it not known which.

        Example:

            from goqueue.client import Producer

            async with Producer(transactional_id="billing-1") as producer:
                async with producer.transaction() as transaction:
                    await producer.send("orders", json={"id": 5})
                    await transaction.commit()
        """
        if self._ended == COMMITTED:
            return
        ref = self._open_ref()
        self._ended = "is being committed"
        try:
            await self._producer._settle()
            if self._failure is None:
                await self._commit(ref)
        except GoQueueError as error:
            self._doom(error)
            with suppress(GoQueueError):
                await self._abandon()
            raise
        except BaseException:
            self._enlistment.doubt()
            with suppress(GoQueueError):
                await self._abandon()
            raise
        if self._failure is not None:
            with suppress(GoQueueError):
                await self._abandon()
            if isinstance(self._failure, ProducerFenced):
                raise self._failure
            raise self._as_refusal(self._failure) from self._failure
        self._ended = COMMITTED
        self._producer._scope.leave(self)
        for consumer, offsets in self._told:
            consumer._committed(offsets)

    async def _commit(self, ref: wire.TransactionRef) -> None:
        try:
            await self._link.ask_within(COMMIT_WITHIN_S, Opcode.COMMIT_TRANSACTION, wire.EndTransaction(ref), Done)
        except BrokerUnreachable as error:
            raise BrokerUnreachable(
                f"{error.message}, and whether transaction {ref.number} was committed is not known",
                hint="look at what it wrote: either all of it is there, or nothing",
            ) from error

    async def abort(self) -> None:
        """Nothing of it ever happened. If that cannot be said to the broker, it does so when the time is up.

        Example:

            from goqueue.client import Producer

            async with Producer(transactional_id="billing-1") as producer:
                async with producer.transaction() as transaction:
                    await producer.send("orders", json={"id": 5})
                    await transaction.abort()
        """
        if self._ended != ABORTED:
            self._open_ref()
            await self._abandon()

    async def _abandon(self) -> None:
        self._ended = ABORTED
        try:
            was_quiet = await self._producer._drop(self._known_ref().number)
            if not was_quiet or self._failure is not None:
                self._enlistment.doubt()
            await self._abort_at_broker()
        except ProducerFenced as error:
            self._doom(error)
            raise
        except BaseException:
            self._enlistment.doubt()
            raise
        finally:
            self._producer._scope.leave(self)

    def _doom(self, error: GoQueueError) -> None:
        super()._doom(error)
        if isinstance(error, ProducerFenced):
            self._enlistment.fence(error)
