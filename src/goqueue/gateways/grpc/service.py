"""What a service of this listener is made of: methods that take messages, and what they know of their call."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import unquote

import grpc.aio
import msgspec
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from goqueue.errors import InvalidRequest
from goqueue.gateways.grpc.room import Room
from goqueue.model.trace import TraceHeaders, trace_headers

__all__ = ["Call", "ClientGone", "Handler", "Service", "parse"]

Handler = Callable[..., Awaitable[Any]]
"""(request, call) → response; of methods that stream answers (request, call), and of those that also take a stream
(call): these send through the call, and the stream ends when they return."""


class ClientGone(Exception):
    """Nobody is left to be answered."""


class Service(msgspec.Struct, frozen=True):
    """Methods by name, as the descriptor has them; `waiting` are those that may wait for something to happen."""

    descriptor: ServiceDescriptor
    methods: Mapping[str, Handler]
    waiting: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        assert set(self.methods) == set(self.descriptor.methods_by_name), self.descriptor.full_name
        assert self.waiting <= set(self.methods)


class Call:
    """One call under way, as its handler sees it."""

    __slots__ = ("_context", "_method", "is_stopping", "room")

    def __init__(self, context: Any, method: MethodDescriptor, room: Room) -> None:
        self._context = context
        self._method = method
        self.room = room
        """For the requests of a stream; that of a single one is taken already."""
        self.is_stopping = False
        """Whether it is the broker that ends the call, as it stops; a handler learns of it by being cancelled."""

    @property
    def address(self) -> str:
        """Where the client is, without the kind of address that gRPC puts in front."""
        kind, _, rest = unquote(self._context.peer()).partition(":")
        return rest if kind in ("ipv4", "ipv6") else f"{kind}:{rest}"

    async def send(self, response: Message) -> None:
        """Returns when the client, or what lies between, has room for more."""
        try:
            await self._context.write(response.SerializeToString())
        except grpc.aio.BaseError as failure:
            raise ClientGone from failure

    async def requests(self) -> AsyncIterator[tuple[Any, int]]:
        """Those of a stream with their sizes; one that cannot be read ends the call."""
        kind = GetMessageClass(self._method.input_type)
        while (payload := await self._context.read()) is not grpc.aio.EOF:
            yield parse(kind, payload), len(payload)

    def trace(self) -> TraceHeaders:
        """The trace that the call belongs to, as headers for its records."""
        return trace_headers((name, _bytes(value)) for name, value in self._context.invocation_metadata() or ())


def parse(kind: type[Message], payload: bytes) -> Any:
    try:
        return kind.FromString(payload)
    except DecodeError:
        raise InvalidRequest(
            f"the bytes are no {kind.DESCRIPTOR.name}", hint="make the client from the protos of this broker"
        ) from None


def _bytes(value: str | bytes) -> bytes:
    return value.encode("latin-1", "replace") if isinstance(value, str) else value
