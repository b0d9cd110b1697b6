"""One thing that can be asked for over HTTP, described once: routes, checks and documentation are made from it."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from goqueue.engine.broker import Broker
from goqueue.gateways.http.dialects import OWN, Dialect

__all__ = ["Endpoint", "Handler", "Nothing", "Reply", "keep"]

Handler = Callable[..., Awaitable[Any]]
"""Takes the broker, path parameters, query and body, and who asks if the endpoint is `of_worker`; returns what the
endpoint answers, or a `Reply` with it."""


async def keep(_: Broker, __: Any) -> None:
    """Most answers have no consequences that would have to be undone."""


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No parameters."""


class Reply(msgspec.Struct, frozen=True):
    """An answer whose status or headers are not those of every answer of its endpoint."""

    content: Any
    status: int
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Types are frozen structs that forbid unknown fields; `body` None means that none is taken."""

    method: str
    path: str
    tag: str
    summary: str
    handler: Handler
    params: type = Nothing
    query: type = Nothing
    body: type | None = None
    body_forms: tuple[type, ...] = ()
    """How the body is documented when it has several forms, which `body` takes all together."""
    response: type
    status: int = 200
    other_statuses: tuple[int, ...] = ()
    """Besides `status`, with the same response type."""
    errors: tuple[int, ...] = ()
    """Besides those that every endpoint may answer."""
    media_type: str = "application/json"
    """Of the answer; for all but JSON, the handler returns it as bytes. Its dialect may have another name for JSON."""
    dialect: Dialect = OWN
    traced: bool = False
    """It takes the headers `traceparent` and `tracestate`, see `goqueue.gateways.http.trace_headers`."""
    changes: bool = False
    """A GET that changes something, so that web pages of other sites must not ask for it; other methods always do."""
    waits: bool = False
    """It may wait for something to happen; the wait ends when the client goes away or the broker stops."""
    of_worker: bool = False
    """Its handler is told on which connection the request came."""
    take_back: Callable[[Broker, Any], Awaitable[None]] = keep
    """What is to be done when it waited, and the client was gone when there was an answer."""
    always: bool = False
    """Answered also when the broker is too busy for anything else."""
