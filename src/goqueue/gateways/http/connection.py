"""One HTTP connection of uvicorn's, with the limits that uvicorn has not: on time and on sizes.

Every moment of a connection has a deadline: waiting for a request, its headers, its body, and the client taking its
answer. A timer is started only for what is not there at once, so a request that comes in one piece costs none.
"""

import asyncio
from enum import Enum
from typing import ClassVar, cast

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from goqueue.engine.traffic import ListenerTraffic
from goqueue.engine.workers import WorkerClient, Workers
from goqueue.gateways.http.limits import HttpLimits
from goqueue.gateways.http.responses import ErrorBody, encode_json

__all__ = ["BUSY", "LimitedConnection", "connections_within", "worker_client"]

CONNECTION = "goqueue.connection"
"""Under this name in the scope."""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def connections_within(limits: HttpLimits, traffic: ListenerTraffic) -> type["LimitedConnection"]:
    """The class that uvicorn is to make its connections from."""
    return type("Connection", (LimitedConnection,), {"limits": limits, "traffic": traffic})


def worker_client(scope: Scope, workers: Workers) -> WorkerClient | None:
    """Who polls with this request; None where there is no connection, as within the broker."""
    connection: LimitedConnection | None = scope.get(CONNECTION)
    if connection is None:
        return None
    if connection.client_of_workers is None:
        host, port = scope["client"] or ("", 0)
        connection.client_of_workers = workers.client("http", f"{host}:{port}")
    return connection.client_of_workers


class Reading(Enum):
    """Which part of a request is being read."""

    NOTHING = "nothing"
    HEADERS = "headers"
    BODY = "body"


class LimitedConnection(HttpToolsProtocol):
    """See the module."""

    limits: ClassVar[HttpLimits]
    traffic: ClassVar[ListenerTraffic]

    url = b""
    _reading = Reading.NOTHING
    _began_now = False
    _header_bytes = 0
    _deadline: asyncio.TimerHandle | None = None
    _stalled_check: asyncio.TimerHandle | None = None
    _output: "_Output"
    client_of_workers: WorkerClient | None = None
    """Once a worker has polled on it."""

    # Life cycle.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.traffic.connections += 1
        self._output = _Output(transport)
        first_byte_s = min(self.timeout_keep_alive, self.limits.headers_within_ms / 1000)
        self.timeout_keep_alive_task = self.loop.call_later(first_byte_s, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        self.traffic.connections -= 1
        if self.client_of_workers is not None:
            self.client_of_workers.close()
        self._stop_deadline()
        self._unset_keepalive_if_required()
        if self._stalled_check is not None:
            self._stalled_check.cancel()
        super().connection_lost(exc)

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    # Requests in.

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._reading is Reading.HEADERS:
            self._check_size(len(data))
        if self._deadline is None and (self._reading is not Reading.NOTHING or self._is_idle):
            self._start_deadline()

    @property
    def _is_idle(self) -> bool:
        """Nothing is under way, and nothing ends it: bytes came that are no request."""
        cycle: RequestResponseCycle | None = self.cycle
        return (cycle is None or cycle.response_complete) and self.timeout_keep_alive_task is None

    def on_message_begin(self) -> None:
        self._reading = Reading.HEADERS
        self._began_now = True
        self._header_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._reading = Reading.BODY
        self._stop_deadline()
        super().on_headers_complete()
        self.cycle.transport = cast(asyncio.Transport, self._output)
        self.scope[CONNECTION] = self  # type: ignore[literal-required]

    def on_message_complete(self) -> None:
        self._reading = Reading.NOTHING
        self._stop_deadline()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._output.flush()
        super().on_response_complete()

    def _check_size(self, more: int) -> None:
        """The gate checks whole heads exactly; here it is about those that never end."""
        if self._began_now:
            # The bytes before the beginning belong to another request, and how many they are is not known.
            self._began_now = False
        else:
            self._header_bytes += more
        limits = self.limits
        if len(self.url) > limits.url_bytes:
            self._refuse(414, "url_too_long", f"the URL has more than {limits.url_bytes} bytes")
        elif self._header_bytes > limits.header_bytes + limits.url_bytes:
            self._refuse(431, "headers_too_large", f"the headers have more than {limits.header_bytes} bytes")

    # Deadlines.

    @property
    def _allowed_ms(self) -> int:
        return self.limits.body_within_ms if self._reading is Reading.BODY else self.limits.headers_within_ms

    def _start_deadline(self) -> None:
        self._deadline = self.loop.call_later(self._allowed_ms / 1000, self._overdue)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _overdue(self) -> None:
        self._deadline = None
        if self.transport.is_closing():
            return
        if self.flow.read_paused:
            # It is not the client that is slow: nobody reads what it sends until the request before is answered.
            self._start_deadline()
            return
        part = "body was" if self._reading is Reading.BODY else "headers were"
        self._refuse(408, "request_timeout", f"the {part} not complete after {self._allowed_ms} ms")

    def pause_writing(self) -> None:
        super().pause_writing()
        self._check_again(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled_check is not None:
            self._stalled_check.cancel()
            self._stalled_check = None

    def _check_again(self, left: int) -> None:
        self._stalled_check = self.loop.call_later(self.limits.response_within_ms / 1000, self._check_stalled, left)

    def _check_stalled(self, left_before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left < left_before:
            self._check_again(left)
        else:
            self.transport.abort()

    # Refusals that do not reach the application.

    def send_400_response(self, msg: str) -> None:
        if len(self.url) > self.limits.url_bytes:
            # Longer than the parser of URLs takes.
            self._refuse(414, "url_too_long", f"the URL has more than {self.limits.url_bytes} bytes")
        else:
            self._refuse(400, "invalid_request", "this is not HTTP/1.1")

    def _refuse(self, status: int, code: str, text: str) -> None:
        """Say why and hang up."""
        self._stop_deadline()
        if self._may_answer:
            self.transport.write(_refusal(status, code, text))
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()

    @property
    def _may_answer(self) -> bool:
        """Whether the refused request is the only one under way: the words would garble the answer to another."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            return True
        return self._reading is Reading.BODY and not cycle.response_started and not self.pipeline


def _refusal(status: int, code: str, text: str) -> bytes:
    body = encode_json(ErrorBody(text, code, status))
    head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n" % len(body)
    retry = b"retry-after: 1\r\n" if status == 503 else b""
    return b"".join((STATUS_LINE[status], head, retry, b"\r\n", body))


BUSY = _refusal(503, "server_busy", "there are too many connections")
"""For connections beyond the limit."""


class _Output:
    """The transport as a request sees it: the head of an answer leaves together with its body, in one write.

    What is written to a connection that is gone is dropped: of several requests sent ahead, only the last is told.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        if not self._head and data.startswith(b"HTTP/1.1 ") and data != CONTINUE:
            self._head = data
        elif not self.is_closing():
            self._transport.writelines((self._head, data) if self._head else (data,))
            self._head = b""

    def flush(self) -> None:
        if self._head and not self.is_closing():
            self._transport.write(self._head)
        self._head = b""

    def close(self) -> None:
        self.flush()
        self._transport.close()
