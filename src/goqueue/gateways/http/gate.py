"""Lets requests in: checks how large they are and how many, and reads their bodies before anybody works on them.

A body must come within its size, and all bodies together within theirs, so that what clients send cannot fill the
memory. How long a body may take is the business of its connection.
"""

import asyncio
import contextlib
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from goqueue.engine.traffic import ListenerTraffic
from goqueue.gateways.http.asked import ASKED, Asked
from goqueue.gateways.http.dialects import Dialect, DialectAt, own_dialect
from goqueue.gateways.http.limits import HttpLimits
from goqueue.gateways.http.origin import AllowedHosts, check_host, check_page
from goqueue.gateways.http.responses import HttpRefusal

__all__ = ["Gate"]

HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})
LINGER_S = 2.0
"""For so long what a refused client goes on sending is thrown away, so that it gets to read why."""


class _Gone(Exception):
    """The client went away before it had sent everything."""


class _Head(NamedTuple):
    """What the headers say about the body; the length is None when it comes in chunks."""

    has_body: bool
    length: int | None


class Gate:
    """The outermost part of the application."""

    def __init__(
        self,
        app: ASGIApp,
        limits: HttpLimits,
        always: frozenset[str],
        traffic: ListenerTraffic,
        dialect_at: DialectAt = own_dialect,
    ) -> None:
        self._app = app
        self.traffic = traffic
        self._limits = limits
        self._allowed_hosts = AllowedHosts(limits.allowed_hosts.split(","))
        self._always = always
        self._dialect_at = dialect_at
        self._requests = 0
        self._bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        # Names in a path may hold an escaped slash, so it is taken apart as it came.
        scope["path"] = scope["raw_path"].decode("ascii")
        self._requests += 1
        reserved = _Reserved(self)
        asked = scope[ASKED] = Asked(self.traffic, send)
        try:
            head = self._look(scope)
            body = await self._read(head, receive, reserved) if head.has_body else b""
            asked.begin()
            await self._app(scope, _receive_again(body, receive), asked.send)
        except HttpRefusal as refusal:
            await _refuse(refusal, self._dialect_at(scope["path"]), scope, receive, asked.send)
        except _Gone:
            pass
        finally:
            asked.end()
            self._requests -= 1
            self._bytes -= reserved.size

    def _look(self, scope: Scope) -> _Head:
        limits = self._limits
        if self._requests > limits.requests_under_way and scope["path"] not in self._always:
            raise HttpRefusal(503, "server_busy", f"{limits.requests_under_way} requests are under way")
        size = len(scope["raw_path"]) + len(scope["query_string"])
        if size > limits.url_bytes:
            raise HttpRefusal(414, "url_too_long", f"the URL has {size} bytes, the limit is {limits.url_bytes}")
        total, has_body, length = 0, False, None
        for name, value in scope["headers"]:
            total += len(name) + len(value) + 4
            if name == b"content-length":
                length = int(value)
                has_body = length > 0
            elif name == b"transfer-encoding":
                has_body = True
        if total > limits.header_bytes:
            raise HttpRefusal(
                431, "headers_too_large", f"the headers have {total} bytes, the limit is {limits.header_bytes}"
            )
        check_host(scope, self._allowed_hosts)
        if scope["method"] not in HARMLESS:
            check_page(scope)
        if length is not None and length > limits.body_bytes:
            raise self._too_large(f"the body has {length} bytes")
        return _Head(has_body, length)

    def _too_large(self, what: str) -> HttpRefusal:
        return HttpRefusal(
            413,
            "body_too_large",
            f"{what}, the limit is {self._limits.body_bytes}",
            hint="send fewer records in a request, or raise http.body_bytes",
        )

    # Bodies.

    async def _read(self, head: _Head, receive: Receive, reserved: "_Reserved") -> bytes:
        if head.length is not None:
            reserved.grow(head.length)
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise _Gone
            part, more = message.get("body", b""), message.get("more_body", False)
            size += len(part)
            if size > self._limits.body_bytes:
                raise self._too_large("the body is larger")
            reserved.grow(size)
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def reserve(self, size: int) -> None:
        if self._bytes + size > self._limits.bytes_under_way:
            raise HttpRefusal(503, "server_busy", f"requests with {self._bytes} bytes are under way")
        self._bytes += size


class _Reserved:
    """The room that one request has taken among all bodies under way."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.size = 0

    def grow(self, size: int) -> None:
        if size > self.size:
            self._gate.reserve(size - self.size)
            self.size = size


def _receive_again(body: bytes, receive: Receive) -> Receive:
    """The whole body as one message, then whatever else comes."""
    is_first = True

    async def again() -> Message:
        nonlocal is_first
        if is_first:
            is_first = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again


async def _refuse(refusal: HttpRefusal, dialect: Dialect, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer without having read the body: the connection cannot be used again."""
    await dialect.respond_error(scope, send, refusal, headers=((b"connection", b"close"),), finished=False)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while (message := await receive())["type"] == "http.request" and message.get("more_body", False):
                pass
    await send({"type": "http.response.body", "body": b"", "more_body": False})
