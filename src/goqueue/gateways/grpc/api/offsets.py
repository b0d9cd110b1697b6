"""What calls about the offsets of groups and partitions do."""

from collections.abc import Iterable
from typing import Literal

from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.engine import groups
from goqueue.engine.broker import Broker
from goqueue.engine.fetch import offset_at
from goqueue.engine.queue.positions import committed_offsets
from goqueue.errors import InvalidRequest
from goqueue.gateways.grpc.choices import isolation_of
from goqueue.gateways.grpc.forms.asking import optional
from goqueue.gateways.grpc.forms.enums import text_of
from goqueue.gateways.grpc.forms.showing import show
from goqueue.gateways.grpc.held import HeldMembers
from goqueue.gateways.grpc.service import Call, Handler, Service
from goqueue.model.log import LogId
from goqueue.model.topic import TopicName
from goqueue.wire.grpc.v1 import offsets_pb2 as wire
from goqueue.wire.grpc.v1 import places_pb2

__all__ = ["offset_service", "planned"]

_POINT = wire.DESCRIPTOR.enum_types_by_name["OffsetPoint"]


def offset_service(broker: Broker, held: HeldMembers) -> Service:
    async def commit(request: wire.CommitOffsetsRequest, _: Call) -> wire.CommitOffsetsResponse:
        member_id = optional(request, "member_id")
        generation = held.generation(request.group, member_id, optional(request, "generation"))
        await groups.commit_offsets(broker, request.group, planned(request.offsets), member_id, generation)
        return wire.CommitOffsetsResponse()

    async def committed(request: wire.FetchOffsetsRequest, _: Call) -> wire.FetchOffsetsResponse:
        if groups.group_name(request.group) not in broker.groups:
            return wire.FetchOffsetsResponse()
        kept = broker.groups.group(request.group).offsets
        found = [
            places_pb2.PartitionOffset(
                topic=log.topic,
                partition=log.partition,
                offset=offset,
                metadata=kept[log].metadata if log in kept else "",
            )
            for log, offset in sorted(committed_offsets(broker, request.group).items())
            if not request.topics or log.topic in request.topics
        ]
        return wire.FetchOffsetsResponse(offsets=found)

    async def reset(request: wire.ResetOffsetsRequest, _: Call) -> wire.ResetOffsetsResponse:
        is_time = request.to == wire.OFFSET_POINT_TIMESTAMP
        target: str | int = _named(request.to, request)
        if request.to == wire.OFFSET_POINT_OFFSET:
            if not request.HasField("offset") or request.offset < 0:
                raise InvalidRequest("a reset to an offset needs `offset`, which is not negative")
            target = request.offset
        wanted = groups.OffsetReset(target, is_time, list(request.topics) or None, request.dry_run)
        changes = await groups.reset_offsets(broker, request.group, wanted)
        return wire.ResetOffsetsResponse(
            changes=[show(wire.OffsetChange, one, **one.partition._asdict()) for one in changes],
            dry_run=request.dry_run,
        )

    async def listing(request: wire.ListOffsetsRequest, _: Call) -> wire.ListOffsetsResponse:
        isolation = isolation_of(request.isolation)
        found = []
        for one in request.questions:
            at = _named(one.at, one)
            if at == "offset":
                raise InvalidRequest("an offset by its offset", hint="ask for the earliest, the latest or a timestamp")
            offset = await offset_at(broker, TopicName(one.topic), one.partition, at, isolation)
            found.append(places_pb2.PartitionOffset(topic=one.topic, partition=one.partition, offset=offset))
        return wire.ListOffsetsResponse(offsets=found)

    methods: dict[str, Handler] = {
        "CommitOffsets": commit,
        "FetchOffsets": committed,
        "ResetOffsets": reset,
        "ListOffsets": listing,
    }
    return Service(wire.DESCRIPTOR.services_by_name["OffsetService"], methods)


def planned(offsets: Iterable[places_pb2.PartitionOffset]) -> dict[LogId, OffsetAndMetadata]:
    """Where a group is to go on."""
    return {LogId(one.topic, one.partition): OffsetAndMetadata(one.offset, one.metadata) for one in offsets}


def _named(
    number: wire.OffsetPoint, asked: wire.ResetOffsetsRequest | wire.OffsetQuestion
) -> int | Literal["earliest", "latest", "offset"]:
    """A time in nanoseconds, or the name of the point."""
    if not number:
        raise InvalidRequest("where to is not said", hint="earliest (1), latest (2), offset (3) or timestamp (4)")
    name = text_of(_POINT, number)
    if name == "timestamp":
        if not asked.HasField("timestamp_ns"):
            raise InvalidRequest("a time is asked for and not said", hint="give timestamp_ns")
        return asked.timestamp_ns
    assert name in ("earliest", "latest", "offset")
    return name  # type: ignore[return-value]
