"""Everything that can be asked for over HTTP, as one table: a further file of endpoints is one more line here."""

from collections.abc import Awaitable, Callable

from goqueue.engine.maintenance import Maintenance
from goqueue.engine.placement import Placement
from goqueue.gateways.http.api import (
    acknowledging,
    admin,
    dead_letters,
    delay_cancelling,
    delaying,
    groups,
    meta,
    priorities,
    publishing,
    reading,
    schedules,
    schemas,
    topics,
    traces,
    transaction_views,
    transactions,
)
from goqueue.gateways.http.document.openapi import Document
from goqueue.gateways.http.endpoint import Endpoint

__all__ = ["every_endpoint"]


def every_endpoint(maintenance: Maintenance, exposition: Callable[[], Awaitable[bytes]]) -> tuple[Endpoint, ...]:
    """Routes are tried in this order, so what is asked for most comes first."""
    placement = Placement()
    endpoints: tuple[Endpoint, ...] = (
        *publishing.endpoints(placement),
        *reading.ENDPOINTS,
        *acknowledging.ENDPOINTS,
        *groups.ENDPOINTS,
        *topics.ENDPOINTS,
        *delaying.ENDPOINTS,
        *delay_cancelling.ENDPOINTS,
        *schedules.ENDPOINTS,
        *schemas.ENDPOINTS,
        *priorities.ENDPOINTS,
        *dead_letters.ENDPOINTS,
        *transactions.endpoints(placement),
        *transaction_views.ENDPOINTS,
        *traces.ENDPOINTS,
        *admin.endpoints(maintenance),
        *meta.endpoints(exposition, Document(lambda: endpoints)),
    )
    return endpoints
