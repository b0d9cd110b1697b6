"""The standard health service: whether the broker takes traffic, as /readyz says it."""

import asyncio
from collections.abc import Collection

import grpc
from grpc_health.v1 import health_pb2 as wire

from goqueue.engine.broker import Broker
from goqueue.engine.health import readiness
from goqueue.gateways.grpc.answering import Refusal
from goqueue.gateways.grpc.service import Call, Service

__all__ = ["health_service"]

LOOK_EVERY_MS = 1000
WHOLE_BROKER = ""

_Status = wire.HealthCheckResponse


def health_service(broker: Broker, names: Collection[str]) -> Service:
    """`names` are the services that can be asked about, beside the broker as a whole; all fare alike."""
    known = {WHOLE_BROKER, *names, wire.DESCRIPTOR.services_by_name["Health"].full_name}

    def status_of(name: str) -> int:
        is_ready = all(check == "ok" for check in readiness(broker).values())
        known_status = _Status.SERVING if is_ready else _Status.NOT_SERVING
        number: int = known_status if name in known else _Status.SERVICE_UNKNOWN
        return number

    async def check(request: wire.HealthCheckRequest, _: Call) -> wire.HealthCheckResponse:
        status = status_of(request.service)
        if status == _Status.SERVICE_UNKNOWN:
            raise Refusal(
                grpc.StatusCode.NOT_FOUND,
                "unknown_service",
                f"there is no service {request.service}",
                hint="ask for one that reflection lists, or for the broker as a whole with an empty name",
            )
        return _Status(status=status)

    async def listing(_: wire.HealthListRequest, __: Call) -> wire.HealthListResponse:
        return wire.HealthListResponse(statuses={name: _Status(status=status_of(name)) for name in sorted(known)})

    async def watch(request: wire.HealthCheckRequest, call: Call) -> None:
        told = None
        try:
            while True:
                status = status_of(request.service)
                if status != told:
                    await call.send(_Status(status=status))
                    told = status
                await broker.clock.sleep_ms(LOOK_EVERY_MS)
        except asyncio.CancelledError:
            if call.is_stopping and told == _Status.SERVING:
                await call.send(_Status(status=_Status.NOT_SERVING))
            raise

    return Service(wire.DESCRIPTOR.services_by_name["Health"], {"Check": check, "List": listing, "Watch": watch})
