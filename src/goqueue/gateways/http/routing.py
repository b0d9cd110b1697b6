"""From the table of endpoints to routes: find the endpoint, read the request, call the handler, send the answer."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from goqueue.engine.broker import Broker
from goqueue.errors import GoQueueError, InternalError
from goqueue.gateways.http.asked import ASKED
from goqueue.gateways.http.connection import worker_client
from goqueue.gateways.http.dialects import DialectAt
from goqueue.gateways.http.endpoint import Endpoint, Reply
from goqueue.gateways.http.origin import check_page
from goqueue.gateways.http.requests import RequestReader
from goqueue.gateways.http.responses import HttpRefusal, encode_json, respond
from goqueue.gateways.http.trace_headers import read_trace
from goqueue.gateways.http.waiting import ClientGone, Waiting

__all__ = ["VERSION_PREFIX", "ReportBug", "router"]

VERSION_PREFIX = "/v1"

ReportBug = Callable[[BaseException], None]


def router(
    endpoints: Iterable[Endpoint], broker: Broker, report_bug: ReportBug, waiting: Waiting, dialect_at: DialectAt
) -> ASGIApp:
    """Every endpoint at its path, and again under /v1."""
    by_path: dict[str, dict[str, _Operation]] = {}
    for endpoint in endpoints:
        methods = by_path.setdefault(endpoint.path, {})
        assert endpoint.method not in methods, f"{endpoint.method} {endpoint.path} is there twice"
        methods[endpoint.method] = _Operation(endpoint, broker, report_bug, waiting)
    routes = [Route(path, _Resource(methods, dialect_at)) for path, methods in by_path.items()]
    unknown = _unknown_route(dialect_at)
    versioned = Router(routes, redirect_slashes=False, default=unknown)
    return Router([*routes, Mount(VERSION_PREFIX, versioned)], redirect_slashes=False, default=unknown)


def _unknown_route(dialect_at: DialectAt) -> ASGIApp:
    async def refuse(scope: Scope, _: Receive, send: Send) -> None:
        path = scope["path"]
        shown = path if len(path) <= 200 else path[:200] + "…"
        dialect = dialect_at(path)
        refusal = HttpRefusal(404, "unknown_route", f"there is no {shown}", hint=dialect.where_to_look)
        await dialect.respond_error(scope, send, refusal)

    return refuse


class _Operation:
    """One endpoint at work."""

    def __init__(self, endpoint: Endpoint, broker: Broker, report_bug: ReportBug, waiting: Waiting) -> None:
        self._endpoint = endpoint
        self._broker = broker
        self._report_bug = report_bug
        self._waiting = waiting
        self._reader = RequestReader(endpoint)
        self._dialect = endpoint.dialect
        self._media_type = endpoint.media_type.encode()
        self._is_json = endpoint.media_type == "application/json"
        self._kind = endpoint.tag.lower().replace(" ", "_")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = scope[ASKED]
        asked.kind, asked.waits = self._kind, self._endpoint.waits
        try:
            reply = await self._carry_out(scope, receive)
        except (GoQueueError, HttpRefusal) as refusal:
            await self._dialect.respond_error(scope, send, refusal)
        except ClientGone:
            return
        except Exception as bug:
            self._report_bug(bug)
            failure = InternalError("the broker failed to answer; its log says why")
            await self._dialect.respond_error(scope, send, failure)
        else:
            payload, status, headers = reply
            media_type = self._dialect.media_type(scope) if self._is_json else self._media_type
            await respond(send, status, payload, media_type=media_type, headers=headers)

    async def _carry_out(
        self, scope: Scope, receive: Receive
    ) -> tuple[bytes | memoryview, int, tuple[tuple[bytes, bytes], ...]]:
        if self._endpoint.changes:
            check_page(scope)
        message = await receive()
        self._dialect.check_types(scope, has_body=bool(message["body"]))
        params = self._reader.params(scope["path_params"])
        query = self._reader.query(scope["query_string"])
        body = self._reader.body(message["body"])
        trace = read_trace(scope["headers"]) if self._endpoint.traced else ()
        client = (worker_client(scope, self._broker.workers),) if self._endpoint.of_worker else ()
        work = self._endpoint.handler(self._broker, params, query, body, *client)
        answer = await (self._waiting.result_of(work, receive, self._take_back) if self._endpoint.waits else work)
        if isinstance(answer, Reply):
            return self._encode(answer.content), answer.status, (*answer.headers, *trace)
        return self._encode(answer), self._endpoint.status, trace

    async def _take_back(self, answer: Any) -> None:
        await self._endpoint.take_back(self._broker, answer)

    def _encode(self, content: Any) -> bytes | memoryview:
        if isinstance(content, msgspec.Raw):
            # Large lists are text already.
            return memoryview(content)
        return encode_json(content) if self._is_json else bytes(content)


class _Resource:
    """What can be done at one path."""

    def __init__(self, methods: Mapping[str, _Operation], dialect_at: DialectAt) -> None:
        self._methods = dict(methods)
        self._dialect_at = dialect_at
        if "GET" in methods:
            self._methods["HEAD"] = methods["GET"]
        self._allow = ", ".join(sorted(self._methods))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        operation = self._methods.get(scope["method"])
        if operation is not None:
            await operation(scope, receive, send)
            return
        refusal = HttpRefusal(
            405,
            "method_not_allowed",
            f"{scope['method']} is not for {scope['path'][:200]}",
            hint=f"allowed here: {self._allow}",
            headers=((b"allow", self._allow.encode()),),
        )
        await self._dialect_at(scope["path"]).respond_error(scope, send, refusal)
