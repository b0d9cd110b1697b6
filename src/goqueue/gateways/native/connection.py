"""One native connection: takes frames in, sends replies out, and keeps both directions within bounds.

Requests are answered in the order in which they finish. Reading stops while too many requests are under way or
the client does not take its replies, so a connection's memory is bounded whatever the client does.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

import msgspec

from goqueue.engine.workers import WorkerClient
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.gateways.native.limits import ConnectionLimits
from goqueue.wire.native.frames import FrameFlag, Opcode, frame_head
from goqueue.wire.native.messages import ErrorReply
from goqueue.wire.native.reader import FrameProtocol

__all__ = ["Cancellable", "Connection", "ConnectionHome", "Dispatch", "Exchange", "encode_error"]

Buffer = bytes | bytearray | memoryview
HELLO_BYTES = 64 * 1024
"""Of the first frame at most, as it comes from anyone who can connect."""


class Dispatch(Protocol):
    """Carries out a request; replies through the connection, now or later."""

    def take(
        self, connection: "Exchange", opcode: int, flags: int, correlation: int, head: memoryview, tail: memoryview
    ) -> None: ...
    def end_waits(self) -> None:
        """Answer now what only waits for something to happen."""


class Cancellable(Protocol):
    def cancel(self) -> object: ...


class ConnectionHome(Protocol):
    """Who keeps the connections."""

    def opened(self, connection: "Exchange") -> None: ...
    def idle(self, connection: "Exchange") -> None: ...
    def closed(self, connection: "Exchange") -> None: ...


class Exchange(FrameProtocol):
    """Frames in, replies out. `Connection` is what the event loop knows it as."""

    def __init__(self, dispatch: Dispatch, limits: ConnectionLimits, home: ConnectionHome, scratch: memoryview) -> None:
        super().__init__(scratch, min(HELLO_BYTES, limits.frame_bytes))
        self._dispatch = dispatch
        self._limits = limits
        self._most_requests = limits.requests_under_way
        self._most_bytes = limits.bytes_under_way
        self._home = home
        self._under_way: dict[int, int] = {}
        self._bytes_under_way = 0
        self._writing_paused = False
        self._reading_paused = False
        self._is_draining = False
        self._now = asyncio.get_running_loop().time
        self._is_silent = False
        """Nothing was read since somebody last looked."""
        self._last_heard_at = 0.0
        self._partial_since: float | None = None
        self._unread = 0
        self._unread_since = 0.0
        self.tasks: set[Cancellable] = set()
        """Requests under way that are cancelled when the client goes."""
        self.has_greeted = False
        self.is_closing = False
        self.client: WorkerClient | None = None
        """Once something was asked on it that the broker remembers of whom."""

    # Life cycle.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._last_heard_at = self._now()
        self._home.opened(self)

    def eof_received(self) -> None:
        """The client has gone, which is known a pass of the loop before the connection is lost.

        Records that were being leased to it in that pass go back, as an answer would not reach it.
        """
        self._cancel_requests()

    def connection_lost(self, _: Exception | None) -> None:
        self._cancel_requests()
        self._under_way.clear()
        if self.client is not None:
            self.client.close()
        self._home.closed(self)

    def _cancel_requests(self) -> None:
        self.is_closing = True
        for request in tuple(self.tasks):
            request.cancel()

    def close(self) -> None:
        self.is_closing = True
        self._transport.close()

    def abort(self) -> None:
        """Without waiting until the client has taken what was written."""
        self.is_closing = True
        self._transport.abort()

    def drain(self) -> None:
        """Take no more requests."""
        self._is_draining = True
        if not self._reading_paused and not self.is_closing:
            self._reading_paused = True
            self._transport.pause_reading()

    @property
    def requests_under_way(self) -> int:
        return len(self._under_way)

    @property
    def address(self) -> str:
        """Where the client is."""
        peer = self._transport.get_extra_info("peername")
        return f"{peer[0]}:{peer[1]}" if peer else ""

    @property
    def frame_limit(self) -> int:
        return self._limits.frame_bytes

    def is_overdue(self, now: float) -> bool:
        """Whether the client has taken too long with a frame or with its replies, or has been silent for too long."""
        within_s = self._limits.frame_within_ms / 1000
        if self._writing_paused or self.is_closing:
            return self._leaves_replies(now, within_s)
        if self._partial_since is not None and not self._reading_paused:
            return now - self._partial_since > within_s
        if not self._is_silent:
            self._is_silent, self._last_heard_at = True, now
        silent_for = now - self._last_heard_at
        return not self._under_way and silent_for > (self._limits.idle_ms / 1000 if self.has_greeted else within_s)

    def _leaves_replies(self, now: float, within_s: float) -> bool:
        unread = self._transport.get_write_buffer_size()
        if unread < self._unread:
            self._unread_since = now
        self._unread = unread
        return now - self._unread_since > within_s

    # Frames in.

    def buffer_updated(self, nbytes: int) -> None:
        self._is_silent = False
        try:
            self._received(nbytes)
        except InvalidRequest as error:
            self._hang_up(error)
        if self._partial is not None:
            self._note_partial()

    def _read_on(self) -> None:
        """Take the frames that arrived before a pause."""
        self._is_silent = False
        try:
            self._take_held()
        except InvalidRequest as error:
            self._hang_up(error)
        if self._partial is not None:
            self._note_partial()

    def _note_partial(self) -> None:
        if not self._has_partial_frame:
            self._partial_since = None
        elif self._partial_since is None:
            self._partial_since = self._now()

    def _hang_up(self, why: InvalidRequest) -> None:
        """What the client sends cannot be trusted from here on."""
        self._note_unread()
        self._transport.write(frame_head(0, FrameFlag.ERROR, 0, encode_error(why), 0))
        self.close()

    def _take_frame(self, opcode: int, flags: int, correlation: int, head: memoryview, tail: memoryview) -> bool:
        self._partial_since = None
        under_way = self._under_way
        if correlation in under_way:
            raise InvalidRequest(f"correlation id {correlation} is still in use")
        if not self.has_greeted:
            if opcode != Opcode.HELLO:
                raise InvalidRequest("the first frame is not HELLO", hint="use a native client")
            self._max_frame_bytes = self._limits.frame_bytes
        under_way[correlation] = size = len(head) + len(tail)
        self._bytes_under_way += size
        self._dispatch.take(self, opcode, flags, correlation, head, tail)
        if len(under_way) >= self._most_requests or self._bytes_under_way >= self._most_bytes:
            self._balance()
        return not self._reading_paused and not self.is_closing

    def weigh(self, correlation: int, size: int) -> None:
        """A request takes so much more room until it is answered."""
        self._under_way[correlation] += size
        self._bytes_under_way += size

    # Replies out.

    def reply(self, opcode: int, correlation: int, head: bytes, tail: Sequence[Buffer] = ()) -> None:
        """Answer the request with this opcode and correlation id."""
        if not self.is_closing:
            if tail:
                self._transport.writelines([frame_head(opcode, 0, correlation, head, sum(map(len, tail))), *tail])
            else:
                self._transport.write(frame_head(opcode, 0, correlation, head, 0))
        self.finish(correlation)

    def refuse(self, opcode: int, correlation: int, error: GoQueueError) -> None:
        if not self.is_closing:
            self._transport.write(frame_head(opcode, FrameFlag.ERROR, correlation, encode_error(error), 0))
        self.finish(correlation)

    def finish(self, correlation: int) -> None:
        """The request is done with, answered or not."""
        self._bytes_under_way -= self._under_way.pop(correlation, 0)
        if self._reading_paused:
            # So it is also while the home waits until nothing is under way any more.
            if not self._under_way:
                self._home.idle(self)
            self._balance()

    # Keeping within bounds.

    def pause_writing(self) -> None:
        self._writing_paused = True
        self._note_unread()
        self._balance()

    def resume_writing(self) -> None:
        self._writing_paused = False
        self._balance()

    def _note_unread(self) -> None:
        self._unread = self._transport.get_write_buffer_size()
        self._unread_since = self._now()

    def _balance(self) -> None:
        busy = (
            self._is_draining
            or self._writing_paused
            or len(self._under_way) >= self._most_requests
            or self._bytes_under_way >= self._most_bytes
        )
        if busy == self._reading_paused or self.is_closing:
            return
        self._reading_paused = busy
        if busy:
            self._transport.pause_reading()
        else:
            asyncio.get_running_loop().call_soon(self._resume)

    def _resume(self) -> None:
        """Take the frames that arrived before the pause; read on when they have not filled the limits again."""
        if not self._reading_paused and not self.is_closing:
            self._read_on()
        if not self._reading_paused and not self.is_closing:
            self._transport.resume_reading()


class Connection(Exchange, asyncio.BufferedProtocol):
    """Made by the listener for each client."""

    __slots__ = ()


def encode_error(error: GoQueueError) -> bytes:
    return msgspec.msgpack.encode(ErrorReply(error.code, error.message, error.hint))
