"""Serve gRPC on an address, with or without TLS, until told to stop."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import msgspec
from grpc_reflection.v1alpha import reflection

from goqueue.engine.broker import Broker
from goqueue.engine.maintenance import Maintenance
from goqueue.errors import InvalidSettings
from goqueue.gateways.grpc.frame import Frame
from goqueue.gateways.grpc.health import health_service
from goqueue.gateways.grpc.limits import GrpcSettings
from goqueue.gateways.grpc.services import services

__all__ = ["BoundGrpc", "bound_grpc", "serve_grpc"]

CLOSE_WITHIN_S = 0.5
"""So long the last answers may be on their way when the broker stops."""
WITHOUT_LIMIT = -1
SPARE_CALLS = 64
"""Beyond the limit, so that it is this listener that refuses, and says why."""


class BoundGrpc(msgspec.Struct, frozen=True):
    """A server that has its port and does not answer yet."""

    server: grpc.aio.Server
    port: int


@asynccontextmanager
async def bound_grpc(host: str, port: int, settings: GrpcSettings) -> AsyncIterator[BoundGrpc]:
    """What is wrong with address or certificate is said here, before anything is opened."""
    server = grpc.aio.server(options=_options(settings), maximum_concurrent_rpcs=settings.calls_under_way + SPARE_CALLS)
    try:
        yield BoundGrpc(server, _listen(server, host, port, settings))
    finally:
        await server.stop(None)


@asynccontextmanager
async def serve_grpc(
    bound: BoundGrpc,
    broker: Broker,
    maintenance: Maintenance,
    settings: GrpcSettings,
    report_bug: Callable[[BaseException], None],
    *,
    stop_within_s: float,
) -> AsyncIterator[None]:
    """Serving while inside; on the way out calls under way may finish, and those that only wait are ended."""
    frame = Frame(settings, broker.traffic.grpc, report_bug)
    offered = services(broker, maintenance, settings, report_bug)
    names = [service.descriptor.full_name for service in offered]
    offered = (*offered, health_service(broker, names))
    server = bound.server
    server.add_generic_rpc_handlers(tuple(frame.handlers_of(service) for service in offered))
    if settings.reflection:
        shown = [service.descriptor.full_name for service in offered]
        reflection.enable_server_reflection((*shown, reflection.SERVICE_NAME), server)
    await server.start()
    try:
        yield
    finally:
        await frame.stop(stop_within_s)
        await server.stop(CLOSE_WITHIN_S)


def _listen(server: grpc.aio.Server, host: str, port: int, settings: GrpcSettings) -> int:
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        if settings.tls_certificate:
            return server.add_secure_port(address, _credentials(settings))
        return server.add_insecure_port(address)
    except RuntimeError as error:
        raise InvalidSettings(
            f"cannot serve gRPC on {address}: {error}", hint="check listen.grpc, and the files of grpc.tls_certificate"
        ) from None


def _options(settings: GrpcSettings) -> list[tuple[str, Any]]:
    return [
        # A port that another process has is an error; without this both would get some of the connections.
        ("grpc.so_reuseport", 0),
        ("grpc.max_allowed_incoming_connections", settings.connections),
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


def _credentials(settings: GrpcSettings) -> grpc.ServerCredentials:
    key = _pem("grpc.tls_key", settings.tls_key)
    certificate = _pem("grpc.tls_certificate", settings.tls_certificate)
    roots = _pem("grpc.tls_client_ca", settings.tls_client_ca) if settings.tls_client_ca else None
    return grpc.ssl_server_credentials([(key, certificate)], roots, require_client_auth=roots is not None)


def _pem(setting: str, file: str) -> bytes:
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise InvalidSettings(
            f"{setting} = {file!r} cannot be read: {error.strerror}", hint="give the path of a PEM file"
        ) from None
    if b"-----BEGIN " not in content:
        raise InvalidSettings(f"{setting} = {file!r} is not a PEM file", hint="give a file that begins with -----BEGIN")
    return content
