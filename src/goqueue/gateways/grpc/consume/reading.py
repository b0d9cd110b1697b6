"""Where a reader is in each partition, and the records from there on."""

from collections.abc import Mapping

import msgspec

from goqueue import codec
from goqueue.engine.fetch import FetchFrom
from goqueue.errors import InvalidRequest
from goqueue.gateways.grpc.choices import isolation_of, wants_typed
from goqueue.model.isolation import Isolation
from goqueue.model.log import LogId
from goqueue.model.topic import TopicName
from goqueue.wire.grpc.v1 import consume_pb2 as wire

__all__ = ["FETCH_BYTES", "MOST_PARTS", "Wanted", "heartbeat_s", "parts_of", "positions_of", "wanted_of"]

MOST_MESSAGE_BYTES = 24 * 1024 * 1024
FETCH_BYTES = MOST_MESSAGE_BYTES - codec.MAX_VALUE - 1024 * 1024
"""Most that a read may ask for: one more record of the largest kind still fits into the answer."""
USUAL_BYTES = 1024 * 1024
TYPED_BYTES = 128 * 1024
"""Most records that are taken apart in one step: everybody else waits meanwhile."""
MOST_PARTS = 10_000
USUAL_HEARTBEAT_MS, SHORTEST_HEARTBEAT_MS, LONGEST_HEARTBEAT_MS = 10_000, 100, 60_000

_Request = wire.FetchRequest | wire.ConsumeRequest | wire.SubscribeRequest


class Wanted(msgspec.Struct, frozen=True):
    """In which form, how many at once, and which of them."""

    typed: bool
    max_bytes: int
    isolation: Isolation


def wanted_of(request: _Request) -> Wanted:
    typed = wants_typed(request.form)
    asked = request.max_bytes if request.HasField("max_bytes") else USUAL_BYTES
    if asked < 1:
        raise InvalidRequest(f"max_bytes = {asked}", hint="max_bytes is at least 1; one record comes in any case")
    return Wanted(typed, min(asked, TYPED_BYTES if typed else FETCH_BYTES), isolation_of(request.isolation))


def heartbeat_s(request: wire.ConsumeRequest | wire.SubscribeRequest) -> float:
    asked = request.heartbeat_ms if request.HasField("heartbeat_ms") else USUAL_HEARTBEAT_MS
    if not SHORTEST_HEARTBEAT_MS <= asked <= LONGEST_HEARTBEAT_MS:
        raise InvalidRequest(
            f"heartbeat_ms = {asked}", hint=f"use {SHORTEST_HEARTBEAT_MS} to {LONGEST_HEARTBEAT_MS}, or leave it out"
        )
    return asked / 1000


def parts_of(positions: Mapping[LogId, int]) -> list[FetchFrom]:
    return [FetchFrom(TopicName(log.topic), log.partition, offset) for log, offset in positions.items()]


def positions_of(positions: Mapping[LogId, int]) -> list[wire.PartitionPosition]:
    return [
        wire.PartitionPosition(topic=log.topic, partition=log.partition, offset=offset)
        for log, offset in sorted(positions.items())
    ]
