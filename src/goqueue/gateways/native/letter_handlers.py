"""What native requests about dead letters do."""

from msgspec import UNSET

from goqueue.engine.broker import Broker
from goqueue.engine.browse import Place
from goqueue.engine.queue.dead_letters import DEAD_LETTER_HEADER, DeadLetter
from goqueue.engine.workbench.desk import Desk, Letter, desk_of
from goqueue.engine.workbench.mending import Edit
from goqueue.engine.workbench.redrive import Orders, Report, purge, redrive
from goqueue.engine.workbench.search import MOST_LISTED, Wanted, find
from goqueue.engine.workbench.stats import letter_stats
from goqueue.errors import InvalidRequest
from goqueue.gateways.native.routes import Answer, Route
from goqueue.model.topic import topic_name
from goqueue.wire.native import letters
from goqueue.wire.native.frames import Opcode

__all__ = ["letter_routes"]

MOST_AT_ONCE = 10_000
SLOWEST = 0.1
"""Records per second: a request must be answered before its client gives up on it."""


def letter_routes(broker: Broker) -> list[Route]:
    """Opcode, request type and what answers it."""

    async def search(request: letters.FindLetters) -> Answer:
        _check_limit(request.limit, MOST_LISTED)
        desk = _desk(broker, request.topic)
        page = await find(desk, _wanted(request.select), request.limit, _place(request.after))
        return letters.FoundLetters(desk.name, tuple(map(_letter, page.letters)), page.last), []

    async def count(request: letters.CountLetters) -> Answer:
        desk = _desk(broker, request.topic)
        found = await letter_stats(desk)
        reply = letters.LetterCounts(
            desk.name,
            found.count,
            dict(found.by_cause.most_common()),
            dict(found.by_reason.most_common()),
            dict(found.by_group.most_common()),
            found.oldest_ns,
            found.newest_ns,
        )
        return reply, []

    async def send_back(request: letters.RedriveLetters) -> Answer:
        _check_limit(request.limit, MOST_AT_ONCE)
        if request.per_second is not None and request.per_second < SLOWEST:
            raise InvalidRequest(f"{request.per_second} records per second", hint=f"give {SLOWEST} or more")
        desk = _desk(broker, request.topic)
        orders = Orders(
            _wanted(request.select),
            _edit(request.edit),
            request.dry_run,
            request.limit,
            request.per_second,
            _place(request.after),
            request.ends,
        )
        return _reply(desk, await redrive(desk, orders)), []

    async def be_done(request: letters.PurgeLetters) -> Answer:
        _check_limit(request.limit, MOST_AT_ONCE)
        desk = _desk(broker, request.topic)
        orders = Orders(
            _wanted(request.select),
            dry_run=request.dry_run,
            limit=request.limit,
            after=_place(request.after),
            ends=request.ends,
        )
        return _reply(desk, await purge(desk, orders)), []

    return [
        Route(Opcode.FIND_LETTERS, letters.FindLetters, search),
        Route(Opcode.COUNT_LETTERS, letters.CountLetters, count),
        Route(Opcode.REDRIVE_LETTERS, letters.RedriveLetters, send_back),
        Route(Opcode.PURGE_LETTERS, letters.PurgeLetters, be_done),
    ]


def _check_limit(limit: int, most: int) -> None:
    if not 1 <= limit <= most:
        raise InvalidRequest(f"a limit of {limit}", hint=f"give 1 to {most}")


def _desk(broker: Broker, name: str) -> Desk:
    return desk_of(broker, topic_name(name))


def _place(cursor: letters.Cursor | None) -> Place | None:
    return None if cursor is None else Place(*cursor)


def _wanted(select: letters.LetterSelect) -> Wanted:
    return Wanted(select.reason, select.cause, select.key, select.group, select.from_ns, select.to_ns, select.places)


def _edit(edit: letters.LetterEdit) -> Edit:
    changes = set(edit.changes)
    if changes - {"value", "key", "headers"}:
        raise InvalidRequest(f"there is no {', '.join(sorted(changes))} to be changed", hint="value, key or headers")
    return Edit(
        value=edit.value if "value" in changes else UNSET,
        key=edit.key if "key" in changes else UNSET,
        headers=edit.headers if "headers" in changes else UNSET,
        topic=None if edit.topic is None else topic_name(edit.topic),
    )


def _letter(letter: Letter) -> letters.FoundLetter:
    record = letter.record
    return letters.FoundLetter(
        letter.partition,
        record.offset,
        record.timestamp_ns,
        record.key,
        record.value,
        tuple(one for one in record.headers if one[0] != DEAD_LETTER_HEADER),
        record.priority,
        None if letter.origin is None else _origin(letter.origin),
        letter.fault,
    )


def _origin(origin: DeadLetter) -> letters.LetterOrigin:
    return letters.LetterOrigin(
        origin.topic,
        origin.partition,
        origin.offset,
        origin.timestamp_ns,
        origin.group,
        origin.cause,
        origin.reason,
        origin.deliveries,
        origin.failures,
        tuple((one.at, one.reason) for one in origin.history),
    )


def _reply(desk: Desk, report: Report) -> letters.RedriveReply:
    return letters.RedriveReply(
        desk.name,
        report.matched,
        report.done,
        report.failed,
        report.missing,
        tuple(letters.LetterMove(one.partition, one.offset, *one.target, one.target_offset) for one in report.moves),
        tuple(
            letters.LetterRefusal(one.partition, one.offset, one.error.code, one.error.message, one.error.hint)
            for one in report.failures
        ),
        report.last,
        report.ends,
        None if report.stopped is None else report.stopped.message,
    )
