"""Publishing over the native protocol: from a frame to the engine, and back with the answer."""

from collections.abc import Callable

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.partition import ProducerBatch
from goqueue.engine.publish import PublishBatch, Published, publish
from goqueue.engine.traffic import OK, ListenerTraffic, Meter
from goqueue.errors import GoQueueError
from goqueue.gateways.native.connection import Exchange
from goqueue.gateways.native.in_transaction import in_transaction
from goqueue.gateways.native.outcomes import outcome_of
from goqueue.model.topic import Durability
from goqueue.wire.native import messages
from goqueue.wire.native.frames import FrameFlag, Opcode

__all__ = ["Publishing"]

PUBLISH = int(Opcode.PUBLISH)
NO_REPLY = int(FrameFlag.NO_REPLY)

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(messages.Publish).decode
_fields = msgspec.structs.astuple


class Publishing:
    """Of all connections of a listener."""

    def __init__(self, broker: Broker, traffic: ListenerTraffic) -> None:
        self._broker = broker
        self._meter = traffic.meter("publish")
        self._now_ns = traffic.now_ns

    def take(self, connection: Exchange, flags: int, correlation: int, head: memoryview, tail: memoryview) -> None:
        asked = _decode(head)
        # All fields in one step, as there are many.
        topic, partition, durability, producer_id, epoch, sequence, ids, partitions, dues, number = _fields(asked)
        producer = transaction = None
        if producer_id is not None:
            producer = ProducerBatch(producer_id, epoch, sequence)
        if number is not None:
            transaction = in_transaction(asked, wants_reply=not flags & NO_REPLY)
        if durability is not None:
            durability = Durability(durability)
        request = PublishBatch(
            topic, partition, bytearray(tail), durability, producer, ids, partitions, dues, transaction
        )
        one = _Asked(self._meter, connection, correlation, self._now_ns)
        publish(self._broker, request, one.finish if flags & NO_REPLY else one.answer)


class _Asked:
    """A publish that is not answered yet."""

    __slots__ = ("_began_ns", "_connection", "_correlation", "_meter", "_now_ns")

    def __init__(self, meter: Meter, connection: Exchange, correlation: int, now_ns: Callable[[], int]) -> None:
        self._meter = meter
        self._connection = connection
        self._correlation = correlation
        self._now_ns = now_ns
        self._began_ns = now_ns()

    def answer(self, result: Published | GoQueueError) -> None:
        if isinstance(result, GoQueueError):
            self._connection.refuse(PUBLISH, self._correlation, result)
            self._note(outcome_of(result))
        else:
            self._connection.reply(PUBLISH, self._correlation, _encode(_reply(result)))
            self._note(OK)

    def finish(self, result: Published | GoQueueError) -> None:
        """Nobody wants to hear of it."""
        self._note(outcome_of(result))
        self._connection.finish(self._correlation)

    def _note(self, outcome: str) -> None:
        self._meter.count(outcome)
        self._meter.took(self._now_ns() - self._began_ns)


def _reply(result: Published) -> messages.Published:
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
