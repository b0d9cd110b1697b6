"""Reading as a member of a group for as long as a stream is open: records, and what happens to the membership."""

import asyncio
from typing import Any

from goqueue.core.groups.state.members import DEFAULT_SESSION_MS
from goqueue.engine.broker import Broker
from goqueue.engine.fetch import Fetched, FetchFrom, fetch
from goqueue.engine.groups import JoinRequest
from goqueue.errors import InvalidRequest, OffsetOutOfRange, UnknownPartition, UnknownTopic
from goqueue.gateways.grpc.choices import assignor_of, protocol_of, start_of
from goqueue.gateways.grpc.consume.membership import Membership, Terms
from goqueue.gateways.grpc.consume.outgoing import consumed_batch
from goqueue.gateways.grpc.consume.reading import FETCH_BYTES, Wanted, heartbeat_s, parts_of, wanted_of
from goqueue.gateways.grpc.held import HeldMembers
from goqueue.gateways.grpc.service import Call
from goqueue.model.log import LogId
from goqueue.wire.grpc.v1 import consume_pb2 as wire

__all__ = ["Subscriber"]

LONGEST_REVOCATION_MS = 60_000
USUAL_REVOCATION_MS = 30_000


class Subscriber:
    """One stream. Events of the group go before records; nothing is read while the client takes nothing."""

    def __init__(self, broker: Broker, held: HeldMembers, request: wire.SubscribeRequest, call: Call) -> None:
        self._broker = broker
        self._call = call
        self._wanted = wanted_of(request)
        self._pause_s = heartbeat_s(request)
        self._membership = Membership(broker, held, _terms(request, self._wanted))
        self._sent_at = 0.0
        self._gone: set[LogId] = set()
        """Partitions that are not there any more, until the group knows of it too."""

    async def run(self) -> None:
        membership = self._membership
        try:
            await membership.join()
            staying = asyncio.create_task(membership.stay())
            try:
                while True:
                    await self._step(staying)
            finally:
                staying.cancel()
                await asyncio.wait({staying})
        finally:
            await membership.leave()

    async def _step(self, staying: asyncio.Task[None]) -> None:
        membership, loop = self._membership, asyncio.get_running_loop()
        membership.changed.clear()
        while membership.events:
            self._gone.clear()
            await self._send(membership.events.pop(0))
        parts = parts_of({log: membership.positions[log] for log in membership.readable() - self._gone})
        left_s = max(0.001, self._sent_at + self._pause_s - loop.time())
        for part, answer in zip(parts, await self._fetch(parts, left_s, staying) or (), strict=False):
            await self._deliver(part, answer)
        if loop.time() - self._sent_at >= self._pause_s:
            await self._send(membership.heartbeat())

    async def _fetch(
        self, parts: list[FetchFrom], within_s: float, staying: asyncio.Task[None]
    ) -> list[Fetched] | None:
        """None when time is up, or the member is to read something else than it was."""
        wanted, wait_ms = self._wanted, max(1, round(1000 * within_s))
        changed = asyncio.ensure_future(self._membership.changed.wait())
        waits: set[asyncio.Future[Any]] = {changed, staying}
        fetching = None
        if parts:
            reading = fetch(
                self._broker, parts, max_bytes=wanted.max_bytes, wait_ms=wait_ms, isolation=wanted.isolation
            )
            fetching = asyncio.ensure_future(reading)
            waits.add(fetching)
        try:
            await asyncio.wait(waits, timeout=within_s + 1, return_when=asyncio.FIRST_COMPLETED)
            if staying.done():
                staying.result()
            return fetching.result() if fetching is not None and fetching.done() else None
        finally:
            changed.cancel()
            if fetching is not None and not fetching.cancel() and not fetching.cancelled():
                fetching.exception()

    async def _deliver(self, part: FetchFrom, answer: Fetched) -> None:
        membership, log = self._membership, LogId(part.topic, part.partition)
        # It may have been asked back while the read, or the client, took its time.
        if log not in membership.readable() or membership.positions[log] != part.offset:
            return
        if isinstance(answer.refusal, OffsetOutOfRange):
            # Records that were to come next are gone by retention: go on where there are some.
            membership.positions[log] = await membership.begin(log)
        elif isinstance(answer.refusal, UnknownTopic | UnknownPartition):
            self._gone.add(log)
        elif answer.refusal is not None:
            raise answer.refusal
        else:
            batch = consumed_batch(part, answer, typed=self._wanted.typed, most_bytes=FETCH_BYTES)
            if batch.batch.records or batch.records:
                await self._send(wire.SubscribeResponse(batch=batch))
            if membership.positions.get(log) == part.offset:
                membership.positions[log] = batch.next_offset

    async def _send(self, response: wire.SubscribeResponse) -> None:
        await self._call.send(response)
        self._sent_at = asyncio.get_running_loop().time()


def _terms(request: wire.SubscribeRequest, wanted: Wanted) -> Terms:
    asked = request.revocation_ms if request.HasField("revocation_ms") else USUAL_REVOCATION_MS
    if not 0 <= asked <= LONGEST_REVOCATION_MS:
        raise InvalidRequest(f"revocation_ms = {asked}", hint=f"use 0 to {LONGEST_REVOCATION_MS}, or leave it out")
    wish = JoinRequest(
        request.client_id,
        tuple(request.topics),
        request.pattern if request.HasField("pattern") else None,
        protocol_of(request.protocol),
        assignor_of(request.assignor),
        request.session_ms if request.HasField("session_ms") else DEFAULT_SESSION_MS,
        request.instance_id if request.HasField("instance_id") else None,
    )
    return Terms(request.group, wish, start_of(request.start), wanted.isolation, request.auto_commit, asked / 1000)
