"""The HTTP API as one ASGI application: every route also under /v1, every error in the shape of its API."""

from collections.abc import Callable

from starlette.types import Receive, Scope, Send

from goqueue.engine.broker import Broker
from goqueue.engine.maintenance import Maintenance
from goqueue.gateways.http.api import every_endpoint
from goqueue.gateways.http.api.schemas import PREFIX, ROOT_ENDPOINTS
from goqueue.gateways.http.api.schemas.dialect import REGISTRY
from goqueue.gateways.http.dialects import OWN, Dialect
from goqueue.gateways.http.gate import Gate
from goqueue.gateways.http.limits import HttpLimits
from goqueue.gateways.http.routing import VERSION_PREFIX, ReportBug, router
from goqueue.gateways.http.waiting import Waiting

__all__ = ["HttpApp", "http_app", "schemas_app"]


class HttpApp:
    """The application, and the means to end what only waits."""

    def __init__(self, gate: Gate, waiting: Waiting) -> None:
        self._gate = gate
        self._waiting = waiting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._gate(scope, receive, send)

    def stop(self) -> None:
        self._waiting.stop()


def http_app(
    broker: Broker,
    maintenance: Maintenance,
    exposition: Callable[[], bytes],
    report_bug: ReportBug,
    limits: HttpLimits,
) -> HttpApp:
    endpoints = every_endpoint(maintenance, exposition)
    waiting = Waiting()
    routes = router(endpoints, broker, report_bug, waiting, _dialect_at)
    always = [endpoint.path for endpoint in endpoints if endpoint.always]
    always += [VERSION_PREFIX + path for path in always]
    return HttpApp(Gate(routes, limits, frozenset(always), _dialect_at), waiting)


def schemas_app(broker: Broker, report_bug: ReportBug, limits: HttpLimits) -> HttpApp:
    """The schema registry alone, at the root of a listener of its own."""
    waiting = Waiting()
    routes = router(ROOT_ENDPOINTS, broker, report_bug, waiting, lambda _: REGISTRY)
    return HttpApp(Gate(routes, limits, frozenset(), lambda _: REGISTRY), waiting)


def _dialect_at(path: str) -> Dialect:
    plain = path.removeprefix(VERSION_PREFIX)
    return REGISTRY if plain == PREFIX or plain.startswith(f"{PREFIX}/") else OWN
