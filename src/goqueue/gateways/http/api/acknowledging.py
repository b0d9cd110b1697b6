"""What workers say about the records they have, by their receipts: one or many in a request, one by one in effect."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.engine.broker import Broker
from goqueue.engine.queue import settle
from goqueue.engine.queue.receipts import Receipt
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.gateways.http.endpoint import Endpoint, Nothing, Reply
from goqueue.gateways.http.forms.times import Duration, duration_ms, instant_text
from goqueue.gateways.http.responses import ErrorBody, error_body, retry_after
from goqueue.model.topic import LONGEST_VISIBILITY_MS

__all__ = ["ENDPOINTS"]

TAG = "Acknowledgement"
MOST_RECEIPTS = 10_000

ReceiptText = Annotated[str, Meta(min_length=1, max_length=1000, description="receipt_handle of a polled record")]
ReasonText = Annotated[str, Meta(max_length=1000, description="kept with the record")]


class AckBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One receipt, or many."""

    receipt_handle: ReceiptText | UnsetType = UNSET
    receipt_handles: Annotated[list[ReceiptText], Meta(min_length=1, max_length=MOST_RECEIPTS)] | UnsetType = UNSET


class NackBody(AckBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Without a delay the pause follows from how often the record has failed."""

    reason: ReasonText = ""
    delay: Duration | UnsetType = UNSET


class RejectBody(AckBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    reason: ReasonText = ""


class ExtendBody(AckBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Counted from now."""

    extension_seconds: Annotated[float, Meta(ge=0, le=LONGEST_VISIBILITY_MS / 1000)]


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, rename={"text": "error"}):
    """What became of one record, or why nothing did."""

    success: bool
    topic: str | UnsetType = UNSET
    partition: int | UnsetType = UNSET
    offset: int | UnsetType = UNSET
    committed_offset: int | UnsetType = UNSET
    """Everything before it is done."""
    offset_advanced: bool | UnsetType = UNSET
    in_flight_count: int | UnsetType = UNSET
    action: str | UnsetType = UNSET
    delivery_count: int | UnsetType = UNSET
    next_visible_at: str | UnsetType = UNSET
    dlq_topic: str | UnsetType = UNSET
    new_deadline: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    code: str | UnsetType = UNSET
    status: int | UnsetType = UNSET
    hint: str | UnsetType = UNSET


class Outcomes(Outcome, frozen=True, omit_defaults=True, kw_only=True, rename={"text": "error"}):
    """Of one receipt its outcome; of many a result for each, in the order in which they came."""

    results: list[Outcome] | UnsetType = UNSET


class NothingDone(ErrorBody, frozen=True, rename={"text": "error"}):
    """The first error, and the results with all of them."""

    results: tuple[Outcome, ...] = ()


Act = Callable[[settle.Lease], Awaitable[Callable[[Receipt], dict[str, Any]]]]
"""Does something with the records of one lease; returns what to say of each."""


async def acknowledge(broker: Broker, _: Nothing, __: Nothing, body: AckBody) -> Outcomes | Reply:
    async def act(lease: settle.Lease) -> Callable[[Receipt], dict[str, Any]]:
        known = broker.queues.get(lease.group, lease.log)
        before = known.delivery.floor if known is not None else 0
        state = await settle.acknowledge(broker, lease)
        after = state.delivery.floor
        return lambda _: {
            "committed_offset": after,
            "offset_advanced": after > before,
            "in_flight_count": state.delivery.leased_count,
        }

    return await _each(body, act)


async def nack(broker: Broker, _: Nothing, __: Nothing, body: NackBody) -> Outcomes | Reply:
    pause_ms = None if body.delay is UNSET else duration_ms(body.delay, "delay")

    async def act(lease: settle.Lease) -> Callable[[Receipt], dict[str, Any]]:
        became = await settle.nack(broker, lease, reason=body.reason, pause_ms=pause_ms)

        def said(receipt: Receipt) -> dict[str, Any]:
            at = became.visible_at.get(receipt.offset)
            if at is None:
                return {"action": "dlq", "dlq_topic": became.dead_letter_topic, "delivery_count": receipt.deliveries}
            return {
                "action": "requeued",
                "delivery_count": receipt.deliveries,
                "next_visible_at": instant_text(at),
            }

        return said

    return await _each(body, act)


async def reject(broker: Broker, _: Nothing, __: Nothing, body: RejectBody) -> Outcomes | Reply:
    async def act(lease: settle.Lease) -> Callable[[Receipt], dict[str, Any]]:
        topic = await settle.reject(broker, lease, reason=body.reason)
        return lambda _: {"action": "dlq", "dlq_topic": topic}

    return await _each(body, act)


async def extend(broker: Broker, _: Nothing, __: Nothing, body: ExtendBody) -> Outcomes | Reply:
    async def act(lease: settle.Lease) -> Callable[[Receipt], dict[str, Any]]:
        deadline = await settle.extend(broker, lease, round(body.extension_seconds * 1000))
        return lambda _: {"new_deadline": instant_text(deadline)}

    return await _each(body, act)


async def _each(body: AckBody, act: Act) -> Outcomes | Reply:
    handles = _handles(body)
    outcomes: dict[int, Outcome] = {}
    errors: list[GoQueueError] = []
    leases: dict[tuple[Any, ...], list[tuple[int, Receipt]]] = {}
    for number, text in enumerate(handles):
        try:
            receipt = Receipt.parse(text)
        except GoQueueError as refusal:
            outcomes[number] = _refused(refusal)
            errors.append(refusal)
            continue
        leases.setdefault((receipt.group, receipt.log, receipt.grant, receipt.token), []).append((number, receipt))
    for key, receipts in leases.items():
        await _together(key, receipts, act, outcomes, errors)
    results = [outcomes[number] for number in range(len(handles))]
    if errors and not any(one.success for one in results):
        first = error_body(errors[0])
        content = NothingDone(first.text, first.code, first.status, first.hint, tuple(results))
        return Reply(content, first.status, retry_after(first))
    if body.receipt_handles is UNSET:
        return Outcomes(**msgspec.structs.asdict(results[0]))
    answer = Outcomes(success=not errors, results=results)
    return Reply(answer, 207) if errors else answer


async def _together(
    key: tuple[Any, ...],
    receipts: list[tuple[int, Receipt]],
    act: Act,
    outcomes: dict[int, Outcome],
    errors: list[GoQueueError],
) -> None:
    """Those of one lease in one step; when that is refused, each for itself, so that one does not spoil the others."""
    group, log, grant, token = key
    offsets = sorted({receipt.offset for _, receipt in receipts})
    try:
        said = await act(settle.Lease(group, log, grant, token, offsets))
    except GoQueueError as refusal:
        if len(receipts) == 1:
            outcomes[receipts[0][0]] = _refused(refusal)
            errors.append(refusal)
            return
        for one in receipts:
            await _together(key, [one], act, outcomes, errors)
        return
    for number, receipt in receipts:
        place = {"topic": log.topic, "partition": log.partition, "offset": receipt.offset}
        outcomes[number] = Outcome(success=True, **place, **said(receipt))


def _handles(body: AckBody) -> list[str]:
    one, many = body.receipt_handle, body.receipt_handles
    if one is not UNSET and many is UNSET:
        return [one]
    if many is not UNSET and one is UNSET:
        return many
    raise InvalidRequest(
        "a request needs receipt_handle or receipt_handles, and not both", hint="use what a poll gave as receipt_handle"
    )


def _refused(refusal: GoQueueError) -> Outcome:
    error = error_body(refusal)
    return Outcome(success=False, text=error.text, code=error.code, status=error.status, hint=error.hint)


def _endpoint(path: str, summary: str, handler: Any, body: type) -> Endpoint:
    return Endpoint(
        method="POST",
        path=path,
        tag=TAG,
        summary=summary,
        handler=handler,
        body=body,
        response=Outcomes,
        other_statuses=(207,),
        errors=(404,),
    )


ENDPOINTS = (
    _endpoint("/messages/ack", "Records are done, for good", acknowledge, AckBody),
    _endpoint("/messages/nack", "Records are not done: try them again later", nack, NackBody),
    _endpoint("/messages/reject", "Records cannot be done: to the dead letters", reject, RejectBody),
    _endpoint("/messages/visibility", "Records need more time", extend, ExtendBody),
)
