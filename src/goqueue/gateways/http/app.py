"""The HTTP API as one ASGI application: every route also under /v1, every error in the shape of its API."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from starlette.types import ASGIApp, Receive, Scope, Send

from goqueue.engine.broker import Broker
from goqueue.engine.maintenance import Maintenance
from goqueue.engine.traffic import ListenerTraffic
from goqueue.gateways.http.api import every_endpoint
from goqueue.gateways.http.api.schemas import PREFIX, ROOT_ENDPOINTS
from goqueue.gateways.http.api.schemas.dialect import REGISTRY
from goqueue.gateways.http.asked import ASKED
from goqueue.gateways.http.dialects import OWN, Dialect
from goqueue.gateways.http.gate import Gate
from goqueue.gateways.http.limits import HttpLimits
from goqueue.gateways.http.responses import respond
from goqueue.gateways.http.routing import VERSION_PREFIX, ReportBug, router
from goqueue.gateways.http.waiting import Waiting

__all__ = ["PAGES_PREFIX", "HttpApp", "Pages", "http_app", "schemas_app"]

PAGES_PREFIX = "/console"


class Pages(Protocol):
    """What is served to people, beside the API."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...
    def stop(self) -> None: ...


class HttpApp:
    """The application, and the means to end what only waits."""

    def __init__(self, gate: Gate, waiting: Waiting, stop_pages: Callable[[], None] = lambda: None) -> None:
        self._gate = gate
        self._waiting = waiting
        self._stop_pages = stop_pages

    @property
    def traffic(self) -> ListenerTraffic:
        return self._gate.traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._gate(scope, receive, send)

    def stop(self) -> None:
        self._waiting.stop()
        self._stop_pages()


def http_app(
    broker: Broker,
    maintenance: Maintenance,
    exposition: Callable[[], Awaitable[bytes]],
    report_bug: ReportBug,
    limits: HttpLimits,
    pages: Pages | None = None,
) -> HttpApp:
    """With `pages` under /console, where the root leads to; they pass the same gate."""
    endpoints = every_endpoint(maintenance, exposition)
    waiting = Waiting()
    routes = router(endpoints, broker, report_bug, waiting, _dialect_at)
    always = [endpoint.path for endpoint in endpoints if endpoint.always]
    always += [VERSION_PREFIX + path for path in always]
    if pages is None:
        return HttpApp(Gate(routes, limits, frozenset(always), broker.traffic.http, _dialect_at), waiting)
    both = _beside(routes, pages)
    return HttpApp(Gate(both, limits, frozenset(always), broker.traffic.http, _dialect_at), waiting, pages.stop)


def schemas_app(broker: Broker, report_bug: ReportBug, limits: HttpLimits) -> HttpApp:
    """The schema registry alone, at the root of a listener of its own."""
    waiting = Waiting()
    routes = router(ROOT_ENDPOINTS, broker, report_bug, waiting, lambda _: REGISTRY)
    return HttpApp(Gate(routes, limits, frozenset(), broker.traffic.schemas, lambda _: REGISTRY), waiting)


def _dialect_at(path: str) -> Dialect:
    plain = path.removeprefix(VERSION_PREFIX)
    return REGISTRY if plain == PREFIX or plain.startswith(f"{PREFIX}/") else OWN


def _beside(routes: ASGIApp, pages: Pages) -> ASGIApp:
    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path.startswith(PAGES_PREFIX) and path[len(PAGES_PREFIX) : len(PAGES_PREFIX) + 1] in ("", "/"):
            # A page may stay open, to be told what changes.
            scope[ASKED].kind, scope[ASKED].waits = "console", True
            await pages(scope, receive, send)
        elif path == "/" and scope["method"] in ("GET", "HEAD"):
            await respond(send, 307, b"", headers=((b"location", PAGES_PREFIX.encode()),))
        else:
            await routes(scope, receive, send)

    return choose
