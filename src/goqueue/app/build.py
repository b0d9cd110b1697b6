"""The composition root: knows every class, decides nothing. Stopping is starting in reverse."""

import contextlib
import errno
import functools
import socket
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from goqueue.adapters.clock import SystemClock
from goqueue.adapters.disk.files import OsFileSystem
from goqueue.adapters.disk.store import DiskStore
from goqueue.adapters.entropy import SystemEntropy
from goqueue.adapters.ids.sqlite_index import SqliteIdIndex
from goqueue.adapters.schemas.protoc import compile_files
from goqueue.adapters.telemetry.logs import Logger, get_logger
from goqueue.adapters.telemetry.loop_lag import loop_lag
from goqueue.adapters.telemetry.metrics import Metrics, Scrape
from goqueue.adapters.telemetry.observers import MaintenanceReporter, StorageReporter
from goqueue.adapters.telemetry.span_outlet import running_outlet
from goqueue.app.on_demand import served_on_demand, task_within
from goqueue.app.settings import Settings, flat, host_and_port, shown_tree
from goqueue.app.span_outlets import span_outlets
from goqueue.engine.broker import Broker
from goqueue.engine.maintenance import Maintenance
from goqueue.errors import GoQueueError, InvalidSettings
from goqueue.gateways.console.desk import Desk, SettingRow
from goqueue.gateways.http.binding import bind
from goqueue.gateways.native.handlers import Handlers
from goqueue.gateways.native.listener import NativeListener, serve_native

if TYPE_CHECKING:
    from goqueue.gateways.grpc.listener import BoundGrpc

__all__ = ["STOP_WITHIN_S", "Running", "running_broker"]

STOP_WITHIN_S = 30.0
ReportBug = Callable[[BaseException], None]
NO_ORIGINS: Mapping[str, str] = MappingProxyType({})


class Running(msgspec.Struct, frozen=True):
    """A broker that serves, and where."""

    broker: Broker
    http: str
    native: str
    grpc: str
    """Empty when there is no listener for gRPC."""
    schemas: str
    """Empty when the schema registry has no listener of its own."""


@asynccontextmanager
async def running_broker(settings: Settings, origins: Mapping[str, str] = NO_ORIGINS) -> AsyncIterator[Running]:
    """Everything started inside, everything stopped and checkpointed on the way out."""
    logger, metrics, clock = get_logger(), Metrics(), SystemClock()
    began = clock.now_ns()
    _check_folder(settings.data)
    async with AsyncExitStack() as stack:
        http = stack.enter_context(_bound("listen.http", settings.listen.http))
        native = stack.enter_context(_bound("listen.native", settings.listen.native))
        grpc_server = await stack.enter_async_context(_bound_grpc(settings))
        at_schemas = settings.listen.schemas
        schemas = stack.enter_context(_bound("listen.schemas", at_schemas)) if at_schemas else None
        outlets = span_outlets(settings, logger, metrics)
        entropy = SystemEntropy()
        reporter = StorageReporter(logger, metrics)
        store = DiskStore(settings.data, OsFileSystem(), entropy, reporter, settings.storage)
        ids = SqliteIdIndex(f"{settings.data}/ids")
        broker = await stack.enter_async_context(Broker(store, clock, entropy, ids, compile_files, settings.tracing))
        for outlet in outlets:
            broker.tracing.add_sink(await stack.enter_async_context(running_outlet(outlet)))
        lag = stack.enter_context(loop_lag())
        maintenance = Maintenance(broker, MaintenanceReporter(logger, metrics), settings.maintenance)
        maintenance.watch_disk()
        stack.push_async_callback(_last_checkpoint, maintenance, logger)
        await stack.enter_async_context(task_within(maintenance.run()))
        report_bug = functools.partial(_report_bug, logger)
        listener = NativeListener(Handlers(broker, report_bug), settings.native, broker.traffic.native)
        await stack.enter_async_context(serve_native(listener, native, stop_within_s=STOP_WITHIN_S))
        grpc = await stack.enter_async_context(_serving_grpc(grpc_server, broker, maintenance, settings, report_bug))
        desk = Desk(broker, _setting_rows(settings, origins))
        await stack.enter_async_context(task_within(desk.history.run()))
        load = functools.partial(_load_api, http, desk, maintenance, metrics, settings, report_bug)
        await stack.enter_async_context(served_on_demand(http, load))
        if schemas is not None:
            load = functools.partial(_load_schemas, schemas, broker, settings, report_bug)
            await stack.enter_async_context(served_on_demand(schemas, load))
        metrics.show(Scrape(broker, settings.metrics, lag, clock.now_ns() - began))
        yield Running(broker, _address(http), _address(native), grpc, "" if schemas is None else _address(schemas))


@asynccontextmanager
async def _bound_grpc(settings: Settings) -> "AsyncIterator[BoundGrpc | None]":
    if not settings.listen.grpc:
        yield None
        return
    # gRPC binds its port by itself, without saying what was wrong.
    with _bound("listen.grpc", settings.listen.grpc):
        pass
    # What nobody uses need not be loaded: it takes a tenth of a second.
    from goqueue.gateways.grpc.listener import bound_grpc

    async with bound_grpc(*host_and_port("listen.grpc", settings.listen.grpc), settings.grpc) as bound:
        yield bound


@asynccontextmanager
async def _serving_grpc(
    bound: "BoundGrpc | None", broker: Broker, maintenance: Maintenance, settings: Settings, report_bug: ReportBug
) -> AsyncIterator[str]:
    """On which address, if on any."""
    if bound is None:
        yield ""
        return
    from goqueue.gateways.grpc.listener import serve_grpc

    async with serve_grpc(bound, broker, maintenance, settings.grpc, report_bug, stop_within_s=STOP_WITHIN_S):
        host, _ = host_and_port("listen.grpc", settings.listen.grpc)
        yield _address_text(host, bound.port)


def _load_api(
    listener: socket.socket,
    desk: Desk,
    maintenance: Maintenance,
    metrics: Metrics,
    settings: Settings,
    report_bug: ReportBug,
) -> AbstractAsyncContextManager[None]:
    # In a thread, once somebody has connected: until then it would only cost time at the start, and memory.
    from goqueue.app.http import api_on

    return api_on(listener, desk, maintenance, metrics.exposition, settings.http, report_bug, STOP_WITHIN_S)


def _load_schemas(
    listener: socket.socket, broker: Broker, settings: Settings, report_bug: ReportBug
) -> AbstractAsyncContextManager[None]:
    from goqueue.app.http import schemas_on

    return schemas_on(listener, broker, settings.http, report_bug, STOP_WITHIN_S)


def _setting_rows(settings: Settings, origins: Mapping[str, str]) -> tuple[SettingRow, ...]:
    leaves = flat(shown_tree(settings))
    return tuple(SettingRow(name, str(value), origins.get(name, "")) for name, value in leaves.items())


def _check_folder(data: str) -> None:
    path = Path(data)
    if path.exists() and not path.is_dir():
        raise InvalidSettings(f"data = {data} is no folder", hint="choose a folder; it is made if there is none")


@contextlib.contextmanager
def _bound(key: str, text: str) -> Iterator[socket.socket]:
    host, port = host_and_port(key, text)
    try:
        listener = bind(host, port)
    except OSError as error:
        hint = f"stop what uses the port, or choose another for {key}"
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            hint = f"{key} is an address of this machine: 127.0.0.1:PORT, or 0.0.0.0:PORT for all of them"
        raise InvalidSettings(f"cannot listen on {text}: {error.strerror or error}", hint=hint) from None
    with listener:
        yield listener


def _address(listener: socket.socket) -> str:
    return _address_text(*listener.getsockname()[:2])


def _address_text(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _report_bug(logger: Logger, bug: BaseException) -> None:
    logger.error("bug", error=repr(bug), traceback="".join(traceback.format_exception(bug)))


async def _last_checkpoint(maintenance: Maintenance, logger: Logger) -> None:
    """A clean stop leaves nothing to recover; when it fails, the next start recovers as after a crash."""
    try:
        await maintenance.checkpoint()
    except GoQueueError as failure:
        logger.error("no checkpoint at the stop", reason=failure.message)
