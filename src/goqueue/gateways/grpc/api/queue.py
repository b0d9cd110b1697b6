"""What calls that take from the queue do: once, or for as long as a stream is open; and how queues fare."""

from collections.abc import Sequence

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.poll import Poll, poll, reach
from goqueue.engine.queue.lane_views import lanes_of
from goqueue.engine.queue.reliability import reliability
from goqueue.engine.queue.room import wait_for_room
from goqueue.engine.queue.take import MOST_IN_FLIGHT, MOST_RECORDS, Taken
from goqueue.gateways.grpc.api.leasing import lease_out, put_back
from goqueue.gateways.grpc.api.settling import settling_methods
from goqueue.gateways.grpc.choices import start_of, wants_typed
from goqueue.gateways.grpc.forms.asking import limited, optional
from goqueue.gateways.grpc.forms.showing import show
from goqueue.gateways.grpc.pollers import Pollers
from goqueue.gateways.grpc.service import Call, Handler, Service
from goqueue.wire.grpc.v1 import places_pb2
from goqueue.wire.grpc.v1 import queue_pb2 as wire

__all__ = ["queue_service"]

ANONYMOUS = "anonymous"
USUAL_BYTES = 4 * 1024 * 1024
USUAL_LIMIT = 100
ALIVE_EVERY_MS = 15_000
"""A stream that has nothing else to say says so."""
NAME_BYTES = 8


def queue_service(broker: Broker) -> Service:
    pollers = Pollers(broker.workers)

    async def take(request: wire.PollRequest, call: Call) -> wire.PollResponse:
        is_typed = wants_typed(request.form)
        wanted = Poll(
            request.group,
            request.consumer or ANONYMOUS,
            optional(request, "generation"),
            request.topics,
            limited(optional(request, "limit"), USUAL_LIMIT, MOST_RECORDS),
            request.max_bytes if request.HasField("max_bytes") else USUAL_BYTES,
            request.wait_ms,
            optional(request, "visibility_ms"),
            request.key_order,
            start_of(request.start),
            pollers.at(call.address),
        )
        taken = await poll(broker, wanted)
        return wire.PollResponse(
            leases=[lease_out(wanted, part, typed=is_typed) for part in taken],
            next_offsets=_reach(broker, wanted, taken),
        )

    async def work(request: wire.WorkRequest, call: Call) -> None:
        is_typed = wants_typed(request.form)
        most = limited(optional(request, "max_in_flight"), USUAL_LIMIT, MOST_IN_FLIGHT)
        consumer = request.consumer or broker.entropy.token_bytes(NAME_BYTES).hex()
        client = broker.workers.client("grpc", call.address)
        wanted = Poll(
            request.group,
            consumer,
            topics=request.topics,
            wait_ms=ALIVE_EVERY_MS,
            visibility_ms=optional(request, "visibility_ms"),
            in_key_order=request.key_order,
            start=start_of(request.start),
            client=client,
        )
        try:
            while True:
                room = await wait_for_room(broker, request.group, consumer, most, ALIVE_EVERY_MS)
                limit = min(room, MOST_RECORDS)
                taken = await poll(broker, msgspec.structs.replace(wanted, limit=limit)) if limit > 0 else []
                async with put_back(broker, request.group, taken):
                    leases = [lease_out(wanted, part, typed=is_typed) for part in taken]
                    await call.send(wire.WorkResponse(leases=leases, consumer=consumer))
        finally:
            client.close()

    async def deliveries(_: wire.GetDeliveryStatsRequest, __: Call) -> wire.GetDeliveryStatsResponse:
        return wire.GetDeliveryStatsResponse(
            queues=[show(wire.DeliveryStats, one) for one in await reliability(broker)]
        )

    async def lanes(request: wire.GetLaneStatsRequest, _: Call) -> wire.GetLaneStatsResponse:
        found = await lanes_of(broker, group=optional(request, "group"), topic=optional(request, "topic"))
        return wire.GetLaneStatsResponse(queues=[show(wire.QueueLanes, one) for one in found])

    methods: dict[str, Handler] = {
        "Poll": take,
        "Work": work,
        "GetDeliveryStats": deliveries,
        "GetLaneStats": lanes,
        **settling_methods(broker),
    }
    return Service(wire.DESCRIPTOR.services_by_name["QueueService"], methods, frozenset({"Poll"}))


def _reach(broker: Broker, asked: Poll, taken: Sequence[Taken]) -> list[places_pb2.PartitionOffset]:
    found = reach(broker, asked.group, asked.consumer, [part.log for part in taken])
    return [
        places_pb2.PartitionOffset(topic=log.topic, partition=log.partition, offset=offset)
        for log, offset in found.items()
    ]
