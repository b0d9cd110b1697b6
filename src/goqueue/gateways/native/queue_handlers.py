"""What native requests about the queue do: take records, and say what became of them."""

from collections.abc import Sequence

from goqueue.engine.broker import Broker
from goqueue.engine.poll import Poll, poll, poll_at_once
from goqueue.engine.queue.by_lease import LeaseOutcome, acknowledge_at_once, settle_lease
from goqueue.engine.queue.take import Taken
from goqueue.errors import GoQueueError
from goqueue.gateways.native.connection import Buffer
from goqueue.gateways.native.fetching import FETCH_BYTES
from goqueue.gateways.native.leases import check_leases, lease_of
from goqueue.gateways.native.routes import AnswerSoon, OfClient, Route
from goqueue.gateways.native.waits import Waits
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["QueueHandlers"]


class QueueHandlers:
    def __init__(self, broker: Broker, waits: Waits) -> None:
        self._broker = broker
        self._waits = waits

    def routes(self) -> list[Route]:
        return [
            (Opcode.TAKE, messages.Take, self.take, self.take_at_once),
            (Opcode.SETTLE, messages.Settle, self.settle, self.settle_at_once),
        ]

    # At once.

    def take_at_once(self, asked: OfClient, answer: AnswerSoon) -> bool:
        """Whether it will be answered without a task of its own, which is told to look if it turns out differently."""

        def taken(found: Taken | Exception | None) -> bool:
            return answer(_taken([found]) if isinstance(found, Taken) else found)

        try:
            return poll_at_once(self._broker, self._wanted(asked), taken)
        except GoQueueError:
            # It is refused in the usual way.
            return False

    def settle_at_once(self, request: messages.Settle, answer: AnswerSoon) -> bool:
        """As `take_at_once`, for the acknowledgement of what was taken together."""
        if request.action != "ack" or len(request.leases) != 1:
            return False

        def settled(outcome: LeaseOutcome | Exception) -> None:
            if isinstance(outcome, Exception) and not isinstance(outcome, GoQueueError):
                answer(outcome)
            else:
                answer((messages.SettleReply((_settled(outcome),)), []))

        try:
            check_leases(request.leases)
            lease = lease_of(request.group, request.leases[0])
            return acknowledge_at_once(self._broker, lease, settled)
        except GoQueueError:
            return False

    # In a task.

    async def take(self, asked: OfClient) -> tuple[messages.TakeReply, list[Buffer]]:
        return _taken(await self._waits.wait(poll(self._broker, self._wanted(asked)), _nothing))

    def _wanted(self, asked: OfClient) -> Poll:
        request: messages.Take = asked.request
        return Poll(
            request.group,
            request.consumer,
            request.generation,
            request.topics,
            request.limit,
            min(request.max_bytes, FETCH_BYTES),
            0 if self._waits.are_over else request.wait_ms,
            request.visibility_ms,
            request.key_order,
            request.start,
            asked.client,
        )

    async def settle(self, request: messages.Settle) -> tuple[messages.SettleReply, list[Buffer]]:
        check_leases(request.leases)
        parts = [await self._settle_one(request, lease) for lease in request.leases]
        return messages.SettleReply(tuple(parts)), []

    async def _settle_one(self, request: messages.Settle, given: messages.LeasedRecords) -> messages.SettledPart:
        try:
            lease = lease_of(request.group, given)
            done = await settle_lease(self._broker, lease, request.action, request.reason, request.delay_ms)
        except GoQueueError as refusal:
            return _settled(refusal)
        return _settled(done)


async def _nothing() -> list[Taken]:
    return []


def _settled(done: LeaseOutcome | GoQueueError) -> messages.SettledPart:
    if isinstance(done, GoQueueError):
        return messages.SettledPart(messages.ErrorReply(done.code, done.message, done.hint))
    return messages.SettledPart(None, done.committed_offset, done.in_flight, done.dead, done.deadline or 0)


def _taken(taken: Sequence[Taken]) -> tuple[messages.TakeReply, list[Buffer]]:
    reply = messages.TakeReply(tuple(map(_part, taken)), knows_packed=True)
    return reply, [part.records for part in taken]


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
