"""Read records without consuming them: a partition in offset order, or a whole topic in order of time."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.engine.broker import Broker
from goqueue.engine.browse import Found, Selection, browse, read_page
from goqueue.engine.cursors import CURSOR_PATTERN, cursor_of, place_of
from goqueue.gateways.http.api.params import PartitionParams, TopicParams
from goqueue.gateways.http.endpoint import Endpoint
from goqueue.gateways.http.forms.isolation import COMMITTED, IsolationText, isolation_of
from goqueue.gateways.http.forms.times import InstantText, instant_ns, instant_text
from goqueue.gateways.http.forms.values import (
    Base64Text,
    Form,
    FormName,
    Headers,
    PriorityName,
    header_map,
    priority_number,
    shown,
)
from goqueue.gateways.http.rules import AtMostOne, Ruled
from goqueue.model.topic import MOST_PARTITIONS, topic_name

__all__ = [
    "ENDPOINTS",
    "Limit",
    "MessageOut",
    "OffsetNumber",
    "message_of",
]

TAG = "Messages"
LARGEST = (1 << 63) - 1

Limit = Annotated[int, Meta(ge=1, le=1000)]
OffsetNumber = Annotated[int, Meta(ge=0, le=LARGEST)]


class PageQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Without an offset from the earliest on; without a format, text where it can be."""

    offset: OffsetNumber | UnsetType = UNSET
    limit: Limit = 100
    format: Form | UnsetType = UNSET
    isolation: IsolationText = COMMITTED


class BrowseQuery(Ruled, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`from` is included, `to` is not."""

    limit: Limit = 100
    partition: Annotated[int, Meta(ge=0, lt=MOST_PARTITIONS)] | UnsetType = UNSET
    offset: OffsetNumber = 0
    from_: InstantText | UnsetType = msgspec.field(name="from", default=UNSET)
    to: InstantText | UnsetType = UNSET
    key: str | UnsetType = UNSET
    key_base64: Annotated[Base64Text, Meta(description="a key that is not text")] | UnsetType = UNSET
    priority: PriorityName | Annotated[int, Meta(ge=0, le=4)] | UnsetType = UNSET
    format: Form | UnsetType = UNSET
    cursor: (
        Annotated[
            str, Meta(description="next_cursor of the page before", extra_json_schema={"pattern": CURSOR_PATTERN})
        ]
        | UnsetType
    ) = UNSET
    isolation: IsolationText = COMMITTED

    RULES = (AtMostOne("key", "key_base64"),)


class MessageOut(msgspec.Struct, frozen=True, kw_only=True):
    """A record. The formats say in which form key and value are; `value_error` why a value cannot be decompressed."""

    partition: int
    offset: int
    timestamp: str
    key: Any | UnsetType = UNSET
    key_format: FormName | UnsetType = UNSET
    value: Any
    value_format: FormName
    value_error: str | UnsetType = UNSET
    headers: Headers
    priority: int


class Page(msgspec.Struct, frozen=True):
    """Fewer records than the limit are not yet the end: go on from `next_offset`."""

    messages: list[MessageOut]
    next_offset: int


class BrowsePage(msgspec.Struct, frozen=True):
    """The end is where there is no cursor; a page before it may be empty, when what was looked at did not match."""

    messages: list[MessageOut]
    next_cursor: str | None


async def page(broker: Broker, params: PartitionParams, query: PageQuery, _: None) -> Page:
    offset = None if query.offset is UNSET else query.offset
    isolation = isolation_of(query.isolation)
    read = await read_page(broker, topic_name(params.topic), params.partition, offset, query.limit, isolation)
    form = _form(query)
    return Page([message_of(found, form) for found in read.found], read.next_offset)


async def browse_topic(broker: Broker, params: TopicParams, query: BrowseQuery, _: None) -> BrowsePage:
    after = None if query.cursor is UNSET else place_of(query.cursor)
    read = await browse(broker, topic_name(params.topic), _selection(query), query.limit, after)
    form = _form(query)
    return BrowsePage([message_of(found, form) for found in read.found], cursor_of(read.last))


def message_of(found: Found, form: Form | None) -> MessageOut:
    record = found.record
    key, key_format = (UNSET, UNSET) if record.key is None else shown(record.key, form)
    value, value_format = shown(record.value, form)
    return MessageOut(
        partition=found.partition,
        offset=record.offset,
        timestamp=instant_text(record.timestamp_ns),
        key=key,
        key_format=key_format,
        value=value,
        value_format=value_format,
        value_error=UNSET if found.fault is None else found.fault,
        headers=header_map(record.headers),
        priority=record.priority,
    )


def _form(query: PageQuery | BrowseQuery) -> Form | None:
    return None if query.format is UNSET else query.format


def _selection(query: BrowseQuery) -> Selection:
    key = query.key.encode() if query.key is not UNSET else query.key_base64
    return Selection(
        partition=None if query.partition is UNSET else query.partition,
        offset=query.offset,
        from_ns=None if query.from_ is UNSET else instant_ns(query.from_, "from"),
        to_ns=None if query.to is UNSET else instant_ns(query.to, "to"),
        key=None if key is UNSET else key,
        priority=None if query.priority is UNSET else priority_number(query.priority),
        isolation=isolation_of(query.isolation),
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/topics/{topic}/partitions/{partition}/messages",
        tag=TAG,
        summary="The records of a partition, complete and in offset order",
        handler=page,
        params=PartitionParams,
        query=PageQuery,
        response=Page,
        errors=(404,),
    ),
    Endpoint(
        method="GET",
        path="/topics/{topic}/messages",
        tag=TAG,
        summary="The records of a topic in order of time, all or those that match",
        handler=browse_topic,
        params=TopicParams,
        query=BrowseQuery,
        response=BrowsePage,
        errors=(404,),
    ),
)
