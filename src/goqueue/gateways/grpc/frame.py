"""Around each call: checks that there is room, reads the request, counts, and turns errors into statuses."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from goqueue.engine.traffic import ListenerTraffic
from goqueue.errors import GoQueueError, InternalError
from goqueue.gateways.grpc.answering import LONGEST_MESSAGE, Refusal, Refused, outcome_of, status_of, trailer_of
from goqueue.gateways.grpc.limits import GrpcSettings
from goqueue.gateways.grpc.room import Room, busy, stopping
from goqueue.gateways.grpc.service import Call, ClientGone, Handler, Service, parse

__all__ = ["Frame"]

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


class Frame:
    """All calls of a listener go through it."""

    def __init__(self, limits: GrpcSettings, traffic: ListenerTraffic, report_bug: Callable[[BaseException], None]):
        self._limits = limits
        self._traffic = traffic
        self._report_bug = report_bug
        self._calls = 0
        self._room = Room(limits.bytes_under_way)
        self._peers: dict[str, int] = {}
        self._waiting: dict[asyncio.Task[Any], Call] = {}
        self._is_stopping = False
        self._all_ended = asyncio.Event()

    def handlers_of(self, service: Service) -> grpc.GenericRpcHandler:
        """What the server is given for a service."""
        methods = {
            name: self._rpc(service.descriptor.methods_by_name[name], handler, waits=name in service.waiting)
            for name, handler in service.methods.items()
        }
        return grpc.method_handlers_generic_handler(service.descriptor.full_name, methods)

    # The end.

    async def stop(self, within_s: float) -> None:
        """End what waits and what streams, take no more, and let the rest finish."""
        self._is_stopping = True
        for task, call in tuple(self._waiting.items()):
            call.is_stopping = True
            task.cancel()
        if self._calls:
            try:
                async with asyncio.timeout(within_s):
                    await self._all_ended.wait()
            except TimeoutError:
                pass

    # One call.

    def _rpc(self, method: MethodDescriptor, handler: Handler, *, waits: bool) -> "grpc.RpcMethodHandler[Any, Any]":
        kind = _CAPITAL.sub("_", method.name).lower()
        request_type = GetMessageClass(method.input_type)

        async def unary(payload: bytes, context: Any) -> bytes:
            call = Call(context, method, self._room)

            async def work() -> bytes:
                self._room.take(len(payload))
                try:
                    response = await handler(parse(request_type, payload), call)
                finally:
                    self._room.give_back(len(payload))
                answer: bytes = response.SerializeToString()
                return answer

            return await self._run(kind, context, call, work, waits=waits)  # type: ignore[no-any-return]

        async def answers_stream(payload: bytes, context: Any) -> None:
            call = Call(context, method, self._room)

            async def work() -> None:
                await handler(parse(request_type, payload), call)

            await self._run(kind, context, call, work, waits=True)

        async def both_stream(_: object, context: Any) -> None:
            call = Call(context, method, self._room)
            await self._run(kind, context, call, lambda: handler(call), waits=True)

        if method.client_streaming:
            return grpc.stream_stream_rpc_method_handler(both_stream)
        if method.server_streaming:
            return grpc.unary_stream_rpc_method_handler(answers_stream)
        return grpc.unary_unary_rpc_method_handler(unary)

    async def _run(
        self, kind: str, context: Any, call: Call, work: Callable[[], Awaitable[Any]], *, waits: bool
    ) -> Any:
        refused: Refused
        traffic = self._traffic
        began = traffic.now_ns()
        peer = context.peer()
        self._enter(peer)
        try:
            self._check_room()
            answer = await (self._ending_early(work, call) if waits else work())
        except (GoQueueError, Refusal) as error:
            refused = error
        except ClientGone:
            raise asyncio.CancelledError from None
        except Exception as bug:
            self._report_bug(bug)
            refused = InternalError("the broker failed to answer; its log says why")
        else:
            traffic.count(kind, outcome_of(None))
            return answer
        finally:
            self._leave(peer)
            if not waits:
                traffic.took(kind, traffic.now_ns() - began)
        traffic.count(kind, outcome_of(refused))
        await context.abort(status_of(refused), refused.message[:LONGEST_MESSAGE], trailer_of(refused))

    def _check_room(self) -> None:
        limits = self._limits
        if self._is_stopping:
            raise stopping()
        if self._calls > limits.calls_under_way:
            raise busy(f"{limits.calls_under_way} calls are under way")

    async def _ending_early(self, work: Callable[[], Awaitable[Any]], call: Call) -> Any:
        """Until the broker stops."""
        task = asyncio.current_task()
        assert task is not None
        self._waiting[task] = call
        try:
            return await work()
        except asyncio.CancelledError:
            if not call.is_stopping:
                raise
            task.uncancel()
            raise stopping() from None
        finally:
            del self._waiting[task]

    def _enter(self, peer: str) -> None:
        self._calls += 1
        self._peers[peer] = self._peers.get(peer, 0) + 1
        self._traffic.connections = len(self._peers)

    def _leave(self, peer: str) -> None:
        self._calls -= 1
        self._peers[peer] -= 1
        if not self._peers[peer]:
            del self._peers[peer]
        self._traffic.connections = len(self._peers)
        if not self._calls and self._is_stopping:
            self._all_ended.set()
