"""Publish records, one or many in a request; they succeed or fail one by one."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.engine.broker import Broker
from goqueue.engine.placement import Placement
from goqueue.engine.publish_records import Outgoing, Placed, publish_records
from goqueue.engine.tracing.publishing import note_unreadable
from goqueue.errors import GoQueueError, InvalidRequest, UnknownTopic
from goqueue.gateways.http.api.params import TopicParams
from goqueue.gateways.http.endpoint import Endpoint, Nothing, Reply
from goqueue.gateways.http.forms.delays import DelayFields, due_of
from goqueue.gateways.http.forms.expiry import expiry_from
from goqueue.gateways.http.forms.times import Expiry, instant_text
from goqueue.gateways.http.forms.values import Headers, PriorityName, key_and_value, priority_number
from goqueue.gateways.http.responses import ErrorBody, error_body, retry_after
from goqueue.gateways.http.trace_headers import trace_of_request
from goqueue.model.expiry import with_expiry
from goqueue.model.record_id import LONGEST_ID
from goqueue.model.topic import MOST_PARTITIONS, Durability, TopicName, topic_name
from goqueue.model.trace import in_trace

__all__ = [
    "MOST_MESSAGES",
    "MessageIn",
    "PublishBody",
    "Published",
    "endpoints",
    "messages_of",
    "outgoing_of",
    "result_of",
]

MOST_MESSAGES = 100_000

Acks = Literal["none", "leader", "all"]
# Limits that only the document has. What is beyond them is wrong with one record and not with the request, so it is
# found where records are made: that record fails alone, and with the same code as on every other way to the broker.
PartitionNumber = Annotated[int, Meta(extra_json_schema={"minimum": 0, "maximum": MOST_PARTITIONS - 1})]
PriorityNumber = Annotated[int, Meta(extra_json_schema={"minimum": 0, "maximum": 4})]
RecordId = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": LONGEST_ID})]


class MessageIn(DelayFields, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A record. Key and value are strings, any JSON value, or bytes as {"base64": …}; a null value is a tombstone.

    Without a partition the key decides, and without a key records take turns. With acks "none" nobody waits until
    the record is written, and its offset is not known. A second record with the `id` of another one is not written,
    for as long as the topic remembers ids. With a `delay`, or a time to `deliverAt` (also `deliver_at`), it is written
    at once and seen by nobody until then. When it `expires`, after so long or at a time, the queue delivers it no more.
    """

    value: msgspec.Raw
    key: msgspec.Raw | UnsetType = UNSET
    headers: Headers = {}  # noqa: RUF012  # msgspec makes a new one each time
    partition: PartitionNumber | UnsetType = UNSET
    priority: PriorityName | PriorityNumber = "normal"
    id: RecordId | UnsetType = UNSET
    expires: Expiry | UnsetType = UNSET
    acks: Acks | UnsetType = UNSET
    durability: Durability | UnsetType = UNSET


class Messages(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Many records; `acks` and `durability` are for those that have none of their own."""

    messages: Annotated[list[MessageIn], Meta(min_length=1, max_length=MOST_MESSAGES)]
    acks: Acks | UnsetType = UNSET
    durability: Durability | UnsetType = UNSET


class PublishBody(MessageIn, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Either of them."""

    value: msgspec.Raw | UnsetType = UNSET  # type: ignore[assignment]  # not there when `messages` is
    messages: Annotated[list[MessageIn], Meta(min_length=1, max_length=MOST_MESSAGES)] | UnsetType = UNSET


class Result(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    kw_only=True,
    rename={"text": "error", "deliver_at": "deliverAt"},
):
    """Where a record is, or why it is nowhere; the offset is null when nobody waited to learn it.

    Of a duplicate it is the place of the original.
    """

    partition: int | UnsetType = UNSET
    offset: int | UnsetType | None = UNSET
    priority: int | UnsetType = UNSET
    delayed: bool = False
    deliver_at: str | UnsetType = UNSET
    duplicate: bool = False
    text: str | UnsetType = UNSET
    code: str | UnsetType = UNSET
    status: int | UnsetType = UNSET
    hint: str | UnsetType = UNSET


class Published(msgspec.Struct, frozen=True):
    """A result for each record, in the order in which they came."""

    results: list[Result]


class NothingPublished(ErrorBody, frozen=True, rename={"text": "error"}):
    """The first error, and the results with all of them."""

    results: tuple[Result, ...] = ()


def endpoints(placement: Placement) -> tuple[Endpoint, ...]:
    async def publish(broker: Broker, params: TopicParams, _: Nothing, body: PublishBody) -> Published | Reply:
        name = topic_name(params.topic)
        try:
            broker.catalog.topic(name)
        except UnknownTopic as refusal:
            note_unreadable(broker, name, refusal, broker.clock.now_ns())
            raise
        messages = messages_of(body)
        return _answer(messages, await _publish(broker, placement, name, messages, body))

    return (
        Endpoint(
            method="POST",
            path="/topics/{topic}/messages",
            tag="Messages",
            summary="Publish one record, or many: 207 when some failed, an error when all did",
            handler=publish,
            params=TopicParams,
            body=PublishBody,
            body_forms=(MessageIn, Messages),
            response=Published,
            other_statuses=(207,),
            errors=(404, 409, 422),
            traced=True,
        ),
    )


def messages_of(body: PublishBody) -> list[MessageIn]:
    if body.messages is UNSET:
        if body.value is UNSET:
            raise InvalidRequest(
                "the body has neither value nor messages", hint='send {"value": …} or {"messages": [{"value": …}, …]}'
            )
        return [body]
    own = ("value", "key", "headers", "partition", "id", "expires")
    misplaced = [name for name in own if getattr(body, name) not in (UNSET, {})]
    if body.priority != "normal":
        misplaced.append("priority")
    if body.has_delay:
        misplaced.append("a delay")
    if misplaced:
        raise InvalidRequest(f"{' and '.join(misplaced)} beside messages", hint="give it in each message")
    return body.messages


async def _publish(
    broker: Broker, placement: Placement, name: TopicName, messages: list[MessageIn], defaults: PublishBody
) -> list[Placed | GoQueueError]:
    outgoing: list[Outgoing] = []
    outcomes: dict[int, Placed | GoQueueError] = {}
    sent: list[int] = []
    now = broker.clock.now_ns()
    for number, message in enumerate(messages):
        try:
            outgoing.append(outgoing_of(message, defaults, now))
            sent.append(number)
        except GoQueueError as refusal:
            outcomes[number] = refusal
            note_unreadable(broker, name, refusal, now)
    outcomes |= zip(sent, await publish_records(broker, placement, name, outgoing), strict=True)
    return [outcomes[number] for number in range(len(messages))]


def outgoing_of(message: MessageIn, defaults: MessageIn, now_ns: int) -> Outgoing:
    record = key_and_value(None if message.key is UNSET else message.key, message.value, message.headers)
    if message.priority != "normal":
        record = msgspec.structs.replace(record, priority=priority_number(message.priority))
    expiry = expiry_from(message.expires, now_ns=now_ns)
    if expiry is not None:
        record = with_expiry(record, expiry)
    headers = in_trace(record.headers, trace_of_request())
    if headers is not record.headers:
        record = msgspec.structs.replace(record, headers=headers)
    durability = message.durability if message.durability is not UNSET else defaults.durability
    acks = message.acks if message.acks is not UNSET else defaults.acks
    return Outgoing(
        record,
        None if message.partition is UNSET else message.partition,
        None if durability is UNSET else durability,
        acks != "none",
        None if message.id is UNSET else message.id,
        due_of(message, now_ns=now_ns),
    )


def _answer(messages: list[MessageIn], outcomes: list[Placed | GoQueueError]) -> Published | Reply:
    results = [result_of(message, outcome) for message, outcome in zip(messages, outcomes, strict=True)]
    errors = [outcome for outcome in outcomes if isinstance(outcome, GoQueueError)]
    if not errors:
        return Published(results)
    if len(errors) < len(outcomes):
        return Reply(Published(results), 207)
    first = error_body(errors[0])
    content = NothingPublished(first.text, first.code, first.status, first.hint, tuple(results))
    return Reply(content, first.status, retry_after(first))


def result_of(message: MessageIn, outcome: Placed | GoQueueError) -> Result:
    if isinstance(outcome, Placed):
        return Result(
            partition=outcome.partition,
            offset=outcome.offset,
            priority=priority_number(message.priority),
            delayed=bool(outcome.due),
            deliver_at=instant_text(outcome.due) if outcome.due else UNSET,
            duplicate=outcome.duplicate,
        )
    error = error_body(outcome)
    return Result(text=error.text, code=error.code, status=error.status, hint=error.hint)
