"""What workers say about the records they have, by their receipts: one or many in a request, one by one in effect."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.engine.broker import Broker
from goqueue.engine.queue import by_receipt
from goqueue.engine.queue.by_receipt import MOST_RECEIPTS, ReceiptOutcome
from goqueue.errors import GoQueueError
from goqueue.gateways.http.endpoint import Endpoint, Nothing, Reply
from goqueue.gateways.http.forms.times import MILLISECONDS, duration_ms, duration_schema, instant_text
from goqueue.gateways.http.responses import ErrorBody, error_body, retry_after
from goqueue.gateways.http.rules import ExactlyOne, Ruled
from goqueue.model.topic import LONGEST_VISIBILITY_MS

__all__ = ["ENDPOINTS"]

TAG = "Acknowledgement"

ReceiptText = Annotated[str, Meta(min_length=1, max_length=1000, description="receipt_handle of a polled record")]
RetryPause = (
    Annotated[str, Meta(extra_json_schema=duration_schema(0, LONGEST_VISIBILITY_MS))]
    | Annotated[int, Meta(ge=0, le=LONGEST_VISIBILITY_MS, description=MILLISECONDS)]
)
ReasonText = Annotated[str, Meta(max_length=1000, description="kept with the record")]


class AckBody(Ruled, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One receipt, or many."""

    receipt_handle: ReceiptText | UnsetType = UNSET
    receipt_handles: Annotated[list[ReceiptText], Meta(min_length=1, max_length=MOST_RECEIPTS)] | UnsetType = UNSET

    RULES = (ExactlyOne("receipt_handle", "receipt_handles"),)


class NackBody(AckBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Without a delay the pause follows from how often the record has failed."""

    reason: ReasonText = ""
    delay: RetryPause | UnsetType = UNSET


class RejectBody(AckBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The records go to the dead letters."""

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


async def acknowledge(broker: Broker, _: Nothing, __: Nothing, body: AckBody) -> Outcomes | Reply:
    def said(done: ReceiptOutcome) -> dict[str, Any]:
        return {
            "committed_offset": done.committed_offset,
            "offset_advanced": done.offset_advanced,
            "in_flight_count": done.in_flight,
        }

    return _answer(body, await by_receipt.ack_receipts(broker, _handles(body)), said)


async def nack(broker: Broker, _: Nothing, __: Nothing, body: NackBody) -> Outcomes | Reply:
    def said(done: ReceiptOutcome) -> dict[str, Any]:
        if done.visible_at is None:
            return {"action": "dlq", "dlq_topic": done.dead_letter_topic, "delivery_count": done.deliveries}
        at = instant_text(done.visible_at)
        return {"action": "requeued", "delivery_count": done.deliveries, "next_visible_at": at}

    pause_ms = None if body.delay is UNSET else duration_ms(body.delay, "delay")
    outcomes = await by_receipt.nack_receipts(broker, _handles(body), reason=body.reason, pause_ms=pause_ms)
    return _answer(body, outcomes, said)


async def reject(broker: Broker, _: Nothing, __: Nothing, body: RejectBody) -> Outcomes | Reply:
    outcomes = await by_receipt.reject_receipts(broker, _handles(body), reason=body.reason)
    return _answer(body, outcomes, lambda done: {"action": "dlq", "dlq_topic": done.dead_letter_topic})


async def extend(broker: Broker, _: Nothing, __: Nothing, body: ExtendBody) -> Outcomes | Reply:
    def said(done: ReceiptOutcome) -> dict[str, Any]:
        assert done.deadline is not None
        return {"new_deadline": instant_text(done.deadline)}

    length_ms = round(body.extension_seconds * 1000)
    return _answer(body, await by_receipt.extend_receipts(broker, _handles(body), length_ms), said)


def _answer(
    body: AckBody, outcomes: list[ReceiptOutcome | GoQueueError], said: Callable[[ReceiptOutcome], dict[str, Any]]
) -> Outcomes | Reply:
    results = [_refused(one) if isinstance(one, GoQueueError) else _done(one, said(one)) for one in outcomes]
    errors = [one for one in outcomes if isinstance(one, GoQueueError)]
    if errors and len(errors) == len(outcomes):
        first = error_body(errors[0])
        content = NothingDone(first.text, first.code, first.status, first.hint, tuple(results))
        return Reply(content, first.status, retry_after(first))
    if body.receipt_handles is UNSET:
        return Outcomes(**msgspec.structs.asdict(results[0]))
    answer = Outcomes(success=not errors, results=results)
    return Reply(answer, 207) if errors else answer


def _done(done: ReceiptOutcome, more: dict[str, Any]) -> Outcome:
    return Outcome(success=True, topic=done.log.topic, partition=done.log.partition, offset=done.offset, **more)


def _handles(body: AckBody) -> list[str]:
    if body.receipt_handles is not UNSET:
        return body.receipt_handles
    assert body.receipt_handle is not UNSET
    return [body.receipt_handle]


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
