"""What native requests about the queue do: take records, and say what became of them."""

from collections.abc import Sequence

from goqueue.engine.broker import Broker
from goqueue.engine.pending_poll import PendingPoll
from goqueue.engine.poll import Poll
from goqueue.engine.queue.by_lease import LeaseOutcome, acknowledge_at_once, settle_lease
from goqueue.engine.queue.take import Taken
from goqueue.engine.workers import WorkerClient
from goqueue.errors import GoQueueError
from goqueue.gateways.native.connection import Buffer
from goqueue.gateways.native.fetching import FETCH_BYTES
from goqueue.gateways.native.leases import check_leases, lease_of
from goqueue.gateways.native.routes import AnswerSoon, Route
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
            Route(Opcode.TAKE, messages.Take, None, self.take),
            Route(Opcode.SETTLE, messages.Settle, self.settle, self.settle_at_once),
        ]

    # Answered through a callback.

    def take(self, request: messages.Take, answer: AnswerSoon) -> bool:
        def taken(found: Sequence[Taken] | Exception) -> bool:
            return answer(found if isinstance(found, Exception) else _taken(found))

        pending = PendingPoll(self._broker, self._wanted(request, answer.client), taken, self._poll_ended)
        self._waits.add(pending.end_wait)
        answer.hold(pending)
        pending.start()
        return True

    def _poll_ended(self, pending: PendingPoll) -> None:
        self._waits.discard(pending.end_wait)

    def settle_at_once(self, request: messages.Settle, answer: AnswerSoon) -> bool:
        """Whether it will be answered without a task of its own: the acknowledgement of what was taken together."""
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

    def _wanted(self, request: messages.Take, client: WorkerClient) -> Poll:
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
            client,
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
