"""Routes of native requests: the opcode, the type of the request, and the handlers that answer it."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol

from goqueue.engine.workers import WorkerClient
from goqueue.gateways.native.connection import Cancellable
from goqueue.wire.native.frames import Opcode

__all__ = ["Answer", "AnswerSoon", "AtOnce", "Handler", "Route"]

Answer = tuple[Any, list[Any]]
"""Head and tail of a reply."""


class AnswerSoon(Protocol):
    """Called once with an answer, or with what went wrong; returns whether the client is still there."""

    def __call__(self, result: Answer | Exception) -> bool: ...
    @property
    def client(self) -> WorkerClient:
        """The connection on which the request came."""

    def hold(self, work: Cancellable) -> None:
        """Cancel the work if the client goes before it is answered."""


Handler = Callable[[Any], Awaitable[Answer]]
AtOnce = Callable[[Any, AnswerSoon], bool]
"""Whether the request will be answered without a task of its own."""


class Route(NamedTuple):
    """A request is answered in a task by `handle`, unless `at_once` does so; `handle` is None if it always does."""

    opcode: Opcode
    request: type
    handle: Handler | None
    at_once: AtOnce | None = None
