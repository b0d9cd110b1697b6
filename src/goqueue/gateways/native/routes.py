"""Which requests are answered by what is loaded with the first of them: most brokers are asked few kinds of things."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from goqueue.engine.broker import Broker
from goqueue.engine.workers import WorkerClient
from goqueue.gateways.native.waits import Waits
from goqueue.wire.native.frames import Opcode

__all__ = ["FAMILIES", "Answer", "AnswerSoon", "AtOnce", "Family", "Handler", "Known", "OfClient", "Route", "by_opcode"]

Answer = tuple[Any, list[Any]]
"""Head and tail of a reply."""
AnswerSoon = Callable[[Answer | Exception | None], bool]
"""Called with an answer, or with what went wrong; or with None to have a task look for the answer. It returns whether
the client is still there."""
Handler = Callable[[Any], Awaitable[Answer]]
AtOnce = Callable[[Any, AnswerSoon], bool]
"""Whether the request will be answered without a task of its own."""
Route = tuple[Opcode, type, Handler] | tuple[Opcode, type, Handler, AtOnce]
"""Opcode, request type and what answers it; and what may do so at once."""
Family = Callable[[Broker, Waits], list[Route]]


class OfClient(NamedTuple):
    """A request together with the connection on which it came, for handlers that have to know."""

    request: Any
    client: WorkerClient


class Known(NamedTuple):
    """A route in full."""

    opcode: Opcode
    request: type
    handle: Handler
    at_once: AtOnce | None = None


def by_opcode(*routes: Route) -> dict[int, Known]:
    return {route[0]: Known(*route) for route in routes}


def _topics(broker: Broker, _: Waits) -> list[Route]:
    from goqueue.gateways.native.topic_handlers import topic_routes

    return topic_routes(broker)


def _queue(broker: Broker, waits: Waits) -> list[Route]:
    from goqueue.gateways.native.queue_handlers import QueueHandlers

    return QueueHandlers(broker, waits).routes()


def _groups(broker: Broker, _: Waits) -> list[Route]:
    from goqueue.gateways.native.group_handlers import group_routes

    return group_routes(broker)


def _delays(broker: Broker, _: Waits) -> list[Route]:
    from goqueue.gateways.native.delay_handlers import delay_routes

    return delay_routes(broker)


def _letters(broker: Broker, _: Waits) -> list[Route]:
    from goqueue.gateways.native.letter_handlers import letter_routes

    return letter_routes(broker)


def _schedules(broker: Broker, _: Waits) -> list[Route]:
    from goqueue.gateways.native.schedule_handlers import schedule_routes

    return schedule_routes(broker)


def _transactions(broker: Broker, _: Waits) -> list[Route]:
    from goqueue.gateways.native.transaction_handlers import transaction_routes

    return transaction_routes(broker)


def _transaction_views(broker: Broker, _: Waits) -> list[Route]:
    from goqueue.gateways.native.transaction_view_handlers import transaction_view_routes

    return transaction_view_routes(broker)


FAMILIES: Mapping[int, Family] = {
    Opcode.CREATE_TOPIC: _topics,
    Opcode.ALTER_TOPIC: _topics,
    Opcode.DELETE_TOPIC: _topics,
    Opcode.TAKE: _queue,
    Opcode.SETTLE: _queue,
    Opcode.GROUP_POLICY: _groups,
    Opcode.JOIN_GROUP: _groups,
    Opcode.HEARTBEAT: _groups,
    Opcode.LEAVE_GROUP: _groups,
    Opcode.COMMIT_OFFSETS: _groups,
    Opcode.FETCH_OFFSETS: _groups,
    Opcode.RESET_OFFSETS: _groups,
    Opcode.LIST_GROUPS: _groups,
    Opcode.DESCRIBE_GROUP: _groups,
    Opcode.DELETE_GROUP: _groups,
    Opcode.PAUSE_GROUP: _groups,
    Opcode.LIST_DELAYED: _delays,
    Opcode.CHANGE_DELAY: _delays,
    Opcode.CANCEL_DELAYED: _delays,
    Opcode.DELAY_STATS: _delays,
    Opcode.FIND_LETTERS: _letters,
    Opcode.COUNT_LETTERS: _letters,
    Opcode.REDRIVE_LETTERS: _letters,
    Opcode.PURGE_LETTERS: _letters,
    Opcode.LIST_SCHEDULES: _schedules,
    Opcode.PUT_SCHEDULE: _schedules,
    Opcode.DELETE_SCHEDULE: _schedules,
    Opcode.INIT_TRANSACTIONS: _transactions,
    Opcode.BEGIN_TRANSACTION: _transactions,
    Opcode.BEGIN_PART: _transactions,
    Opcode.PREPARE_PART: _transactions,
    Opcode.COMMIT_TRANSACTION: _transactions,
    Opcode.ABORT_TRANSACTION: _transactions,
    Opcode.DECIDE_PARTS: _transactions,
    Opcode.ADD_ACKS: _transactions,
    Opcode.ADD_OFFSETS: _transactions,
    Opcode.LIST_TRANSACTIONS: _transaction_views,
    Opcode.DESCRIBE_TRANSACTION: _transaction_views,
    Opcode.ABORT_AS_OPERATOR: _transaction_views,
    Opcode.TRANSACTION_STATS: _transaction_views,
}
