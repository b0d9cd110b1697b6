"""Composition root: constructs and connects all objects, decides nothing. Stopping is starting in reverse."""

import contextlib
import errno
import functools
import os
import socket
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from types import MappingProxyType

import msgspec

from goqueue.adapters.acceptor import SocketAcceptor
from goqueue.adapters.clock import SystemClock
from goqueue.adapters.disk.files import OsFileSystem
from goqueue.adapters.disk.store import DiskStore
from goqueue.adapters.entropy import SystemEntropy
from goqueue.adapters.ids.sqlite_index import SqliteIdIndex
from goqueue.adapters.telemetry.counts import Counts
from goqueue.adapters.telemetry.logs import Logger, get_logger
from goqueue.adapters.telemetry.loop_lag import loop_lag
from goqueue.adapters.telemetry.observers import MaintenanceReporter, StorageReporter
from goqueue.adapters.telemetry.span_outlet import running_outlet
from goqueue.adapters.telemetry.watched import Watched
from goqueue.app.descriptors import granted, shared_out
from goqueue.app.loading import served_in_background, served_on_demand, task_within
from goqueue.app.settings import Settings, flat, host_and_port, shown_tree
from goqueue.app.span_outlets import span_outlets
from goqueue.engine.broker import Broker
from goqueue.engine.maintenance import Maintenance
from goqueue.engine.traffic import ListenerTraffic
from goqueue.errors import GoQueueError, InvalidSettings
from goqueue.gateways.console.desk import Desk, SettingRow
from goqueue.gateways.grpc.tls import Keys, read_keys
from goqueue.gateways.http.binding import bind
from goqueue.gateways.http.limits import HttpLimits
from goqueue.gateways.native.handlers import Handlers
from goqueue.gateways.native.listener import NativeListener, serve_native

__all__ = ["STOP_WITHIN_S", "Running", "running_broker"]

STOP_WITHIN_S = 30.0
ReportBug = Callable[[BaseException], None]
NO_ORIGINS: Mapping[str, str] = MappingProxyType({})


class Running(msgspec.Struct, frozen=True):
    """A running broker and its addresses."""

    broker: Broker
    http: str
    native: str
    grpc: str
    """Empty if there is no gRPC listener."""
    schemas: str
    """Empty if the schema registry has no listener of its own."""


@asynccontextmanager
async def running_broker(settings: Settings, origins: Mapping[str, str] = NO_ORIGINS) -> AsyncIterator[Running]:
    """Start everything; on exit, stop everything and make a checkpoint."""
    logger, counts, clock = get_logger(), Counts(), SystemClock()
    began = clock.now_ns()
    descriptors = shared_out(granted(), _wanted_connections(settings))
    _check_folder(settings.data)
    async with AsyncExitStack() as stack:
        http = stack.enter_context(_bound("listen.http", settings.listen.http))
        native = stack.enter_context(_bound("listen.native", settings.listen.native))
        at_grpc, at_schemas = settings.listen.grpc, settings.listen.schemas
        keys = read_keys(settings.grpc) if at_grpc else Keys()
        grpc = stack.enter_context(_bound("listen.grpc", at_grpc, _reserved)) if at_grpc else None
        schemas = stack.enter_context(_bound("listen.schemas", at_schemas)) if at_schemas else None
        outlets = span_outlets(settings, logger, counts)
        entropy = SystemEntropy()
        reporter = StorageReporter(logger, counts)
        store = DiskStore(
            settings.data, OsFileSystem(), entropy, reporter, settings.storage, most_open=descriptors.segments
        )
        ids = SqliteIdIndex(f"{settings.data}/ids")
        opened = Broker(store, clock, entropy, ids, _compile_proto, settings.tracing, settings.expiry)
        broker = await stack.enter_async_context(opened)
        for outlet in outlets:
            broker.tracing.add_sink(await stack.enter_async_context(running_outlet(outlet)))
        lag = stack.enter_context(loop_lag(broker.traffic.requests))
        maintenance = Maintenance(broker, MaintenanceReporter(logger, counts), settings.maintenance)
        maintenance.watch_disk()
        stack.push_async_callback(_last_checkpoint, maintenance, logger)
        await stack.enter_async_context(task_within(maintenance.run()))
        report_bug = functools.partial(_report_bug, logger)

        def acceptor(name: str, bound: socket.socket, traffic: ListenerTraffic) -> SocketAcceptor:
            told = functools.partial(_report_acceptor, logger, name)
            return SocketAcceptor(bound, descriptors.connections[name], traffic, told)

        listener = NativeListener(Handlers(broker, report_bug), settings.native, broker.traffic.native)
        accepted = acceptor("native", native, broker.traffic.native)
        await stack.enter_async_context(serve_native(listener, accepted, stop_within_s=STOP_WITHIN_S))
        refused = functools.partial(_report_refusal, logger)
        if schemas is not None:
            accepted = acceptor("schemas", schemas, broker.traffic.schemas)
            load = functools.partial(_load_schemas, accepted, broker, settings, report_bug)
            await stack.enter_async_context(served_on_demand(schemas, load, refused))
        desk = Desk(broker, _setting_rows(settings, origins))
        broker.timers.add(desk.history.job())
        watched = Watched(broker, counts, lag, clock.now_ns() - began)
        accepted = acceptor("http", http, broker.traffic.http)
        load = functools.partial(_load_api, accepted, desk, maintenance, watched, settings, report_bug)
        await stack.enter_async_context(served_on_demand(http, load, refused))
        if grpc is not None:
            at_grpc = _address_text(host_and_port("listen.grpc", at_grpc)[0], grpc.getsockname()[1])
            most = descriptors.connections["grpc"]
            load = functools.partial(_load_grpc, _address(grpc), most, keys, broker, maintenance, settings, report_bug)
            serving = functools.partial(_grpc_serves, logger, grpc, at_grpc)
            await stack.enter_async_context(served_in_background(load, serving, refused))
        logger.info(
            "limits follow from the limit of open files",
            open_files=descriptors.limit,
            segments=descriptors.segments,
            **{f"{name}_connections": most for name, most in descriptors.connections.items()},
        )
        yield Running(broker, _address(http), _address(native), at_grpc, "" if schemas is None else _address(schemas))


def _compile_proto(root: str, texts: Mapping[str, str]) -> bytes:
    # Runs in a schema thread, with the first Protobuf schema.
    from goqueue.adapters.schemas.protoc import compile_files

    return compile_files(root, texts)


def _wanted_connections(settings: Settings) -> dict[str, int]:
    """Connection limits by listener; each HTTP listener has the limit to itself."""
    wanted = {"native": settings.native.connections, "http": settings.http.connections}
    if settings.listen.schemas:
        wanted["schemas"] = settings.http.connections
    if settings.listen.grpc:
        wanted["grpc"] = settings.grpc.connections
    return wanted


def _load_grpc(
    address: str,
    connections: int,
    keys: Keys,
    broker: Broker,
    maintenance: Maintenance,
    settings: Settings,
    report_bug: ReportBug,
) -> AbstractAsyncContextManager[None]:
    # Runs in a thread, like the loaders below: the imports take some tenths of a second.
    from goqueue.gateways.grpc.listener import serve_grpc

    return serve_grpc(
        address, connections, keys, broker, maintenance, settings.grpc, report_bug, stop_within_s=STOP_WITHIN_S
    )


def _grpc_serves(logger: Logger, reserved: socket.socket, address: str) -> None:
    # gRPC has bound the port.
    reserved.close()
    logger.info("gRPC is serving", grpc=address)


def _load_api(
    acceptor: SocketAcceptor,
    desk: Desk,
    maintenance: Maintenance,
    watched: Watched,
    settings: Settings,
    report_bug: ReportBug,
) -> AbstractAsyncContextManager[None]:
    # Runs in a thread with the first connection, as it would cost start time and memory before.
    from goqueue.adapters.telemetry.metrics import Metrics
    from goqueue.app.http import api_on

    metrics = Metrics(watched, settings.metrics)
    limits = _named(settings.http, settings.listen.http)
    return api_on(acceptor, desk, maintenance, metrics, limits, report_bug, STOP_WITHIN_S)


def _load_schemas(
    acceptor: SocketAcceptor, broker: Broker, settings: Settings, report_bug: ReportBug
) -> AbstractAsyncContextManager[None]:
    from goqueue.app.http import schemas_on

    limits = _named(settings.http, settings.listen.schemas)
    return schemas_on(acceptor, broker, limits, report_bug, STOP_WITHIN_S)


def _named(limits: HttpLimits, listen: str) -> HttpLimits:
    """Allow the host name of the listener as a Host header."""
    host, _ = host_and_port("listen", listen)
    return msgspec.structs.replace(limits, allowed_hosts=f"{limits.allowed_hosts},{host}")


def _setting_rows(settings: Settings, origins: Mapping[str, str]) -> tuple[SettingRow, ...]:
    leaves = flat(shown_tree(settings))
    return tuple(SettingRow(name, str(value), origins.get(name, "")) for name, value in leaves.items())


def _check_folder(data: str) -> None:
    if os.path.exists(data) and not os.path.isdir(data):
        raise InvalidSettings(f"data = {data} is no folder", hint="choose a folder; it is made if there is none")


def _reserved(host: str, port: int) -> socket.socket:
    """Reserve the gRPC port, which gRPC binds itself once loaded, without saying what is wrong with an address.

    A bound socket that does not listen holds the port until then: the kernel refuses it to a second broker that listens
    later, as it does if another process listens already, and lets gRPC have it.
    """
    return bind(host, port, listen=False)


@contextlib.contextmanager
def _bound(key: str, text: str, take: Callable[[str, int], socket.socket] = bind) -> Iterator[socket.socket]:
    host, port = host_and_port(key, text)
    try:
        listener = take(host, port)
    except OSError as error:
        hint = f"stop what uses the port, or choose another for {key}"
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            hint = f"{key} is an address of this machine: 127.0.0.1:PORT, or 0.0.0.0:PORT for all of them"
        if isinstance(error, PermissionError):
            hint = f"ports below 1024 are for root and for programs with CAP_NET_BIND_SERVICE: choose another for {key}"
        raise InvalidSettings(f"cannot listen on {text}: {error.strerror or error}", hint=hint) from None
    with listener:
        yield listener


def _address(listener: socket.socket) -> str:
    return _address_text(*listener.getsockname()[:2])


def _address_text(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _report_bug(logger: Logger, bug: BaseException) -> None:
    logger.error("bug", error=repr(bug), traceback="".join(traceback.format_exception(bug)))


def _report_refusal(logger: Logger, failure: GoQueueError | OSError) -> None:
    if isinstance(failure, OSError):
        logger.error("listener cannot serve", reason=str(failure))
    else:
        logger.error("listener cannot serve", reason=failure.message, hint=failure.hint)


def _report_acceptor(logger: Logger, listener: str, event: str, reason: str) -> None:
    logger.warning(event, listener=listener, reason=reason)


async def _last_checkpoint(maintenance: Maintenance, logger: Logger) -> None:
    """A clean stop leaves nothing to recover; if the checkpoint fails, the next start recovers as after a crash."""
    try:
        await maintenance.checkpoint()
    except GoQueueError as failure:
        logger.error("no checkpoint at the stop", reason=failure.message)
