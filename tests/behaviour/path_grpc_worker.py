"""A worker over gRPC."""

from typing import Any

from goqueue.model.log import LogId
from goqueue.wire.grpc.v1 import queue_pb2
from tests.behaviour.grpc_messages import check_all, lent_of, offsets_of, refusals, settled
from tests.behaviour.path import Lent

__all__ = ["GrpcWorking"]


class GrpcWorking:
    """A worker that takes records as bytes, and settles them by their leases."""

    def __init__(self, queue: Any, request: queue_pb2.PollRequest) -> None:
        self._queue = queue
        self._request = request

    async def take(self, limit: int = 100, *, wait_ms: int = 0) -> list[Lent]:
        return (await self.take_page(limit, wait_ms=wait_ms))[0]

    async def take_page(self, limit: int = 100, *, wait_ms: int = 0) -> tuple[list[Lent], dict[LogId, int]]:
        """Records, and what may be committed when they are done."""
        request = queue_pb2.PollRequest()
        request.CopyFrom(self._request)
        request.limit, request.wait_ms = limit, wait_ms
        with refusals():
            found = await self._queue.Poll(request)
        lent = [lent for lease in found.leases for lent in lent_of(self._request.group, lease)]
        if not self._request.key_order:
            # Bytes come in the order of the log; the most urgent are worked on first.
            lent.sort(key=lambda one: one.record.priority)
        return lent, offsets_of(found.next_offsets)

    async def ack(self, *lent: Lent) -> None:
        with refusals():
            check_all(await self._queue.Ack(queue_pb2.AckRequest(records=settled(lent))))

    async def nack(self, *lent: Lent, reason: str = "", delay_ms: int | None = None) -> None:
        request = queue_pb2.NackRequest(records=settled(lent), reason=reason, delay_ms=delay_ms)
        with refusals():
            check_all(await self._queue.Nack(request))

    async def reject(self, *lent: Lent, reason: str = "") -> None:
        with refusals():
            check_all(await self._queue.Reject(queue_pb2.RejectRequest(records=settled(lent), reason=reason)))

    async def extend(self, *lent: Lent, visibility_ms: int) -> None:
        request = queue_pb2.ExtendRequest(records=settled(lent), visibility_ms=visibility_ms)
        with refusals():
            check_all(await self._queue.Extend(request))

    async def release(self, *lent: Lent) -> None:
        with refusals():
            check_all(await self._queue.Release(queue_pb2.ReleaseRequest(records=settled(lent))))
