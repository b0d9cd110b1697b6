"""The service that publishes: requests one by one, or a stream of them."""

import asyncio
from collections.abc import Callable

from goqueue.engine.broker import Broker
from goqueue.engine.placement import Placement
from goqueue.engine.producers import init_producer
from goqueue.errors import GoQueueError
from goqueue.gateways.grpc.publish.publishing import Publishing
from goqueue.gateways.grpc.publish.stream import PublishStream
from goqueue.gateways.grpc.service import Call, Service
from goqueue.wire.grpc.v1 import publish_pb2 as wire

__all__ = ["publish_service"]


def publish_service(
    broker: Broker, placement: Placement, most_per_stream: int, report_bug: Callable[[BaseException], None]
) -> Service:
    publishing = Publishing(broker, placement)

    async def publish(request: wire.PublishRequest, call: Call) -> wire.PublishResponse:
        if not request.HasField("batch"):
            return await publishing.records(request, call.trace())
        answered: asyncio.Future[wire.PublishResponse] = asyncio.get_running_loop().create_future()

        def answer(result: wire.PublishResponse | GoQueueError) -> None:
            if answered.done():
                return
            if isinstance(result, GoQueueError):
                answered.set_exception(result)
            else:
                answered.set_result(result)

        publishing.batch(request, answer)
        return await answered

    async def publish_stream(call: Call) -> None:
        await PublishStream(publishing, call, most_per_stream, report_bug).run()

    async def init(request: wire.InitProducerRequest, _: Call) -> wire.InitProducerResponse:
        known = request.producer_id if request.HasField("producer_id") else None
        producer_id, epoch = await init_producer(broker, known, request.epoch)
        return wire.InitProducerResponse(producer_id=producer_id, epoch=epoch)

    return Service(
        wire.DESCRIPTOR.services_by_name["PublishService"],
        {"Publish": publish, "PublishStream": publish_stream, "InitProducer": init},
    )
