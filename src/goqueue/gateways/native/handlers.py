"""What each native request does: decode, call the use case, encode.

Publishing is answered from a callback, and so are takes and acknowledgements if nothing stands in their way: a task
for each of these would be felt. Everything else runs as a task of its connection.
"""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from goqueue import __version__
from goqueue.engine.broker import Broker
from goqueue.engine.fetch import offset_at
from goqueue.engine.producers import init_producer
from goqueue.engine.topics import topic_size
from goqueue.engine.traffic import FAILED, OK, REFUSED
from goqueue.engine.workers import WorkerClient
from goqueue.errors import GoQueueError, InternalError, InvalidRequest
from goqueue.gateways.native.connection import Cancellable, Exchange
from goqueue.gateways.native.delay_handlers import delay_routes
from goqueue.gateways.native.fetching import FETCH_BYTES, Fetching
from goqueue.gateways.native.group_handlers import group_routes
from goqueue.gateways.native.letter_handlers import letter_routes
from goqueue.gateways.native.outcomes import outcome_of
from goqueue.gateways.native.publishing import Publishing
from goqueue.gateways.native.queue_handlers import QueueHandlers
from goqueue.gateways.native.routes import Answer, AtOnce, Handler, Route
from goqueue.gateways.native.schedule_handlers import schedule_routes
from goqueue.gateways.native.topic_handlers import topic_routes
from goqueue.gateways.native.transaction_handlers import transaction_routes
from goqueue.gateways.native.transaction_view_handlers import transaction_view_routes
from goqueue.gateways.native.waits import Waits
from goqueue.model.isolation import Isolation
from goqueue.model.topic import TopicName
from goqueue.wire.native import messages
from goqueue.wire.native.frames import PROTOCOL_VERSION, Opcode

__all__ = ["Handlers"]

PUBLISH = int(Opcode.PUBLISH)
WAITING = frozenset({Opcode.FETCH, Opcode.TAKE, Opcode.HEARTBEAT})
"""Requests that may wait for something to happen, so how long they take says nothing."""
WEIGHED = (messages.Fetch, messages.Take)
"""Requests that say how many bytes they want."""


class _Known(NamedTuple):
    """A route with what is the same for all requests on it."""

    kind: str
    waits: bool
    decode: Callable[[memoryview], Any]
    handle: Handler | None
    at_once: AtOnce | None


_encode = msgspec.msgpack.Encoder().encode


def _known(route: Route) -> _Known:
    opcode, request, handle, at_once = route
    decode = msgspec.msgpack.Decoder[Any](request).decode
    return _Known(opcode.name.lower(), opcode in WAITING, decode, handle, at_once)


class _Answer:
    """Of a request that no task answers."""

    __slots__ = ("_began", "_connection", "_handlers", "_held", "_route", "_where")

    def __init__(self, handlers: "Handlers", connection: Exchange, where: tuple[int, int], route: _Known) -> None:
        self._handlers = handlers
        self._connection = connection
        self._where = where
        self._route = route
        self._began = handlers.now_ns()
        self._held: Cancellable | None = None

    def __call__(self, result: Answer | Exception) -> bool:
        connection = self._connection
        if self._held is not None:
            connection.tasks.discard(self._held)
        is_there = not connection.is_closing
        self._handlers.answer(connection, self._where, self._route, self._began, result)
        return is_there

    @property
    def client(self) -> WorkerClient:
        return self._handlers.client_of(self._connection)

    def hold(self, work: Cancellable) -> None:
        self._held = work
        self._connection.tasks.add(work)


class Handlers:
    """Carries out the frames of all connections of a listener."""

    def __init__(self, broker: Broker, report_bug: Callable[[BaseException], None]) -> None:
        self._broker = broker
        self._traffic = broker.traffic.native
        self._publishing = Publishing(broker, self._traffic)
        self._report_bug = report_bug
        self._waits = Waits()
        self._routes: dict[int, _Known] = {route.opcode: _known(route) for route in self._all_routes()}

    def _all_routes(self) -> list[Route]:
        """Of all requests but HELLO and PUBLISH, which `take` answers."""
        broker = self._broker
        return [
            Route(Opcode.METADATA, messages.Metadata, self._metadata),
            Route(Opcode.INIT_PRODUCER, messages.InitProducer, self._init_producer),
            Route(Opcode.FETCH, messages.Fetch, Fetching(broker, self._waits)),
            Route(Opcode.LIST_OFFSETS, messages.ListOffsets, self._list_offsets),
            *topic_routes(broker),
            *QueueHandlers(broker, self._waits).routes(),
            *group_routes(broker),
            *delay_routes(broker),
            *letter_routes(broker),
            *schedule_routes(broker),
            *transaction_routes(broker),
            *transaction_view_routes(broker),
        ]

    def take(
        self, connection: Exchange, opcode: int, flags: int, correlation: int, head: memoryview, tail: memoryview
    ) -> None:
        try:
            if opcode == PUBLISH:
                self._publishing.take(connection, flags, correlation, head, tail)
            elif opcode == Opcode.HELLO:
                self._hello(connection, correlation, head)
            else:
                self._start(connection, opcode, correlation, head)
        except msgspec.MsgspecError as error:
            self._traffic.count("unknown", REFUSED)
            unreadable = InvalidRequest(f"the head of the request cannot be read: {error}")
            connection.refuse(opcode, correlation, unreadable)
        except GoQueueError as refusal:
            self._traffic.count("unknown", REFUSED)
            connection.refuse(opcode, correlation, refusal)

    def now_ns(self) -> int:
        return self._traffic.now_ns()

    def end_waits(self) -> None:
        self._waits.end()
        self._broker.group_news.end_waits()

    # The connection itself.

    @staticmethod
    def _hello(connection: Exchange, correlation: int, head: memoryview) -> None:
        hello = msgspec.msgpack.decode(head, type=messages.Hello)
        if PROTOCOL_VERSION not in hello.versions:
            raise InvalidRequest(
                f"none of the protocol versions {list(hello.versions)} is spoken here",
                hint=f"use a client that speaks version {PROTOCOL_VERSION}",
            )
        connection.has_greeted = True
        welcome = messages.Welcome(PROTOCOL_VERSION, f"goqueue {__version__}", connection.frame_limit)
        connection.reply(Opcode.HELLO, correlation, _encode(welcome))

    def _start(self, connection: Exchange, opcode: int, correlation: int, head: memoryview) -> None:
        route = self._routes.get(opcode)
        if route is None:
            raise InvalidRequest(f"there is no request with opcode {opcode}")
        request = route.decode(head)
        if isinstance(request, WEIGHED):
            connection.weigh(correlation, min(max(request.max_bytes, 0), FETCH_BYTES))
        where, at_once = (opcode, correlation), route.at_once
        if at_once is None or not at_once(request, _Answer(self, connection, where, route)):
            self._run(connection, where, route, request)

    def client_of(self, connection: Exchange) -> WorkerClient:
        client: WorkerClient | None = connection.client
        if client is None:
            client = connection.client = self._broker.workers.client("native", connection.address)
        return client

    def _run(self, connection: Exchange, where: tuple[int, int], route: _Known, request: Any) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(connection, where, route, request))
        connection.tasks.add(task)
        task.add_done_callback(connection.tasks.discard)

    async def _answer(self, connection: Exchange, where: tuple[int, int], route: _Known, request: Any) -> None:
        began = self._traffic.now_ns()
        result: Answer | Exception
        assert route.handle is not None
        try:
            result = await route.handle(request)
        except Exception as failure:
            result = failure
        self.answer(connection, where, route, began, result)

    def answer(
        self, connection: Exchange, where: tuple[int, int], route: _Known, began: int, result: Answer | Exception
    ) -> None:
        if not isinstance(result, Exception):
            head, tail = result
            self._traffic.count(route.kind, OK)
            connection.reply(*where, _encode(head), tail)
        elif isinstance(result, GoQueueError):
            self._traffic.count(route.kind, outcome_of(result))
            connection.refuse(*where, result)
        else:
            self._report_bug(result)
            self._traffic.count(route.kind, FAILED)
            connection.refuse(*where, InternalError("the broker failed to answer; its log says why"))
        if not route.waits:
            self._traffic.took(route.kind, self._traffic.now_ns() - began)

    # Records.

    async def _init_producer(self, request: messages.InitProducer) -> Answer:
        producer_id, epoch = await init_producer(self._broker, request.producer_id, request.epoch)
        return messages.ProducerIdentity(producer_id, epoch), []

    async def _list_offsets(self, request: messages.ListOffsets) -> Answer:
        isolation = Isolation(request.isolation)
        answers = [
            messages.OffsetAnswer(
                one.topic,
                one.partition,
                await offset_at(self._broker, TopicName(one.topic), one.partition, one.at, isolation),
            )
            for one in request.questions
        ]
        return messages.Offsets(tuple(answers)), []

    # Topics.

    async def _metadata(self, request: messages.Metadata) -> Answer:
        catalog = self._broker.catalog
        wanted = catalog if request.topics is None else [catalog.topic(TopicName(name)) for name in request.topics]
        topics = tuple(wanted)
        sizes = tuple(topic_size(self._broker, topic.name) for topic in topics) if request.sizes else ()
        return messages.MetadataReply(topics, sizes), []
