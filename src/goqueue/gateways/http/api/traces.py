"""Traces: what happened lately, to which record, how it went; and where one message is now."""

import re
from typing import Annotated, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.core.tracing.search import Wanted
from goqueue.engine.broker import Broker
from goqueue.engine.tracing.journey import find_journey
from goqueue.engine.tracing.queries import MOST_LISTED, find_spans, one_trace, recent_traces, tracing_facts
from goqueue.errors import InvalidRequest
from goqueue.gateways.http.api.params import TopicText
from goqueue.gateways.http.api.reading import OffsetNumber
from goqueue.gateways.http.api.trace_shapes import (
    TRACE_PATTERN,
    JourneyOut,
    Spans,
    Stats,
    Status,
    TraceOut,
    Traces,
    journey_out,
    span_out,
    stats_out,
    summary_out,
    trace_out,
)
from goqueue.gateways.http.endpoint import Endpoint, Nothing
from goqueue.gateways.http.forms.times import InstantText, instant_ns
from goqueue.gateways.http.forms.values import Base64Text
from goqueue.gateways.http.rules import AtMostOne, ExactlyOne, Needs, Ruled
from goqueue.model.record_id import LONGEST_ID
from goqueue.model.span import Operation
from goqueue.model.topic import MOST_PARTITIONS, topic_name

__all__ = ["ENDPOINTS"]

TAG = "Traces"

T = TypeVar("T")

Limit = Annotated[int, Meta(ge=1, le=MOST_LISTED)]
PartitionNumber = Annotated[int, Meta(ge=0, lt=MOST_PARTITIONS)]
RecordId = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID, description="the id a producer gave the record")]
KeyBytes = Annotated[Base64Text, Meta(description="a key that is not text")]
ONE_KEY = AtMostOne("key", "key_base64")

_TRACE_ID = re.compile(TRACE_PATTERN, re.ASCII)


class TraceParams(msgspec.Struct, frozen=True):
    trace_id: Annotated[str, Meta(description="32 hexadecimal digits", extra_json_schema={"pattern": TRACE_PATTERN})]


class RecentQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limit: Limit = 100


class SearchQuery(Ruled, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All that is given has to fit; `start` is included, `end` is not."""

    topic: TopicText | UnsetType = UNSET
    partition: PartitionNumber | UnsetType = UNSET
    consumer_group: Annotated[str, Meta(max_length=300)] | UnsetType = UNSET
    start: InstantText | UnsetType = UNSET
    end: InstantText | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    operation: Operation | UnsetType = UNSET
    key: str | UnsetType = UNSET
    key_base64: KeyBytes | UnsetType = UNSET
    id: RecordId | UnsetType = UNSET
    limit: Limit = 100

    RULES = (ONE_KEY,)


class JourneyQuery(Ruled, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A record by its partition and offset, by its id, or the newest one with a key."""

    topic: TopicText
    partition: PartitionNumber | UnsetType = UNSET
    offset: OffsetNumber | UnsetType = UNSET
    id: RecordId | UnsetType = UNSET
    key: str | UnsetType = UNSET
    key_base64: KeyBytes | UnsetType = UNSET

    RULES = (ExactlyOne("offset", "id", ("key", "key_base64")), ONE_KEY, Needs("offset", "partition"))


async def recent(broker: Broker, _: Nothing, query: RecentQuery, __: None) -> Traces:
    return Traces([summary_out(one) for one in await recent_traces(broker, query.limit)])


async def one(broker: Broker, params: TraceParams, _: Nothing, __: None) -> TraceOut:
    if not _TRACE_ID.fullmatch(params.trace_id):
        raise InvalidRequest(f"{params.trace_id[:60]!r} is not the id of a trace", hint="it has 32 hexadecimal digits")
    return trace_out(await one_trace(broker, params.trace_id))


async def search(broker: Broker, _: Nothing, query: SearchQuery, __: None) -> Spans:
    wanted = Wanted(
        topic=None if query.topic is UNSET else topic_name(query.topic),
        partition=_given(query.partition),
        group=_given(query.consumer_group),
        start_ns=None if query.start is UNSET else instant_ns(query.start, "start"),
        end_ns=None if query.end is UNSET else instant_ns(query.end, "end"),
        is_error=None if query.status is UNSET else query.status == "error",
        key=_key(query.key, query.key_base64),
        id=_given(query.id),
        operation=_given(query.operation),
    )
    return Spans([span_out(span) for span in await find_spans(broker, wanted, query.limit)])


async def stats(broker: Broker, _: Nothing, __: Nothing, ___: None) -> Stats:
    return stats_out(await tracing_facts(broker))


async def journey(broker: Broker, _: Nothing, query: JourneyQuery, __: None) -> JourneyOut:
    found = await find_journey(
        broker,
        topic_name(query.topic),
        number=_given(query.partition),
        offset=_given(query.offset),
        id_text=_given(query.id),
        key=_key(query.key, query.key_base64),
    )
    return journey_out(found)


def _given(value: T | UnsetType) -> T | None:
    return None if value is UNSET else value


def _key(text: str | UnsetType, encoded: bytes | UnsetType) -> bytes | None:
    if encoded is not UNSET:
        return encoded
    return None if text is UNSET else text.encode()


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/traces",
        tag=TAG,
        summary="Traces in which something happened last",
        handler=recent,
        query=RecentQuery,
        response=Traces,
    ),
    Endpoint(
        method="GET",
        path="/traces/search",
        tag=TAG,
        summary="Spans by topic, partition, group, time, status, key or id",
        handler=search,
        query=SearchQuery,
        response=Spans,
    ),
    Endpoint(
        method="GET",
        path="/traces/stats",
        tag=TAG,
        summary="How much is traced, and how long each operation takes",
        handler=stats,
        response=Stats,
    ),
    Endpoint(
        method="GET",
        path="/traces/journey",
        tag=TAG,
        summary="Where one record is: what the log, the groups and the spans know of it",
        handler=journey,
        query=JourneyQuery,
        response=JourneyOut,
        errors=(404,),
    ),
    Endpoint(
        method="GET",
        path="/traces/{trace_id}",
        tag=TAG,
        summary="One trace",
        handler=one,
        params=TraceParams,
        response=TraceOut,
        errors=(404,),
    ),
)
