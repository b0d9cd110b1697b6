"""What each native request does: decode, call the use case, encode.

Publishing is answered from a callback, as it is the one request where a task for each would be felt; everything
else runs as a task of its connection.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec

from goqueue import __version__
from goqueue.engine import topics
from goqueue.engine.broker import Broker
from goqueue.engine.fetch import offset_at
from goqueue.engine.partition import ProducerBatch
from goqueue.engine.producers import init_producer
from goqueue.engine.publish import PublishBatch, Published, publish
from goqueue.engine.traffic import FAILED, OK, REFUSED
from goqueue.errors import (
    DiskFull,
    GoQueueError,
    InternalError,
    InvalidRequest,
    LogReadOnly,
    StorageBusy,
    StorageFailed,
)
from goqueue.gateways.native.connection import Buffer, Connection
from goqueue.gateways.native.delay_handlers import delay_routes
from goqueue.gateways.native.fetching import FETCH_BYTES, Fetching
from goqueue.gateways.native.group_handlers import Route, group_routes
from goqueue.gateways.native.letter_handlers import letter_routes
from goqueue.gateways.native.queue_handlers import QueueHandlers
from goqueue.gateways.native.schedule_handlers import schedule_routes
from goqueue.gateways.native.transaction_handlers import in_transaction, transaction_routes
from goqueue.gateways.native.transaction_view_handlers import transaction_view_routes
from goqueue.model.isolation import Isolation
from goqueue.model.topic import Durability, TopicConfig, TopicName, WantedConfig, topic_name
from goqueue.wire.native import messages
from goqueue.wire.native.frames import PROTOCOL_VERSION, Frame, FrameFlag, Opcode

__all__ = ["Handlers"]

Answer = tuple[Any, list[Buffer]]
Handler = Callable[[Any], Awaitable[Answer]]


WAITING = frozenset({Opcode.FETCH, Opcode.TAKE, Opcode.HEARTBEAT})
"""Requests that may wait for something to happen, so how long they take says nothing."""
FAILURES = (InternalError, StorageBusy, StorageFailed, DiskFull, LogReadOnly)
"""Errors that are the broker's, not those of who asks."""


class _Route(NamedTuple):
    kind: str
    waits: bool
    decode: Callable[[memoryview], Any]
    handle: Handler


_encode = msgspec.msgpack.Encoder().encode
_decode_publish = msgspec.msgpack.Decoder(messages.Publish).decode
_NOTHING = _encode(messages.Done())


class Handlers:
    """Carries out the frames of all connections of a listener."""

    def __init__(self, broker: Broker, report_bug: Callable[[BaseException], None]) -> None:
        self._broker = broker
        self._traffic = broker.traffic.native
        self._report_bug = report_bug
        self._fetching = Fetching(broker)
        self._queue = QueueHandlers(broker)
        routes: list[Route] = [
            (Opcode.METADATA, messages.Metadata, self._metadata),
            (Opcode.CREATE_TOPIC, messages.CreateTopic, self._create_topic),
            (Opcode.ALTER_TOPIC, messages.AlterTopic, self._alter_topic),
            (Opcode.DELETE_TOPIC, messages.DeleteTopic, self._delete_topic),
            (Opcode.INIT_PRODUCER, messages.InitProducer, self._init_producer),
            (Opcode.FETCH, messages.Fetch, self._fetching),
            (Opcode.LIST_OFFSETS, messages.ListOffsets, self._list_offsets),
            *group_routes(broker),
            *delay_routes(broker),
            *self._queue.routes(),
            *schedule_routes(broker),
            *letter_routes(broker),
            *transaction_routes(broker),
            *transaction_view_routes(broker),
        ]
        self._routes: dict[int, _Route] = {
            opcode: _Route(opcode.name.lower(), opcode in WAITING, msgspec.msgpack.Decoder(kind).decode, handle)
            for opcode, kind, handle in routes
        }

    def __call__(self, connection: Connection, frame: Frame) -> None:
        where = (frame.opcode, frame.correlation)
        try:
            if frame.opcode == Opcode.PUBLISH:
                self._publish(connection, frame)
            elif frame.opcode == Opcode.HELLO:
                self._hello(connection, frame)
            else:
                self._start(connection, frame)
        except msgspec.MsgspecError as error:
            self._traffic.count("unknown", REFUSED)
            connection.refuse(*where, InvalidRequest(f"the head of the request cannot be read: {error}"))
        except GoQueueError as refusal:
            self._traffic.count("unknown", REFUSED)
            connection.refuse(*where, refusal)

    def end_waits(self) -> None:
        self._fetching.end_waits()
        self._queue.end_waits()
        self._broker.group_news.end_waits()

    # The connection itself.

    @staticmethod
    def _hello(connection: Connection, frame: Frame) -> None:
        hello = msgspec.msgpack.decode(frame.head, type=messages.Hello)
        if PROTOCOL_VERSION not in hello.versions:
            raise InvalidRequest(
                f"none of the protocol versions {list(hello.versions)} is spoken here",
                hint=f"use a client that speaks version {PROTOCOL_VERSION}",
            )
        connection.has_greeted = True
        welcome = messages.Welcome(PROTOCOL_VERSION, f"goqueue {__version__}", connection.frame_limit)
        connection.reply(frame.opcode, frame.correlation, _encode(welcome), [])

    def _start(self, connection: Connection, frame: Frame) -> None:
        route = self._routes.get(frame.opcode)
        if route is None:
            raise InvalidRequest(f"there is no request with opcode {frame.opcode}")
        request = route.decode(frame.head)
        if isinstance(request, messages.Fetch | messages.Take):
            connection.weigh(frame.correlation, min(max(request.max_bytes, 0), FETCH_BYTES))
        answer = self._answer(connection, (frame.opcode, frame.correlation), route, request)
        task = asyncio.get_running_loop().create_task(answer)
        connection.tasks.add(task)
        task.add_done_callback(connection.tasks.discard)

    async def _answer(self, connection: Connection, where: tuple[int, int], route: _Route, request: Any) -> None:
        began = self._traffic.now_ns()
        try:
            head, tail = await route.handle(request)
        except GoQueueError as refusal:
            self._traffic.count(route.kind, _outcome(refusal))
            connection.refuse(*where, refusal)
        except Exception as bug:
            self._report_bug(bug)
            self._traffic.count(route.kind, FAILED)
            connection.refuse(*where, InternalError("the broker failed to answer; its log says why"))
        else:
            self._traffic.count(route.kind, OK)
            connection.reply(*where, _encode(head), tail)
        if not route.waits:
            self._traffic.took(route.kind, self._traffic.now_ns() - began)

    # Records.

    def _publish(self, connection: Connection, frame: Frame) -> None:
        head: messages.Publish = _decode_publish(frame.head)
        where = (frame.opcode, frame.correlation)
        quiet = bool(frame.flags & FrameFlag.NO_REPLY)
        traffic = self._traffic
        began = traffic.now_ns()

        def reply(result: Published | GoQueueError) -> None:
            traffic.count("publish", _outcome(result))
            traffic.took("publish", traffic.now_ns() - began)
            if quiet:
                connection.finish(frame.correlation)
            elif isinstance(result, Published):
                connection.reply(*where, _encode(_published(result)), [])
            else:
                connection.refuse(*where, result)

        producer = None
        if head.producer_id is not None:
            producer = ProducerBatch(head.producer_id, head.producer_epoch, head.sequence)
        durability = Durability(head.durability) if head.durability is not None else None
        records = bytearray(frame.tail)
        topic = TopicName(head.topic)
        transaction = in_transaction(head, wants_reply=not quiet)
        request = PublishBatch(
            topic,
            head.partition,
            records,
            durability,
            producer,
            head.ids,
            head.partitions,
            head.deliver_at,
            transaction,
        )
        publish(self._broker, request, reply)

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
        if request.topics is None:
            return messages.MetadataReply(tuple(catalog)), []
        return messages.MetadataReply(tuple(catalog.topic(TopicName(name)) for name in request.topics)), []

    async def _create_topic(self, request: messages.CreateTopic) -> Answer:
        name = topic_name(request.name)
        return messages.TopicReply(
            await topics.create_topic(self._broker, name, request.partitions, request.config.config())
        ), []

    async def _alter_topic(self, request: messages.AlterTopic) -> Answer:
        def amended(config: TopicConfig) -> TopicConfig:
            try:
                return msgspec.convert(msgspec.to_builtins(config) | request.config, WantedConfig).config()
            except msgspec.ValidationError as error:
                raise InvalidRequest(f"the settings cannot be read: {error}") from None

        topic = await topics.amend_topic(self._broker, topic_name(request.name), amended)
        return messages.TopicReply(topic), []

    async def _delete_topic(self, request: messages.DeleteTopic) -> Answer:
        await topics.delete_topic(self._broker, topic_name(request.name))
        return messages.Done(), []


def _outcome(result: object) -> str:
    if not isinstance(result, GoQueueError):
        return OK
    return FAILED if isinstance(result, FAILURES) else REFUSED


def _published(result: Published) -> messages.Published:
    if not result.originals:
        return messages.Published(result.base_offset, result.count, result.timestamp_ns, result.duplicate)
    return messages.Published(
        result.base_offset,
        result.count,
        result.timestamp_ns,
        result.duplicate,
        tuple(place.offset for place in result.places()),
        tuple(messages.Original(one.step, one.partition, one.timestamp_ns) for one in result.originals),
    )
