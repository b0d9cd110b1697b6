"""What native requests about the queue do: take records, and say what became of them."""

import asyncio
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from goqueue.engine.broker import Broker
from goqueue.engine.poll import Poll, poll
from goqueue.engine.queue import settle
from goqueue.engine.queue.take import Taken
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.gateways.native.connection import Buffer
from goqueue.gateways.native.fetching import FETCH_BYTES
from goqueue.model.log import LogId
from goqueue.model.topic import LONGEST_VISIBILITY_MS
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["QueueHandlers", "check_runs"]

MOST_SETTLED = 100_000
_count = itemgetter(1)


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
        return messages.TakeReply(tuple(map(_part, taken))), [part.records for part in taken]

    async def settle(self, request: messages.Settle) -> tuple[messages.SettleReply, list[Buffer]]:
        check_runs(request.leases)
        parts = [await self._settle_one(request, lease) for lease in request.leases]
        return messages.SettleReply(tuple(parts)), []

    async def _settle_one(self, request: messages.Settle, given: messages.LeasedRecords) -> messages.SettledPart:
        log = LogId(given.topic, given.partition)
        dead = deadline = 0
        try:
            offsets = settle.offsets_of(given.runs)
            lease = settle.Lease(request.group, log, given.grant, given.token, offsets)
            match request.action:
                case "ack":
                    await settle.acknowledge(self._broker, lease)
                case "nack":
                    became = await settle.nack(self._broker, lease, reason=request.reason, pause_ms=request.delay_ms)
                    dead = len(became.dead)
                case "reject":
                    await settle.reject(self._broker, lease, reason=request.reason)
                    dead = len(offsets)
                case "extend":
                    wanted_ms = LONGEST_VISIBILITY_MS + 1 if request.delay_ms is None else request.delay_ms
                    deadline = await settle.extend(self._broker, lease, wanted_ms)
                case "release":
                    await settle.give_back(self._broker, lease)
        except GoQueueError as refusal:
            return messages.SettledPart(messages.ErrorReply(refusal.code, refusal.message, refusal.hint))
        state = self._broker.queues.get(request.group, log)
        if state is None:
            # Deleted in this very moment.
            return messages.SettledPart(None, 0, 0, dead, deadline)
        return messages.SettledPart(None, state.delivery.floor, state.delivery.leased_count, dead, deadline)


def check_runs(leases: Sequence[messages.LeasedRecords]) -> None:
    """Before they are written out: a few bytes can name more offsets than there is memory."""
    if any(min(map(_count, lease.runs), default=1) < 1 for lease in leases):
        raise InvalidRequest("a run of records without a record", hint="count the records of each run")
    if sum(sum(map(_count, lease.runs)) for lease in leases) > MOST_SETTLED:
        raise InvalidRequest("too many records at once", hint=f"settle at most {MOST_SETTLED} in one request")


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
