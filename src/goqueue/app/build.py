"""The composition root: knows every class, decides nothing. Stopping is starting in reverse."""

import asyncio
import contextlib
import functools
import socket
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from goqueue.adapters.clock import SystemClock
from goqueue.adapters.disk.files import OsFileSystem
from goqueue.adapters.disk.store import DiskStore
from goqueue.adapters.entropy import SystemEntropy
from goqueue.adapters.ids.sqlite_index import SqliteIdIndex
from goqueue.adapters.schemas.protoc import compile_files
from goqueue.adapters.telemetry.logs import Logger, get_logger
from goqueue.adapters.telemetry.metrics import Metrics
from goqueue.adapters.telemetry.observers import MaintenanceReporter, StorageReporter
from goqueue.app.settings import Settings, host_and_port
from goqueue.engine.broker import Broker
from goqueue.engine.maintenance import Maintenance
from goqueue.errors import GoQueueError, InvalidSettings
from goqueue.gateways.http.app import http_app, schemas_app
from goqueue.gateways.http.server import bind, serve_http
from goqueue.gateways.native.handlers import Handlers
from goqueue.gateways.native.listener import NativeListener, serve_native

__all__ = ["STOP_WITHIN_S", "Running", "running_broker"]

STOP_WITHIN_S = 30.0


class Running(msgspec.Struct, frozen=True):
    """A broker that serves, and where."""

    broker: Broker
    http: str
    native: str
    schemas: str
    """Empty when the schema registry has no listener of its own."""


@asynccontextmanager
async def running_broker(settings: Settings) -> AsyncIterator[Running]:
    """Everything started inside, everything stopped and checkpointed on the way out."""
    logger, metrics = get_logger(), Metrics()
    async with AsyncExitStack() as stack:
        http = stack.enter_context(_bound("listen.http", settings.listen.http))
        native = stack.enter_context(_bound("listen.native", settings.listen.native))
        at_schemas = settings.listen.schemas
        schemas = stack.enter_context(_bound("listen.schemas", at_schemas)) if at_schemas else None
        entropy = SystemEntropy()
        reporter = StorageReporter(logger, metrics)
        store = DiskStore(settings.data, OsFileSystem(), entropy, reporter, settings.storage)
        ids = SqliteIdIndex(f"{settings.data}/ids")
        broker = await stack.enter_async_context(Broker(store, SystemClock(), entropy, ids, compile_files))
        _watch(metrics, broker)
        maintenance = Maintenance(broker, MaintenanceReporter(logger, metrics), settings.maintenance)
        maintenance.watch_disk()
        stack.push_async_callback(_last_checkpoint, maintenance, logger)
        await stack.enter_async_context(_task(maintenance.run()))
        report_bug = functools.partial(_report_bug, logger)
        listener = NativeListener(Handlers(broker, report_bug), settings.native)
        await stack.enter_async_context(serve_native(listener, native, stop_within_s=STOP_WITHIN_S))
        app = http_app(broker, maintenance, metrics.exposition, report_bug, settings.http)
        await stack.enter_async_context(serve_http(app, http, settings.http, stop_within_s=STOP_WITHIN_S))
        if schemas is not None:
            registry = schemas_app(broker, report_bug, settings.http)
            await stack.enter_async_context(serve_http(registry, schemas, settings.http, stop_within_s=STOP_WITHIN_S))
        yield Running(broker, _address(http), _address(native), "" if schemas is None else _address(schemas))


@contextlib.contextmanager
def _bound(key: str, text: str) -> Iterator[socket.socket]:
    host, port = host_and_port(key, text)
    try:
        listener = bind(host, port)
    except OSError as error:
        raise InvalidSettings(
            f"cannot listen on {text}: {error.strerror or error}",
            hint=f"stop what uses the port, or choose another for {key}",
        ) from None
    with listener:
        yield listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _report_bug(logger: Logger, bug: BaseException) -> None:
    logger.error("bug", error=repr(bug), traceback="".join(traceback.format_exception(bug)))


async def _last_checkpoint(maintenance: Maintenance, logger: Logger) -> None:
    """A clean stop leaves nothing to recover; when it fails, the next start recovers as after a crash."""
    try:
        await maintenance.checkpoint()
    except GoQueueError as failure:
        logger.error("no checkpoint at the stop", reason=failure.message)


def _watch(metrics: Metrics, broker: Broker) -> None:
    storage = broker.storage
    metrics.watch("goqueue_broker_topics", "Topics", lambda: len(broker.catalog))
    metrics.watch("goqueue_broker_partitions", "Partitions", lambda: len(storage.logs()))
    metrics.watch("goqueue_delay_pending", "Records that wait until they are due", lambda: _pending_delays(broker))
    metrics.watch("goqueue_storage_journal_bytes", "Journal that a recovery would read", lambda: storage.journal_bytes)
    metrics.watch("goqueue_storage_disk_used_share", "Used part of the disk, 0 to 1", lambda: broker.guard.used_share)
    metrics.watch(
        "goqueue_storage_log_bytes", "Bytes in partition logs", lambda: sum(storage.log(x).size for x in storage.logs())
    )


def _pending_delays(broker: Broker) -> int:
    return sum(len(one.delays) for topic in broker.catalog for one in broker.partitions(topic.name))


@asynccontextmanager
async def _task(work: "asyncio._CoroutineLike[None]") -> AsyncIterator[None]:
    """A background task that ends with the block, and ends the block's life if it fails."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        yield
        task.cancel()
