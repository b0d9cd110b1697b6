"""What the process says about itself: health, version, figures, and what can be asked of it."""

import platform
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec

from goqueue import __version__, codec
from goqueue.engine.broker import Broker
from goqueue.engine.health import broker_stats, readiness
from goqueue.gateways.http.document.openapi import Document
from goqueue.gateways.http.document.page import docs_page
from goqueue.gateways.http.endpoint import Endpoint, Nothing, Reply

__all__ = ["endpoints"]

TAG = "Meta"


class Health(msgspec.Struct, frozen=True):
    """The process runs."""

    status: Literal["ok"] = "ok"


class ReadyQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    verbose: bool = False


class Ready(msgspec.Struct, frozen=True):
    """`checks` says of each condition what is wrong, or "ok"."""

    status: Literal["ready", "not ready"]
    checks: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


class Version(msgspec.Struct, frozen=True):
    """Versions of the broker and of what it runs on."""

    version: str
    python: str
    codec: Literal["compiled", "python"]


class Stats(msgspec.Struct, frozen=True):
    """The broker in figures."""

    topics: int
    partitions: int
    records: int
    bytes: int
    journal_bytes: int
    disk_used_share: float


async def health(_: Broker, __: Nothing, ___: Nothing, ____: None) -> Health:
    return Health()


async def ready(broker: Broker, _: Nothing, query: ReadyQuery, __: None) -> Reply:
    checks = readiness(broker)
    is_ready = all(check == "ok" for check in checks.values())
    content = Ready("ready" if is_ready else "not ready", checks if query.verbose else msgspec.UNSET)
    return Reply(content, 200) if is_ready else Reply(content, 503, ((b"retry-after", b"5"),))


async def version(_: Broker, __: Nothing, ___: Nothing, ____: None) -> Version:
    return Version(__version__, platform.python_version(), codec.ACTIVE)


async def stats(broker: Broker, _: Nothing, __: Nothing, ___: None) -> Stats:
    return Stats(**msgspec.structs.asdict(await broker_stats(broker)))


def endpoints(exposition: Callable[[], Awaitable[bytes]], document: Document) -> tuple[Endpoint, ...]:
    async def metrics(_: Broker, __: Nothing, ___: Nothing, ____: None) -> bytes:
        return await exposition()

    async def openapi(_: Broker, __: Nothing, ___: Nothing, ____: None) -> dict[str, Any]:
        return document.content

    async def docs(_: Broker, __: Nothing, ___: Nothing, ____: None) -> Reply:
        # The page needs nothing but its own style, and may not ask for more.
        policy = b"default-src 'none'; style-src 'unsafe-inline'"
        return Reply(docs_page(document.content), 200, ((b"content-security-policy", policy),))

    return (
        *(
            Endpoint(
                method="GET",
                path=path,
                tag=TAG,
                summary="Whether the process runs",
                handler=health,
                response=Health,
                always=True,
            )
            for path in ("/health", "/healthz", "/livez")
        ),
        Endpoint(
            method="GET",
            path="/readyz",
            tag=TAG,
            summary="Whether the broker takes traffic; 503 when not",
            handler=ready,
            query=ReadyQuery,
            response=Ready,
            other_statuses=(503,),
            always=True,
        ),
        Endpoint(
            method="GET",
            path="/version",
            tag=TAG,
            summary="Versions of the broker and of what it runs on",
            handler=version,
            response=Version,
        ),
        Endpoint(
            method="GET",
            path="/stats",
            tag=TAG,
            summary="Topics, records and bytes in figures",
            handler=stats,
            response=Stats,
        ),
        Endpoint(
            method="GET",
            path="/metrics",
            tag=TAG,
            summary="Metrics for Prometheus",
            handler=metrics,
            response=str,
            media_type="text/plain; version=0.0.4; charset=utf-8",
            always=True,
        ),
        Endpoint(
            method="GET",
            path="/openapi.json",
            tag=TAG,
            summary="This API as an OpenAPI 3.1 document",
            handler=openapi,
            response=dict[str, Any],
        ),
        Endpoint(
            method="GET",
            path="/docs",
            tag=TAG,
            summary="This API as a page to read",
            handler=docs,
            response=str,
            media_type="text/html; charset=utf-8",
        ),
    )
