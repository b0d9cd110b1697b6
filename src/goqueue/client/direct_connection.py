"""A native connection without an event loop: one request at a time, in the thread that asks."""

import errno
import os
import socket
import struct
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from goqueue.client.addresses import no_answer
from goqueue.client.connection import ANSWER_WITHIN_S, CLIENT_NAME, CONNECT_WITHIN_S, error_from, host_and_port
from goqueue.errors import BrokerUnreachable, GoQueueError
from goqueue.wire.native.frames import (
    FRAME_HEAD,
    LENGTH_SIZE,
    MAX_FRAME_BYTES,
    PROTOCOL_VERSION,
    FrameFlag,
    Opcode,
    encode_frame,
)
from goqueue.wire.native.messages import ErrorReply, Hello, Welcome

__all__ = ["DirectConnection"]

Reply = TypeVar("Reply")

ERROR = int(FrameFlag.ERROR)
RECEIVE_BYTES = 64 * 1024
SHORTEST_S = 0.001
"""As long as the kernel can wait at least: 0 would mean for ever."""
_encode = msgspec.msgpack.Encoder().encode
_decode_error = msgspec.msgpack.Decoder(ErrorReply).decode


class DirectConnection:
    """Lost after a question to which there was no answer, or none that is understood."""

    def __init__(self, address: str, within_s: float = CONNECT_WITHIN_S) -> None:
        """Connect, and agree on a version of the protocol."""
        self.is_lost = False
        self._address = address
        self._correlation = 0
        self._received = bytearray(RECEIVE_BYTES)
        try:
            self._socket = socket.create_connection(host_and_port(address), max(within_s, SHORTEST_S))
        except OSError as error:
            raise no_answer(address, error, within_s) from None
        try:
            self._set_up()
            self.max_frame_bytes = MAX_FRAME_BYTES
            self._answer_within(max(within_s, SHORTEST_S))
            welcome = self.ask(Opcode.HELLO, Hello((PROTOCOL_VERSION,), CLIENT_NAME), Welcome)
            self.max_frame_bytes = welcome.max_frame_bytes
            self._answer_within(ANSWER_WITHIN_S)
        except BaseException:
            self.close()
            raise

    def _set_up(self) -> None:
        # While nothing listens on a port of this machine, connecting to it can meet its own attempt.
        if self._socket.getsockname() == self._socket.getpeername():
            raise BrokerUnreachable(f"no broker answers at {self._address}: {os.strerror(errno.ECONNREFUSED)}")
        self._socket.settimeout(None)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _answer_within(self, seconds: float) -> None:
        """By the kernel: a socket with a timeout of Python's costs a call more for each that it makes."""
        self._within_s = seconds
        limit = struct.pack("ll", int(seconds), int(seconds % 1 * 1_000_000))
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._socket.setsockopt(socket.SOL_SOCKET, option, limit)

    def ask(self, opcode: Opcode, message: Any, reply: type[Reply]) -> Reply:
        return self.request(opcode, _encode(message), b"", msgspec.msgpack.Decoder(reply).decode)

    def request(self, opcode: Opcode, head: bytes, tail: bytes, decode: Callable[[memoryview], Reply]) -> Reply:
        """What the head of the answer says; raises the error that the broker answers, or BrokerUnreachable."""
        self._correlation = correlation = self._correlation % 0xFFFFFFFF + 1
        # Also when whoever asks is interrupted: the answer to this would be taken for that to the next question.
        self.is_lost = True
        try:
            self._socket.sendall(encode_frame(opcode, 0, correlation, head, tail))
            flags, answered, answer = self._receive()
            if answered == 0:
                raise self._unreachable(_decode_error(answer).message)
            if answered != correlation:
                raise self._unreachable("its answers do not fit the questions")
            said = error_from(_decode_error(answer)) if flags & ERROR else decode(answer)
        except BlockingIOError:
            raise self._unreachable(f"no answer within {self._within_s:.3g} s") from None
        except OSError as error:
            raise self._unreachable(error.strerror or str(error)) from None
        except msgspec.MsgspecError as error:
            raise self._unreachable(f"its answer cannot be understood: {error}") from None
        self.is_lost = False
        if isinstance(said, GoQueueError):
            raise said
        return said

    def _receive(self) -> tuple[int, int, memoryview]:
        """Flags, correlation id and head of the next frame."""
        filled, size = 0, FRAME_HEAD.size
        while filled < size:
            with memoryview(self._received) as room:
                count = self._socket.recv_into(room[filled:])
            if not count:
                raise self._unreachable("the connection was lost")
            filled += count
            if filled >= LENGTH_SIZE:
                size = LENGTH_SIZE + int.from_bytes(self._received[:LENGTH_SIZE], "big")
                if not FRAME_HEAD.size <= size <= MAX_FRAME_BYTES:
                    raise self._unreachable(f"its answer is a frame of {size} bytes")
                if size > len(self._received):
                    self._received += bytes(size - len(self._received))
        _, _, flags, correlation, head_length = FRAME_HEAD.unpack_from(self._received)
        return flags, correlation, memoryview(self._received)[FRAME_HEAD.size : FRAME_HEAD.size + head_length]

    def _unreachable(self, why: str) -> BrokerUnreachable:
        return BrokerUnreachable(f"{self._address}: {why}")

    def close(self) -> None:
        self._socket.close()
