"""What becomes of leased records: named by their receipts, or by leases with runs of offsets."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from itertools import chain

from goqueue.engine.broker import Broker
from goqueue.engine.queue import by_receipt
from goqueue.engine.queue.by_lease import SettleAction, check_runs, settle_lease
from goqueue.engine.queue.by_receipt import ReceiptOutcome
from goqueue.engine.queue.settle import Lease, offsets_of
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.gateways.grpc.answering import detail_of
from goqueue.gateways.grpc.forms.asking import at_most, optional
from goqueue.gateways.grpc.service import Call, Handler
from goqueue.model.log import LogId
from goqueue.wire.grpc.v1 import queue_pb2 as wire

__all__ = ["LONGEST_REASON", "check_settled", "leases_in", "settling_methods"]

LONGEST_REASON = 1000

ByReceipt = Callable[[Sequence[str]], Awaitable[list[ReceiptOutcome | GoQueueError]]]


def settling_methods(broker: Broker) -> dict[str, Handler]:
    async def settled(
        given: wire.Settled,
        by_receipts: ByReceipt,
        action: SettleAction,
        reason: str = "",
        delay_ms: int | None = None,
    ) -> list[wire.SettleResult]:
        check_settled(given)
        results = [_of_receipt(one) for one in await by_receipts(given.receipts)]
        for lease in given.leases:
            results.append(await _of_lease(broker, given.group, lease, action, reason, delay_ms))
        return results

    async def ack(request: wire.AckRequest, _: Call) -> wire.AckResponse:
        by_receipts = partial(by_receipt.ack_receipts, broker)
        return wire.AckResponse(results=await settled(request.records, by_receipts, "ack"))

    async def nack(request: wire.NackRequest, _: Call) -> wire.NackResponse:
        reason, delay_ms = at_most("reason", request.reason, LONGEST_REASON), optional(request, "delay_ms")
        by_receipts = partial(by_receipt.nack_receipts, broker, reason=reason, pause_ms=delay_ms)
        return wire.NackResponse(results=await settled(request.records, by_receipts, "nack", reason, delay_ms))

    async def reject(request: wire.RejectRequest, _: Call) -> wire.RejectResponse:
        reason = at_most("reason", request.reason, LONGEST_REASON)
        by_receipts = partial(by_receipt.reject_receipts, broker, reason=reason)
        return wire.RejectResponse(results=await settled(request.records, by_receipts, "reject", reason))

    async def extend(request: wire.ExtendRequest, _: Call) -> wire.ExtendResponse:
        length_ms = request.visibility_ms
        by_receipts = partial(by_receipt.extend_receipts, broker, visibility_ms=length_ms)
        return wire.ExtendResponse(results=await settled(request.records, by_receipts, "extend", delay_ms=length_ms))

    async def release(request: wire.ReleaseRequest, _: Call) -> wire.ReleaseResponse:
        by_receipts = partial(by_receipt.release_receipts, broker)
        return wire.ReleaseResponse(results=await settled(request.records, by_receipts, "release"))

    return {"Ack": ack, "Nack": nack, "Reject": reject, "Extend": extend, "Release": release}


def check_settled(given: wire.Settled) -> None:
    """Before anything is done with them."""
    if not given.receipts and not given.leases:
        raise InvalidRequest("no records", hint="say which records it is about, by receipts or by leases")
    if len(given.receipts) > by_receipt.MOST_RECEIPTS:
        hint = f"give at most {by_receipt.MOST_RECEIPTS} receipts in one request, or leases"
        raise InvalidRequest("too many receipts at once", hint=hint)
    check_runs([(run.first, run.count) for run in lease.runs] for lease in given.leases)


def leases_in(given: wire.Settled) -> Iterator[Lease]:
    """All of them; what is wrong with one is found when it is asked for."""
    return chain(by_receipt.leases_of(given.receipts), (_lease(given.group, one) for one in given.leases))


def _lease(group: str, given: wire.LeasedRecords) -> Lease:
    runs = [(run.first, run.count) for run in given.runs]
    return Lease(group, LogId(given.topic, given.partition), given.grant, given.token, offsets_of(runs))


def _of_receipt(outcome: ReceiptOutcome | GoQueueError) -> wire.SettleResult:
    if isinstance(outcome, GoQueueError):
        return wire.SettleResult(error=detail_of(outcome))
    return wire.SettleResult(
        topic=outcome.log.topic,
        partition=outcome.log.partition,
        offset=outcome.offset,
        committed_offset=outcome.committed_offset,
        in_flight=outcome.in_flight,
        dead=int(outcome.is_dead),
        dead_letter_topic=outcome.dead_letter_topic or "",
        next_visible_at_ns=outcome.visible_at,
        deadline_ns=outcome.deadline,
    )


async def _of_lease(
    broker: Broker,
    group: str,
    given: wire.LeasedRecords,
    action: SettleAction,
    reason: str,
    delay_ms: int | None,
) -> wire.SettleResult:
    try:
        done = await settle_lease(broker, _lease(group, given), action, reason, delay_ms)
    except GoQueueError as refusal:
        return wire.SettleResult(error=detail_of(refusal), topic=given.topic, partition=given.partition)
    return wire.SettleResult(
        topic=given.topic,
        partition=given.partition,
        committed_offset=done.committed_offset,
        in_flight=done.in_flight,
        dead=done.dead,
        dead_letter_topic=done.dead_letter_topic or "",
        deadline_ns=done.deadline,
    )
