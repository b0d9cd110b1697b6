"""Dead letters: search, look, send back, purge; and how deliveries fare."""

import msgspec
from msgspec import UNSET

from goqueue.engine.broker import Broker
from goqueue.engine.browse import Found
from goqueue.engine.cursors import cursor_of, place_of
from goqueue.engine.queue.dead_letters import DEAD_LETTER_HEADER, DeadLetter
from goqueue.engine.queue.reliability import reliability
from goqueue.engine.workbench.desk import Desk, Letter, desk_of
from goqueue.engine.workbench.mending import Edit
from goqueue.engine.workbench.redrive import Orders, Report, purge, redrive
from goqueue.engine.workbench.search import Wanted, find, show
from goqueue.engine.workbench.stats import letter_stats
from goqueue.gateways.http.api.letter_shapes import (
    DeadLetterOut,
    EditBody,
    Failure,
    GroupReliability,
    LetterList,
    LetterParams,
    LetterQuery,
    LetterStatsOut,
    Moved,
    NotMoved,
    Origin,
    PurgeBody,
    Purged,
    RedriveBody,
    Redriven,
    ReliabilityOut,
    SelectBody,
    ShowQuery,
)
from goqueue.gateways.http.api.params import TopicParams
from goqueue.gateways.http.api.reading import message_of
from goqueue.gateways.http.endpoint import Endpoint, Handler, Nothing
from goqueue.gateways.http.forms.times import instant_ns, instant_text
from goqueue.gateways.http.forms.values import Form, header_pairs, key_and_value
from goqueue.model.topic import topic_name

__all__ = ["ENDPOINTS"]

TAG = "Dead letters"
_NULL = msgspec.Raw(b"null")


async def listing(broker: Broker, params: TopicParams, query: LetterQuery, _: None) -> LetterList:
    desk = _desk(broker, params.topic)
    after = None if query.cursor is UNSET else place_of(query.cursor)
    page = await find(desk, _wanted(query), query.limit, after)
    form = None if query.format is UNSET else query.format
    return LetterList(desk.name, [_letter(one, form) for one in page.letters], cursor_of(page.last))


async def one_letter(broker: Broker, params: LetterParams, query: ShowQuery, _: None) -> DeadLetterOut:
    letter = await show(_desk(broker, params.topic), params.partition, params.offset)
    return _letter(letter, None if query.format is UNSET else query.format)


async def stats(broker: Broker, params: TopicParams, _: Nothing, __: None) -> LetterStatsOut:
    desk = _desk(broker, params.topic)
    found = await letter_stats(desk)
    return LetterStatsOut(
        desk.name,
        found.count,
        dict(found.by_cause.most_common()),
        dict(found.by_reason.most_common()),
        dict(found.by_group.most_common()),
        None if found.oldest_ns is None else instant_text(found.oldest_ns),
        None if found.newest_ns is None else instant_text(found.newest_ns),
    )


async def send_back(broker: Broker, params: TopicParams, _: Nothing, body: RedriveBody) -> Redriven:
    desk = _desk(broker, params.topic)
    orders = Orders(
        _selected(body.select),
        _edit(body.edit),
        body.dry_run,
        body.limit,
        body.rate,
        None if body.cursor is UNSET else place_of(body.cursor),
    )
    report = await redrive(desk, orders)
    return Redriven(
        dlq_topic=desk.name,
        dry_run=body.dry_run,
        matched=report.matched,
        redriven=report.done,
        failed=report.failed,
        missing=report.missing,
        stopped=_stopped(report),
        moves=[Moved(one.partition, one.offset, *one.target, one.target_offset) for one in report.moves],
        failures=[NotMoved(one.partition, one.offset, one.error.message, one.error.code) for one in report.failures],
        next_cursor=cursor_of(report.last),
    )


async def purge_letters(broker: Broker, params: TopicParams, _: Nothing, body: PurgeBody) -> Purged:
    desk = _desk(broker, params.topic)
    after = None if body.cursor is UNSET else place_of(body.cursor)
    report = await purge(desk, Orders(_selected(body.select), dry_run=body.dry_run, limit=body.limit, after=after))
    return Purged(
        dlq_topic=desk.name,
        dry_run=body.dry_run,
        matched=report.matched,
        purged=report.done,
        missing=report.missing,
        stopped=_stopped(report),
        next_cursor=cursor_of(report.last),
    )


async def how_deliveries_fare(broker: Broker, _: Nothing, __: Nothing, ___: None) -> ReliabilityOut:
    return ReliabilityOut([GroupReliability(**msgspec.structs.asdict(one)) for one in await reliability(broker)])


# What is asked.


def _desk(broker: Broker, name: str) -> Desk:
    return desk_of(broker, topic_name(name))


def _selected(select: SelectBody) -> Wanted:
    wanted = _wanted(select)
    if select.offsets is not UNSET:
        places = tuple((one.partition, one.offset) for one in select.offsets)
        wanted = msgspec.structs.replace(wanted, places=places)
    return wanted


def _wanted(given: LetterQuery | SelectBody) -> Wanted:
    key = given.key.encode() if given.key is not UNSET else given.key_base64
    return Wanted(
        reason=None if given.reason is UNSET else given.reason,
        cause=None if given.cause is UNSET else given.cause,
        key=None if key is UNSET else key,
        group=None if given.group is UNSET else given.group,
        from_ns=None if given.from_ is UNSET else instant_ns(given.from_, "from"),
        to_ns=None if given.to is UNSET else instant_ns(given.to, "to"),
    )


def _edit(body: EditBody) -> Edit:
    """Values and keys as they are given to publish; JSON is marked as there."""
    raw_key = None if body.key is UNSET else body.key
    given = key_and_value(raw_key, _NULL if body.value is UNSET else body.value, {})
    return Edit(
        value=UNSET if body.value is UNSET else given.value,
        key=UNSET if body.key is UNSET else given.key,
        headers=UNSET if body.headers is UNSET else header_pairs(body.headers),
        marks=given.headers,
        topic=None if body.topic is UNSET else topic_name(body.topic),
    )


# What is answered.


def _letter(letter: Letter, form: Form | None) -> DeadLetterOut:
    record, origin = letter.record, letter.origin
    headers = tuple(one for one in record.headers if one[0] != DEAD_LETTER_HEADER)
    shown = message_of(Found(letter.partition, msgspec.structs.replace(record, headers=headers), letter.fault), form)
    return DeadLetterOut(
        origin=None if origin is None else _origin(origin),
        cause=None if origin is None else origin.cause,
        reason=None if origin is None else origin.reason,
        delivery_count=None if origin is None else origin.deliveries,
        failure_count=None if origin is None else origin.failures,
        history=[] if origin is None else [Failure(instant_text(one.at), one.reason) for one in origin.history],
        **msgspec.structs.asdict(shown),
    )


def _origin(origin: DeadLetter) -> Origin:
    return Origin(origin.topic, origin.partition, origin.offset, instant_text(origin.timestamp_ns), origin.group)


def _stopped(report: Report) -> str | None:
    return None if report.stopped is None else report.stopped.message


def _one(
    method: str,
    path: str,
    summary: str,
    handler: Handler,
    response: type,
    *,
    params: type = TopicParams,
    query: type = Nothing,
    body: type | None = None,
) -> Endpoint:
    return Endpoint(
        method=method,
        path=path,
        tag=TAG,
        summary=summary,
        handler=handler,
        params=params,
        query=query,
        body=body,
        response=response,
        errors=(404, 409) if params is not Nothing else (),
        # A redrive at a low rate takes long; it ends when nobody waits for it any more.
        waits=body is RedriveBody,
    )


_AT = "/dlq/{topic}"
ENDPOINTS = (
    _one("GET", _AT, "Search the dead letters of a topic", listing, LetterList, query=LetterQuery),
    _one("DELETE", _AT, "Purge dead letters, for good", purge_letters, Purged, body=PurgeBody),
    _one("GET", f"{_AT}/stats", "How many dead letters there are, and why", stats, LetterStatsOut),
    _one(
        "POST",
        f"{_AT}/redrive",
        "Send dead letters back to where they came from",
        send_back,
        Redriven,
        body=RedriveBody,
    ),
    _one(
        "GET",
        f"{_AT}/{{partition}}/{{offset}}",
        "One dead letter",
        one_letter,
        DeadLetterOut,
        params=LetterParams,
        query=ShowQuery,
    ),
    _one(
        "GET",
        "/reliability/stats",
        "How deliveries fare, by group and topic",
        how_deliveries_fare,
        ReliabilityOut,
        params=Nothing,
    ),
)
