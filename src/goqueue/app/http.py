"""HTTP listeners: their composition. Imported with the first connection to one of them: see `loading.py`."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from goqueue.adapters.telemetry.metrics import Metrics
from goqueue.app.loading import PagesOnDemand
from goqueue.engine.broker import Broker
from goqueue.engine.maintenance import Maintenance
from goqueue.engine.traffic import Acceptor
from goqueue.gateways.console.desk import Desk
from goqueue.gateways.http.app import Pages, http_app, schemas_app
from goqueue.gateways.http.limits import HttpLimits
from goqueue.gateways.http.server import serve_http

__all__ = ["api_on", "schemas_on"]

ReportBug = Callable[[BaseException], None]


def api_on(
    acceptor: Acceptor,
    desk: Desk,
    maintenance: Maintenance,
    metrics: Metrics,
    limits: HttpLimits,
    report_bug: ReportBug,
    stop_within_s: float,
) -> AbstractAsyncContextManager[None]:
    """The API, metrics, health checks and the console; serving while inside."""

    def console() -> Pages:
        # Templates and pages are loaded on demand, as most brokers serve programs only.
        from goqueue.gateways.console.app import Console

        return Console(desk, report_bug)

    app = http_app(desk.broker, maintenance, metrics.exposition, report_bug, limits, PagesOnDemand(console))
    return serve_http(app, acceptor, limits, stop_within_s=stop_within_s)


def schemas_on(
    acceptor: Acceptor, broker: Broker, limits: HttpLimits, report_bug: ReportBug, stop_within_s: float
) -> AbstractAsyncContextManager[None]:
    """The schema registry alone; serving while inside."""
    return serve_http(schemas_app(broker, report_bug, limits), acceptor, limits, stop_within_s=stop_within_s)
