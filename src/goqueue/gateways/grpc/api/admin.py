"""What the broker says about itself."""

import platform

from goqueue import __version__, codec
from goqueue.engine.broker import Broker
from goqueue.engine.fetch import LONGEST_WAIT_MS
from goqueue.engine.health import broker_stats, readiness
from goqueue.engine.poll import MOST_RECORDS
from goqueue.gateways.grpc.forms.showing import show
from goqueue.gateways.grpc.service import Call, Handler, Service
from goqueue.model.topic import LONGEST_VISIBILITY_MS
from goqueue.wire.grpc.v1 import admin_pb2 as wire

__all__ = ["admin_service"]


def admin_service(broker: Broker) -> Service:
    async def info(_: wire.GetBrokerInfoRequest, __: Call) -> wire.GetBrokerInfoResponse:
        return wire.GetBrokerInfoResponse(
            version=__version__,
            python=platform.python_version(),
            codec=codec.ACTIVE,
            max_value_bytes=codec.MAX_VALUE,
            max_poll_records=MOST_RECORDS,
            max_wait_ms=LONGEST_WAIT_MS,
            max_visibility_ms=LONGEST_VISIBILITY_MS,
        )

    async def stats(_: wire.GetBrokerStatsRequest, __: Call) -> wire.GetBrokerStatsResponse:
        return show(wire.GetBrokerStatsResponse, await broker_stats(broker))

    async def ready(_: wire.CheckReadinessRequest, __: Call) -> wire.CheckReadinessResponse:
        checks = readiness(broker)
        is_ready = all(check == "ok" for check in checks.values())
        return wire.CheckReadinessResponse(ready=is_ready, checks=checks)

    methods: dict[str, Handler] = {"GetBrokerInfo": info, "GetBrokerStats": stats, "CheckReadiness": ready}
    return Service(wire.DESCRIPTOR.services_by_name["AdminService"], methods)
