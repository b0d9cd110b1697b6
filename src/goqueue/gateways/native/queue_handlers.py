"""What native requests about the queue do: take records, and say what became of them."""

import asyncio
from typing import Any

from goqueue.engine.broker import Broker
from goqueue.engine.poll import Poll, poll
from goqueue.engine.queue.by_lease import settle_lease
from goqueue.engine.queue.take import Taken
from goqueue.errors import GoQueueError
from goqueue.gateways.native.connection import Buffer
from goqueue.gateways.native.fetching import FETCH_BYTES
from goqueue.gateways.native.leases import check_leases, lease_of
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["QueueHandlers"]


class QueueHandlers:
    """Takes that wait can be made to answer at once."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._waits: set[asyncio.Task[Any]] = set()
        self._is_stopping = False

    def routes(self) -> list[tuple[Opcode, type, Any]]:
        return [(Opcode.TAKE, messages.Take, self.take), (Opcode.SETTLE, messages.Settle, self.settle)]

    def end_waits(self) -> None:
        self._is_stopping = True
        for task in tuple(self._waits):
            task.cancel()

    async def take(self, request: messages.Take) -> tuple[messages.TakeReply, list[Buffer]]:
        wanted = Poll(
            request.group,
            request.consumer,
            request.generation,
            request.topics,
            request.limit,
            min(request.max_bytes, FETCH_BYTES),
            0 if self._is_stopping else request.wait_ms,
            request.visibility_ms,
            request.key_order,
            request.start,
        )
        task = asyncio.current_task()
        assert task is not None
        self._waits.add(task)
        try:
            taken = await poll(self._broker, wanted)
        except asyncio.CancelledError:
            if not self._is_stopping:
                raise
            task.uncancel()
            taken = []
        finally:
            self._waits.discard(task)
        reply = messages.TakeReply(tuple(map(_part, taken)), knows_packed=True)
        return reply, [part.records for part in taken]

    async def settle(self, request: messages.Settle) -> tuple[messages.SettleReply, list[Buffer]]:
        check_leases(request.leases)
        parts = [await self._settle_one(request, lease) for lease in request.leases]
        return messages.SettleReply(tuple(parts)), []

    async def _settle_one(self, request: messages.Settle, given: messages.LeasedRecords) -> messages.SettledPart:
        try:
            lease = lease_of(request.group, given)
            done = await settle_lease(self._broker, lease, request.action, request.reason, request.delay_ms)
        except GoQueueError as refusal:
            return messages.SettledPart(messages.ErrorReply(refusal.code, refusal.message, refusal.hint))
        return messages.SettledPart(None, done.committed_offset, done.in_flight, done.dead, done.deadline or 0)


def _part(taken: Taken) -> messages.TakenPart:
    return messages.TakenPart(
        taken.log.topic,
        taken.log.partition,
        taken.grant,
        taken.token,
        taken.deadline,
        len(taken.records),
        tuple(messages.Redelivery(offset, one.deliveries, one.failures) for offset, one in taken.attempts.items()),
    )
