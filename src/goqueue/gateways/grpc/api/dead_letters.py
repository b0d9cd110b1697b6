"""What calls about dead letters do: search, look, send back, purge."""

import msgspec
from msgspec import UNSET

from goqueue.engine.broker import Broker
from goqueue.engine.browse import Found, Place
from goqueue.engine.cursors import cursor_of, place_of
from goqueue.engine.queue.dead_letters import DEAD_LETTER_HEADER, DeadLetter
from goqueue.engine.workbench.desk import Desk, Letter, desk_of
from goqueue.engine.workbench.mending import Edit
from goqueue.engine.workbench.redrive import Orders, Report, purge, redrive
from goqueue.engine.workbench.search import MOST_LISTED, Wanted, find, show
from goqueue.engine.workbench.stats import letter_stats
from goqueue.errors import InvalidRequest
from goqueue.gateways.grpc.answering import detail_of
from goqueue.gateways.grpc.forms import showing
from goqueue.gateways.grpc.forms.asking import at_most, limited, optional
from goqueue.gateways.grpc.service import Call, Handler, Service
from goqueue.model.topic import topic_name
from goqueue.wire.grpc.v1 import dead_letters_pb2 as wire

__all__ = ["dead_letter_service"]

MOST_AT_ONCE = 100_000
MOST_PLACES = 10_000
USUAL_LIMIT = 100
USUAL_REDRIVE = 10_000
LONGEST_TEXT = 1000
FASTEST = 1_000_000


def dead_letter_service(broker: Broker) -> Service:
    async def listing(request: wire.ListDeadLettersRequest, _: Call) -> wire.ListDeadLettersResponse:
        limit = limited(optional(request, "limit"), USUAL_LIMIT, MOST_LISTED)
        desk = _desk(broker, request.topic)
        page = await find(desk, _wanted(request.select), limit, _after(request.cursor))
        return wire.ListDeadLettersResponse(
            dead_letter_topic=desk.name,
            letters=[_letter(desk, one) for one in page.letters],
            next_cursor=cursor_of(page.last) or "",
        )

    async def one_letter(request: wire.GetDeadLetterRequest, _: Call) -> wire.GetDeadLetterResponse:
        desk = _desk(broker, request.topic)
        return wire.GetDeadLetterResponse(letter=_letter(desk, await show(desk, request.partition, request.offset)))

    async def stats(request: wire.GetDeadLetterStatsRequest, _: Call) -> wire.GetDeadLetterStatsResponse:
        desk = _desk(broker, request.topic)
        return showing.show(wire.GetDeadLetterStatsResponse, await letter_stats(desk), dead_letter_topic=desk.name)

    async def send_back(request: wire.RedriveDeadLettersRequest, _: Call) -> wire.RedriveDeadLettersResponse:
        desk = _desk(broker, request.topic)
        orders = Orders(
            _selected(request.select),
            _edit(request.edit),
            request.dry_run,
            limited(optional(request, "limit"), USUAL_REDRIVE, MOST_AT_ONCE),
            _rate(optional(request, "rate")),
            _after(request.cursor),
        )
        report = await redrive(desk, orders)
        return showing.show(
            wire.RedriveDeadLettersResponse,
            report,
            dead_letter_topic=desk.name,
            redriven=report.done,
            stopped=_stopped(report),
            moves=[
                showing.show(wire.DeadLetterMove, one, topic=one.target.topic, target_partition=one.target.partition)
                for one in report.moves
            ],
            failures=[showing.show(wire.DeadLetterRefusal, one, error=detail_of(one.error)) for one in report.failures],
            next_cursor=cursor_of(report.last),
        )

    async def be_done(request: wire.PurgeDeadLettersRequest, _: Call) -> wire.PurgeDeadLettersResponse:
        desk = _desk(broker, request.topic)
        limit = limited(optional(request, "limit"), MOST_AT_ONCE, MOST_AT_ONCE)
        wanted, after = _selected(request.select), _after(request.cursor)
        report = await purge(desk, Orders(wanted, dry_run=request.dry_run, limit=limit, after=after))
        return showing.show(
            wire.PurgeDeadLettersResponse,
            report,
            dead_letter_topic=desk.name,
            purged=report.done,
            stopped=_stopped(report),
            next_cursor=cursor_of(report.last),
        )

    methods: dict[str, Handler] = {
        "ListDeadLetters": listing,
        "GetDeadLetter": one_letter,
        "GetDeadLetterStats": stats,
        "RedriveDeadLetters": send_back,
        "PurgeDeadLetters": be_done,
    }
    # A redrive at a low rate takes long; it ends when nobody waits for it any more.
    waiting = frozenset({"RedriveDeadLetters"})
    return Service(wire.DESCRIPTOR.services_by_name["DeadLetterService"], methods, waiting)


# What is asked.


def _desk(broker: Broker, name: str) -> Desk:
    return desk_of(broker, topic_name(name))


def _after(cursor: str) -> Place | None:
    return place_of(cursor) if cursor else None


def _rate(given: float | None) -> float | None:
    if given is not None and not 0 < given <= FASTEST:
        raise InvalidRequest(f"{given} records per second", hint=f"give more than 0, and at most {FASTEST}")
    return given


def _selected(select: wire.DeadLetterSelect) -> Wanted:
    """To be changed: nobody should purge everything because a field was left out."""
    wanted = _wanted(select)
    if select.all == (wanted != Wanted()):
        raise InvalidRequest(
            "select names some and all of them" if select.all else "select does not say which ones",
            hint="give places, reason, cause, key, group, from_ns or to_ns; or all",
        )
    return wanted


def _wanted(select: wire.DeadLetterSelect) -> Wanted:
    if len(select.places) > MOST_PLACES:
        raise InvalidRequest(f"{len(select.places)} places", hint=f"name at most {MOST_PLACES}")
    for name in ("reason", "cause", "group"):
        at_most(name, getattr(select, name), LONGEST_TEXT)
    names = ("reason", "cause", "key", "group", "from_ns", "to_ns")
    places = tuple((one.partition, one.offset) for one in select.places) or None
    return Wanted(**{name: optional(select, name) for name in names}, places=places)


def _edit(edit: wire.DeadLetterEdit) -> Edit:
    for name in ("value", "key"):
        if edit.HasField(name) and getattr(edit, f"without_{name}"):
            raise InvalidRequest(f"a {name} and none", hint=f"give {name} or without_{name}")
    return Edit(
        value=None if edit.without_value else edit.value if edit.HasField("value") else UNSET,
        key=None if edit.without_key else edit.key if edit.HasField("key") else UNSET,
        headers=tuple((one.name, one.value) for one in edit.headers.headers) if edit.HasField("headers") else UNSET,
        topic=topic_name(edit.topic) if edit.HasField("topic") else None,
    )


# What is answered.


def _letter(desk: Desk, letter: Letter) -> wire.DeadLetter:
    record, origin = letter.record, letter.origin
    headers = tuple(one for one in record.headers if one[0] != DEAD_LETTER_HEADER)
    found = Found(letter.partition, msgspec.structs.replace(record, headers=headers), letter.fault)
    return wire.DeadLetter(record=showing.stored(desk.name, found), origin=None if origin is None else _origin(origin))


def _origin(origin: DeadLetter) -> wire.DeadLetterOrigin:
    history = [wire.DeliveryFailure(at_ns=one.at, reason=one.reason) for one in origin.history]
    return showing.show(wire.DeadLetterOrigin, origin, history=history)


def _stopped(report: Report) -> str | None:
    return None if report.stopped is None else report.stopped.message
