"""What every transaction can hold besides records: acknowledgements of jobs, and offsets of groups."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, TypeVar

from goqueue.client.consumer import Consumer
from goqueue.client.leases import Job, leases_of, offsets_by_grant
from goqueue.client.times import duration_ms
from goqueue.errors import GoQueueError, InvalidRequest, TransactionEnded
from goqueue.model.log import LogId
from goqueue.wire.native import transactions as wire
from goqueue.wire.native.frames import Opcode
from goqueue.wire.native.messages import Done, GroupMember, PartitionOffset

if TYPE_CHECKING:
    from goqueue.client.producer import Producer

__all__ = ["OpenTransaction"]

Reply = TypeVar("Reply")

COMMIT_WITHIN_S = 60.0
ABORT_WITHIN_S = 5.0
"""A broker that is away for longer aborts it by itself."""


class OpenTransaction:
    """Whatever goes wrong inside, be it only once, leaves nothing but to abort it."""

    def __init__(self, producer: "Producer") -> None:
        self._producer = producer
        self._link = producer._link
        self._ref: wire.TransactionRef | None = None
        self._deadline = 0.0
        self._failure: GoQueueError | None = None
        self._ended: str | None = None
        self._told: list[tuple[Consumer, dict[LogId, int]]] = []
        self._pledged: list[Job] = []
        """Jobs that their workers must not give back, unless this is aborted."""

    def _begun(self, begun: wire.Begun, timeout_ms: int) -> None:
        self._ref = wire.TransactionRef(begun.number, begun.producer_id, begun.epoch)
        self._deadline = asyncio.get_running_loop().time() + timeout_ms / 1000

    @property
    def number(self) -> int:
        """The number by which the broker and its operators know it.

        Example:

            from goqueue.client import Producer

            async with Producer(transactional_id="billing-1") as producer:
                async with producer.transaction() as transaction:
                    print(transaction.number)
        """
        return self._known_ref().number

    @property
    def _number(self) -> int | None:
        return None if self._ref is None else self._ref.number

    # What belongs to it.

    async def ack(self, *jobs: Job) -> None:
        """Acknowledge jobs when the transaction commits.

        Example:

            from goqueue.client import Producer, Worker

            async with Producer(transactional_id="billing-1") as producer, Worker("orders", group="billing") as worker:
                for job in await worker.take(1):
                    async with producer.transaction() as transaction:
                        await producer.send("invoices", json={"order": job.json()})
                        await transaction.ack(job)
        """
        await self._add_acks("ack", jobs, "", None)

    async def nack(
        self, *jobs: Job, reason: str = "", delay: timedelta | None = None, delay_ms: int | None = None
    ) -> int:
        """Fail jobs when the transaction commits; the answer says how many of them go to the dead letters.

        Example:

            from datetime import timedelta

            from goqueue.client import Producer, Worker

            async with Producer(transactional_id="billing-1") as producer, Worker("orders", group="billing") as worker:
                for job in await worker.take(1):
                    async with producer.transaction() as transaction:
                        await transaction.nack(job, reason="the bank is closed", delay=timedelta(hours=1))
        """
        return await self._add_acks("nack", jobs, reason, duration_ms("delay", delay, delay_ms))

    async def reject(self, *jobs: Job, reason: str = "") -> int:
        """Reject jobs when the transaction commits: they go to the dead letters.

        Example:

            from goqueue.client import Producer, Worker

            async with Producer(transactional_id="billing-1") as producer, Worker("orders", group="billing") as worker:
                for job in await worker.take(1):
                    async with producer.transaction() as transaction:
                        await transaction.reject(job, reason="no such customer")
        """
        return await self._add_acks("reject", jobs, reason, None)

    async def add_offsets(self, of: str | Consumer, offsets: Mapping[LogId, int] | None = None) -> None:
        """Commit offsets with the transaction: those of a consumer that is a member, or of a group by its name.

        Without offsets it is everything that the consumer has delivered so far.

        Example:

            from goqueue.client import Consumer, Producer

            async with (
                Producer(transactional_id="copy-1") as producer,
                Consumer("orders", group="copy", auto_commit_ms=None) as consumer,
            ):
                messages = await consumer.poll()
                async with producer.transaction() as transaction:
                    await producer.send_many("invoices", [message.value for message in messages])
                    await transaction.add_offsets(consumer)
        """
        ref = self._open_ref()
        if isinstance(of, Consumer):
            member, wanted = of._for_transaction(offsets)
        else:
            member, wanted = GroupMember(of, "", 0), dict(offsets or {})
        if not wanted:
            if offsets is None and isinstance(of, Consumer):
                return
            raise InvalidRequest("no offsets", hint="say for which partitions")
        places = tuple(PartitionOffset(log.topic, log.partition, offset) for log, offset in wanted.items())
        who = (member.member_id, member.generation) if member.member_id else (None, None)
        await self._ask(Opcode.ADD_OFFSETS, wire.AddOffsets(ref, member.group, places, *who), Done)
        if isinstance(of, Consumer):
            self._told.append((of, wanted))

    async def _add_acks(
        self, action: Literal["ack", "nack", "reject"], jobs: Sequence[Job], reason: str, delay_ms: int | None
    ) -> int:
        ref = self._open_ref()
        by_group: dict[str, list[Job]] = {}
        for job in jobs:
            by_group.setdefault(job.grant.group, []).append(job)
        dead = 0
        for group, some in by_group.items():
            request = wire.AddAcks(ref, group, action, leases_of(some), reason, delay_ms)
            dead += (await self._ask(Opcode.ADD_ACKS, request, wire.AcksAdded)).dead
            self._pledge(some)
        return dead

    def _pledge(self, jobs: Sequence[Job]) -> None:
        self._pledged += jobs
        for grant, offsets in offsets_by_grant(jobs).items():
            if grant.holder is not None:
                grant.holder.settled(grant, offsets)

    def _restore_jobs(self) -> None:
        """It is aborted, so that its jobs are the workers' again."""
        pledged, self._pledged = self._pledged, []
        for job in pledged:
            if job.grant.holder is not None:
                job.grant.holder.restored((job,))

    async def _ask(self, opcode: Opcode, message: object, reply: type[Reply]) -> Reply:
        try:
            return await self._link.ask(opcode, message, reply)
        except GoQueueError as error:
            # Refused, or perhaps done without an answer: nobody can say whether it belongs to the transaction.
            self._doom(error)
            raise

    # Its state.

    def _check_may_send(self) -> None:
        self._open_ref()

    def _doom(self, error: GoQueueError) -> None:
        if self._failure is None:
            self._failure = error

    def _known_ref(self) -> wire.TransactionRef:
        if self._ref is None:
            raise InvalidRequest("the transaction has not begun", hint="use it as a context manager")
        return self._ref

    def _open_ref(self) -> wire.TransactionRef:
        ref = self._known_ref()
        if self._ended is not None:
            raise TransactionEnded(f"transaction {ref.number} {self._ended}")
        return ref

    def _as_refusal(self, error: GoQueueError) -> TransactionEnded:
        return TransactionEnded(
            f"transaction {self._known_ref().number} is aborted, as something in it failed: {error.message}",
            hint=error.hint,
        )

    async def _abort_at_broker(self) -> None:
        request = wire.EndTransaction(self._known_ref())
        await self._link.ask_within(ABORT_WITHIN_S, Opcode.ABORT_TRANSACTION, request, Done)
        self._restore_jobs()
