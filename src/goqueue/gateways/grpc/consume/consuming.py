"""Reading chosen partitions for as long as a stream is open."""

import asyncio

from goqueue.engine.broker import Broker
from goqueue.engine.fetch import fetch, offset_at
from goqueue.errors import InvalidRequest
from goqueue.gateways.grpc.choices import start_of
from goqueue.gateways.grpc.consume.outgoing import consumed_batch
from goqueue.gateways.grpc.consume.reading import (
    FETCH_BYTES,
    MOST_PARTS,
    heartbeat_s,
    parts_of,
    positions_of,
    wanted_of,
)
from goqueue.gateways.grpc.service import Call
from goqueue.model.isolation import Isolation
from goqueue.model.log import LogId
from goqueue.model.topic import TopicName, topic_name
from goqueue.wire.grpc.v1 import consume_pb2 as wire

__all__ = ["consume"]


async def consume(broker: Broker, request: wire.ConsumeRequest, call: Call) -> None:
    """Nothing is read while the client has not taken what was sent before."""
    wanted, pause_s = wanted_of(request), heartbeat_s(request)
    positions = await _starts(broker, request, wanted.isolation)
    loop = asyncio.get_running_loop()
    sent_at = loop.time()
    while True:
        parts = parts_of(positions)
        wait_ms = max(1, round(1000 * (sent_at + pause_s - loop.time())))
        answers = await fetch(broker, parts, max_bytes=wanted.max_bytes, wait_ms=wait_ms, isolation=wanted.isolation)
        for part, answer in zip(parts, answers, strict=True):
            if answer.refusal is not None:
                raise answer.refusal
            batch = consumed_batch(part, answer, typed=wanted.typed, most_bytes=FETCH_BYTES)
            positions[LogId(part.topic, part.partition)] = batch.next_offset
            if batch.batch.records or batch.records:
                await call.send(wire.ConsumeResponse(batch=batch))
                sent_at = loop.time()
        if loop.time() - sent_at >= pause_s:
            sign = wire.ConsumeHeartbeat(at_ns=broker.clock.now_ns(), positions=positions_of(positions))
            await call.send(wire.ConsumeResponse(heartbeat=sign))
            sent_at = loop.time()


async def _starts(broker: Broker, request: wire.ConsumeRequest, isolation: Isolation) -> dict[LogId, int]:
    """Where each partition begins, all of them checked before anything is sent."""
    positions: dict[LogId, int] = {}
    for start in request.sources:
        name = topic_name(start.topic)
        partitions = broker.partitions(name)
        numbers = [start.partition] if start.HasField("partition") else range(len(partitions))
        for number in numbers:
            log = LogId(name, number)
            if log in positions:
                raise InvalidRequest(f"{log} is named twice", hint="name each partition once")
            positions[log] = await _start(broker, name, number, start, isolation)
    if not 1 <= len(positions) <= MOST_PARTS:
        raise InvalidRequest(f"{len(positions)} partitions to read", hint=f"name 1 to {MOST_PARTS}")
    return positions


async def _start(broker: Broker, name: TopicName, number: int, start: wire.ConsumeFrom, isolation: Isolation) -> int:
    kind = start.WhichOneof("start")
    if kind == "offset":
        if not start.HasField("partition"):
            raise InvalidRequest(f"an offset in all partitions of {name}", hint="say in which partition")
        broker.partition(name, number).check_offset(start.offset)
        return start.offset
    if kind == "timestamp_ns":
        return await offset_at(broker, name, number, start.timestamp_ns, isolation)
    return await offset_at(broker, name, number, start_of(start.point), isolation)
