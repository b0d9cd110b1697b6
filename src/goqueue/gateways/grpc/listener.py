"""Serve gRPC, with or without TLS, until told to stop. Imported in the background once the broker serves."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
from grpc_reflection.v1alpha import reflection

from goqueue.engine.broker import Broker
from goqueue.engine.maintenance import Maintenance
from goqueue.errors import InvalidSettings
from goqueue.gateways.grpc.frame import Frame
from goqueue.gateways.grpc.health import health_service
from goqueue.gateways.grpc.limits import GrpcSettings
from goqueue.gateways.grpc.services import services
from goqueue.gateways.grpc.tls import Keys

__all__ = ["serve_grpc"]

CLOSE_WITHIN_S = 0.5
"""So long the last answers may be on their way when the broker stops."""
HANDSHAKE_WITHIN_MS = 30_000
"""A connection that does not speak TLS and HTTP/2 by then is closed."""
WITHOUT_LIMIT = -1
SPARE_CALLS = 64
"""Beyond the limit, so that it is this listener that refuses, and says why."""


@asynccontextmanager
async def serve_grpc(
    address: str,
    connections: int,
    keys: Keys,
    broker: Broker,
    maintenance: Maintenance,
    settings: GrpcSettings,
    report_bug: Callable[[BaseException], None],
    *,
    stop_within_s: float,
) -> AsyncIterator[None]:
    """Serving while inside; on the way out calls under way may finish, and those that only wait are ended."""
    broker.traffic.grpc.most_connections = connections
    server = grpc.aio.server(
        options=_options(settings, connections), maximum_concurrent_rpcs=settings.calls_under_way + SPARE_CALLS
    )
    frame = Frame(settings, broker.traffic.grpc, report_bug)
    try:
        _listen(server, address, keys)
        _offer(server, frame, broker, maintenance, settings, report_bug)
        await server.start()
        try:
            yield
        finally:
            await frame.stop(stop_within_s)
            await server.stop(CLOSE_WITHIN_S)
    finally:
        await server.stop(None)


def _offer(
    server: grpc.aio.Server,
    frame: Frame,
    broker: Broker,
    maintenance: Maintenance,
    settings: GrpcSettings,
    report_bug: Callable[[BaseException], None],
) -> None:
    offered = services(broker, maintenance, settings, report_bug)
    names = [service.descriptor.full_name for service in offered]
    offered = (*offered, health_service(broker, names))
    server.add_generic_rpc_handlers(tuple(frame.handlers_of(service) for service in offered))
    if settings.reflection:
        shown = [service.descriptor.full_name for service in offered]
        reflection.enable_server_reflection((*shown, reflection.SERVICE_NAME), server)


def _listen(server: grpc.aio.Server, address: str, keys: Keys) -> None:
    try:
        if keys.certificate:
            server.add_secure_port(address, _credentials(keys))
        else:
            server.add_insecure_port(address)
    except RuntimeError as error:
        raise InvalidSettings(
            f"cannot serve gRPC on {address}: {error}", hint="check listen.grpc, and the files of grpc.tls_certificate"
        ) from None


def _credentials(keys: Keys) -> grpc.ServerCredentials:
    return grpc.ssl_server_credentials(
        [(keys.key, keys.certificate)], keys.client_roots or None, require_client_auth=bool(keys.client_roots)
    )


def _options(settings: GrpcSettings, connections: int) -> list[tuple[str, Any]]:
    return [
        # Otherwise another program of this user could listen on the port too, and get some of the connections.
        ("grpc.so_reuseport", 0),
        ("grpc.max_allowed_incoming_connections", connections),
        ("grpc.server_handshake_timeout_ms", HANDSHAKE_WITHIN_MS),
        ("grpc.max_concurrent_streams", settings.calls_per_connection),
        ("grpc.max_receive_message_length", settings.message_bytes),
        ("grpc.max_send_message_length", WITHOUT_LIMIT),
        ("grpc.max_metadata_size", settings.header_bytes),
        ("grpc.absolute_max_metadata_size", 2 * settings.header_bytes),
        ("grpc.max_connection_idle_ms", settings.idle_ms),
        ("grpc.keepalive_time_ms", settings.ping_after_ms),
        ("grpc.keepalive_timeout_ms", settings.ping_within_ms),
        # Clients may ask as often as they are asked, also between calls.
        ("grpc.http2.min_ping_interval_without_data_ms", 5000),
        ("grpc.keepalive_permit_without_calls", 1),
    ]
