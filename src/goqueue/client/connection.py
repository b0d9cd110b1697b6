"""A native connection as the client sees it: requests out, replies matched to them by their number."""

import asyncio
import errno
import os
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from goqueue.client.addresses import no_answer
from goqueue.errors import ERRORS_BY_CODE, BrokerUnreachable, GoQueueError, InvalidRequest
from goqueue.wire.native.frames import MAX_FRAME_BYTES, PROTOCOL_VERSION, FrameFlag, Opcode, frame_head
from goqueue.wire.native.messages import ErrorReply, Hello, Welcome
from goqueue.wire.native.reader import SCRATCH_BYTES, FrameProtocol

__all__ = [
    "ANSWER_WITHIN_S",
    "CLIENT_NAME",
    "CONNECT_WITHIN_S",
    "NOTHING",
    "Answered",
    "ClientConnection",
    "connect",
    "error_from",
    "host_and_port",
]

Buffer = bytes | bytearray | memoryview
Reply = TypeVar("Reply")
Answered = Callable[[GoQueueError | None, memoryview, memoryview], None]
"""Told what became of a request: why it failed, or head and tail of the reply, whose bytes are only good until it
returns."""
NOTHING = memoryview(b"")
"""In place of head and tail of a reply that does not come."""

CONNECT_WITHIN_S = 5.0
ANSWER_WITHIN_S = 30.0
"""A broker that takes longer, beyond the time it was asked to wait, is as good as gone."""
CLOSE_WITHIN_S = 5.0
CLIENT_NAME = "goqueue-python"
HIGHEST_PORT = 65_535
JOINED_BYTES = 4096
"""Up to here to copy a tail behind its head costs less than to hand both to the kernel."""

ERROR = int(FrameFlag.ERROR)
_encode = msgspec.msgpack.Encoder().encode
_decode_error = msgspec.msgpack.Decoder(ErrorReply).decode


class Questions(FrameProtocol):
    """Any number of requests may be under way; a lost connection fails them all.

    `ClientConnection` is what the event loop knows it as.
    """

    def __init__(self, address: str) -> None:
        super().__init__(memoryview(bytearray(SCRATCH_BYTES)), MAX_FRAME_BYTES)
        self._address = address
        self._waiting: dict[int, Answered] = {}
        self._last_correlation = 0
        self._why_lost = "the connection was lost"
        self._can_write = asyncio.Event()
        self._can_write.set()
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_lost = False
        self.max_frame_bytes = MAX_FRAME_BYTES

    @property
    def is_to_itself(self) -> bool:
        """While nothing listens on a port of this machine, connecting to it can meet its own attempt."""
        ends = (self._transport.get_extra_info(name) for name in ("sockname", "peername"))
        return len(set(ends)) == 1

    async def request(
        self,
        opcode: Opcode,
        message: Any,
        reply: type[Reply],
        tail: Buffer = b"",
        *,
        within_s: float = ANSWER_WITHIN_S,
    ) -> tuple[Reply, memoryview]:
        """Ask and wait for the answer; the connection is given up when there is none in time."""
        overdue = asyncio.get_running_loop().call_later(within_s, self.hang_up, f"no answer within {within_s:g} s")
        try:
            await self.when_writable()
            head, rest = await self.ask(opcode, _encode(message), tail)
        finally:
            overdue.cancel()
        answer: Reply = _decoder(cast(Any, reply))(head)
        return answer, rest

    def ask(self, opcode: Opcode, head: bytes, tail: Buffer) -> asyncio.Future[tuple[bytes, memoryview]]:
        """Send at once; the future has head and tail of the reply when that is there."""
        future: asyncio.Future[tuple[bytes, memoryview]] = asyncio.get_running_loop().create_future()

        def answered(error: GoQueueError | None, head: memoryview, tail: memoryview) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result((bytes(head), self._kept(tail)))

        self.send(opcode, head, tail, answered)
        return future

    def send(self, opcode: Opcode, head: bytes, tail: Buffer, answered: Answered) -> None:
        """Send at once; `answered` is called when the reply is there, or will not come."""
        if self.is_lost:
            asyncio.get_running_loop().call_soon(answered, self._unreachable(), NOTHING, NOTHING)
            return
        correlation = self._next_correlation()
        self._waiting[correlation] = answered
        self._write(frame_head(opcode, 0, correlation, head, len(tail)), tail)

    def tell(self, opcode: Opcode, head: bytes, tail: Buffer) -> None:
        """Send without wanting a reply."""
        if self.is_lost:
            raise self._unreachable()
        self._write(frame_head(opcode, FrameFlag.NO_REPLY, self._next_correlation(), head, len(tail)), tail)

    def _next_correlation(self) -> int:
        """Never 0, which the broker uses for what concerns the whole connection."""
        self._last_correlation = self._last_correlation % 0xFFFFFFFF + 1
        return self._last_correlation

    def _write(self, head: bytes, tail: Buffer) -> None:
        if not tail:
            self._transport.write(head)
        elif len(tail) <= JOINED_BYTES:
            self._transport.write(b"".join((head, tail)))
        else:
            self._transport.writelines((head, tail))

    @property
    def is_writable(self) -> bool:
        return self._can_write.is_set()

    async def when_writable(self) -> None:
        """Wait while the broker takes no more bytes."""
        if not self._can_write.is_set():
            await self._can_write.wait()

    def hang_up(self, why: str) -> None:
        """The broker cannot be relied on any more: whoever waits for an answer learns why there is none."""
        self._why_lost = why
        self._transport.abort()

    async def close(self) -> None:
        """Send what is written and let go; a broker that does not take it is not waited for."""
        if not self.is_lost:
            self._transport.close()
            await asyncio.wait([self.lost], timeout=CLOSE_WITHIN_S)
        if not self.is_lost:
            self._transport.abort()
            await asyncio.wait([self.lost])

    # Called by the event loop.

    def connection_lost(self, _: Exception | None) -> None:
        self.is_lost = True
        if not self.lost.done():
            self.lost.set_result(None)
        self._can_write.set()
        waiting, self._waiting = self._waiting, {}
        for answered in waiting.values():
            answered(self._unreachable(), NOTHING, NOTHING)

    def pause_writing(self) -> None:
        self._can_write.clear()

    def resume_writing(self) -> None:
        self._can_write.set()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            self._received(nbytes)
        except (GoQueueError, msgspec.MsgspecError) as error:
            self.hang_up(f"its answer cannot be understood: {error}")

    def _take_frame(self, opcode: int, flags: int, correlation: int, head: memoryview, tail: memoryview) -> bool:
        if correlation == 0:
            self._why_lost = _decode_error(head).message
            return True
        answered = self._waiting.pop(correlation, None)
        if answered is None:
            return True
        try:
            answered(error_from(_decode_error(head)) if flags & ERROR else None, head, tail)
        except msgspec.MsgspecError as error:
            unclear = BrokerUnreachable(f"{self._address}: its answer cannot be understood: {error}")
            answered(unclear, NOTHING, NOTHING)
            raise
        return True

    def _unreachable(self) -> BrokerUnreachable:
        return BrokerUnreachable(f"{self._address}: {self._why_lost}")


class ClientConnection(Questions, asyncio.BufferedProtocol):
    """Made by `connect`."""

    __slots__ = ()


@cache
def _decoder(kind: Any) -> Callable[[bytes], Any]:
    return msgspec.msgpack.Decoder(kind).decode


def error_from(reply: ErrorReply) -> GoQueueError:
    """The exception that the broker raised, as far as this version of the client knows it."""
    kind = ERRORS_BY_CODE.get(reply.code, GoQueueError)
    return kind(reply.message, hint=reply.hint)


def host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > HIGHEST_PORT:
        raise InvalidRequest(f"{address!r} is not an address", hint="write it as HOST:PORT, such as 127.0.0.1:7171")
    return host.strip("[]"), int(port)


async def connect(address: str, within_s: float = CONNECT_WITHIN_S) -> ClientConnection:
    """Connect to HOST:PORT and agree on a version of the protocol."""
    host, port = host_and_port(address)
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(within_s):
            _, connection = await loop.create_connection(lambda: ClientConnection(address), host, port)
            try:
                if connection.is_to_itself:
                    raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
                welcome, _ = await connection.request(Opcode.HELLO, Hello((PROTOCOL_VERSION,), CLIENT_NAME), Welcome)
            except BaseException:
                connection.hang_up("it was not agreed on")
                raise
            connection.max_frame_bytes = welcome.max_frame_bytes
    except OSError as error:
        raise no_answer(address, error, within_s) from None
    return connection
