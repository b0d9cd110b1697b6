"""Cancel many delayed records in one request, one by one in effect."""

from typing import Annotated

import msgspec
from msgspec import Meta

from goqueue.engine import delays
from goqueue.engine.broker import Broker
from goqueue.errors import GoQueueError
from goqueue.gateways.http.api.params import TopicParams
from goqueue.gateways.http.api.reading import OffsetNumber
from goqueue.gateways.http.endpoint import Endpoint, Nothing, Reply
from goqueue.gateways.http.responses import ErrorBody, error_body, retry_after
from goqueue.model.topic import MOST_PARTITIONS, topic_name

__all__ = ["ENDPOINTS"]

MOST_PLACES = 10_000


class DelayedPlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A delayed record."""

    partition: Annotated[int, Meta(ge=0, lt=MOST_PARTITIONS)]
    offset: OffsetNumber


class CancelBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record that is named twice counts once."""

    records: Annotated[list[DelayedPlace], Meta(min_length=1, max_length=MOST_PLACES)]


class CancelledPlace(msgspec.Struct, frozen=True):
    """A record that is not delivered any more."""

    partition: int
    offset: int


class RefusedPlace(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"text": "error"}):
    """A record that stays what it is, and why."""

    partition: int
    offset: int
    text: str
    code: str
    status: int
    hint: str | msgspec.UnsetType = msgspec.UNSET


class CancelledMany(msgspec.Struct, frozen=True):
    """By partition and offset. What was cancelled before is cancelled."""

    cancelled: list[CancelledPlace]
    not_cancelled: list[RefusedPlace]


class NothingCancelled(ErrorBody, frozen=True, rename={"text": "error"}):
    """The first error, and all of them by record."""

    cancelled: tuple[CancelledPlace, ...] = ()
    not_cancelled: tuple[RefusedPlace, ...] = ()


async def cancel_many(broker: Broker, params: TopicParams, _: Nothing, body: CancelBody) -> CancelledMany | Reply:
    offsets: dict[int, list[int]] = {}
    for place in body.records:
        offsets.setdefault(place.partition, []).append(place.offset)
    parts = await delays.cancel_delays(broker, topic_name(params.topic), dict(sorted(offsets.items())))
    cancelled = [CancelledPlace(part.partition, offset) for part in parts for offset in part.cancelled]
    refused = [
        _refused(part.partition, offset, one.error) for part in parts for one in part.refused for offset in one.offsets
    ]
    refused.sort(key=lambda one: (one.partition, one.offset))
    if not refused:
        return CancelledMany(cancelled, refused)
    if cancelled:
        return Reply(CancelledMany(cancelled, refused), 207)
    first = refused[0]
    nothing = NothingCancelled(first.text, first.code, first.status, first.hint, (), tuple(refused))
    return Reply(nothing, first.status, retry_after(nothing))


def _refused(partition: int, offset: int, refusal: GoQueueError) -> RefusedPlace:
    error = error_body(refusal)
    return RefusedPlace(
        partition=partition, offset=offset, text=error.text, code=error.code, status=error.status, hint=error.hint
    )


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/topics/{topic}/delayed/cancel",
        tag="Delays",
        summary="Cancel many delayed records: 207 when some could not be, an error when none could",
        handler=cancel_many,
        params=TopicParams,
        body=CancelBody,
        response=CancelledMany,
        other_statuses=(207,),
        errors=(404, 409),
    ),
)
