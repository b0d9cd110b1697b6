"""One read of several partitions, for anybody, or for a member of a group of what is its own."""

from goqueue.engine.broker import Broker
from goqueue.engine.fetch import Fetched, FetchFrom, fetch
from goqueue.errors import InvalidRequest, MemberFenced
from goqueue.gateways.grpc.consume.outgoing import consumed_batch
from goqueue.gateways.grpc.consume.reading import FETCH_BYTES, MOST_PARTS, wanted_of
from goqueue.model.log import LogId
from goqueue.model.topic import TopicName
from goqueue.wire.grpc.v1 import consume_pb2 as wire

__all__ = ["fetch_once"]


async def fetch_once(broker: Broker, request: wire.FetchRequest) -> wire.FetchResponse:
    wanted = wanted_of(request)
    parts = [FetchFrom(TopicName(one.topic), one.partition, one.offset) for one in request.positions]
    if not 1 <= len(parts) <= MOST_PARTS:
        raise InvalidRequest(f"{len(parts)} positions to read from", hint=f"give 1 to {MOST_PARTS}")
    member = request.member if request.HasField("member") else None
    if member is not None:
        group = broker.groups.group(member.group)
        group.check_poll(member.member_id, member.generation, now=broker.clock.now_ns())
    answers = await fetch(
        broker, parts, max_bytes=wanted.max_bytes, wait_ms=request.max_wait_ms, isolation=wanted.isolation
    )
    if member is not None:
        answers = _only_own(broker, member, parts, answers)
    return wire.FetchResponse(
        batches=[
            consumed_batch(part, answer, typed=wanted.typed, most_bytes=FETCH_BYTES)
            for part, answer in zip(parts, answers, strict=True)
        ]
    )


def _only_own(
    broker: Broker, member: wire.ReadingMember, parts: list[FetchFrom], answers: list[Fetched]
) -> list[Fetched]:
    """The group may have changed while the read waited."""
    own = set(broker.groups.group(member.group).assignment(member.member_id).partitions)
    return [
        answer
        if (log := LogId(part.topic, part.partition)) in own
        else Fetched(refusal=MemberFenced(f"{log} is not for {member.member_id} to read"))
        for part, answer in zip(parts, answers, strict=True)
    ]
