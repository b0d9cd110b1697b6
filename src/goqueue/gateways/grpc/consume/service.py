"""The service that reads: once, as a stream, or as a member of a group."""

from functools import partial

from goqueue.engine.broker import Broker
from goqueue.gateways.grpc.consume.consuming import consume
from goqueue.gateways.grpc.consume.fetching import fetch_once
from goqueue.gateways.grpc.consume.subscribing import Subscriber
from goqueue.gateways.grpc.held import HeldMembers
from goqueue.gateways.grpc.service import Call, Service
from goqueue.wire.grpc.v1 import consume_pb2 as wire

__all__ = ["consume_service"]


def consume_service(broker: Broker, held: HeldMembers) -> Service:
    async def fetch(request: wire.FetchRequest, _: Call) -> wire.FetchResponse:
        return await fetch_once(broker, request)

    async def subscribe(request: wire.SubscribeRequest, call: Call) -> None:
        await Subscriber(broker, held, request, call).run()

    return Service(
        wire.DESCRIPTOR.services_by_name["ConsumeService"],
        {"Fetch": fetch, "Consume": partial(consume, broker), "Subscribe": subscribe},
        frozenset({"Fetch"}),
    )
