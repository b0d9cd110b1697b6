"""A stream of publishes: many under way at once, each answered once, and no more than the stream may have."""

import asyncio
import functools
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from goqueue.errors import GoQueueError, InternalError, InvalidRequest
from goqueue.gateways.grpc.answering import Refusal, Refused, detail_of
from goqueue.gateways.grpc.publish.publishing import Publishing
from goqueue.gateways.grpc.service import Call
from goqueue.wire.grpc.v1 import publish_pb2 as wire

__all__ = ["PublishStream"]


class _Asked(NamedTuple):
    correlation_id: int
    size: int


class PublishStream:
    """A request is under way until its answer is sent, so a client that takes no answers is not read any further."""

    def __init__(
        self, publishing: Publishing, call: Call, most: int, report_bug: Callable[[BaseException], None]
    ) -> None:
        self._publishing = publishing
        self._call = call
        self._trace = call.trace()
        self._most = most
        self._report_bug = report_bug
        self._under_way = 0
        self._answers: deque[tuple[_Asked, wire.PublishStreamResponse]] = deque()
        self._answered = asyncio.Event()
        self._sent = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_all = False
        self._is_over = False

    async def run(self) -> None:
        sending = asyncio.create_task(self._send_answers())
        sending.add_done_callback(lambda _: self._sent.set())
        try:
            await self._read(sending)
            await self._finish(sending)
        except GoQueueError:
            # One request could not be read. Those before it are answered.
            await self._finish(sending)
            raise
        except asyncio.CancelledError:
            if self._call.is_stopping:
                await self._finish(sending)
            raise
        finally:
            self._end()
            sending.cancel()
            await asyncio.wait({sending})

    async def _finish(self, sending: asyncio.Task[None]) -> None:
        self._has_all = True
        self._answered.set()
        await sending

    def _end(self) -> None:
        """What is still under way goes on without anybody who waits for it."""
        self._is_over = True
        for task in self._tasks:
            task.cancel()
        self._call.room.give_back(sum(asked.size for asked, _ in self._answers))
        self._answers.clear()

    # Requests.

    async def _read(self, sending: asyncio.Task[None]) -> None:
        async for request, size in self._call.requests():
            self._take(request, _Asked(request.correlation_id, size))
            while self._under_way >= self._most and not sending.done():
                self._sent.clear()
                await self._sent.wait()

    def _take(self, request: wire.PublishStreamRequest, asked: _Asked) -> None:
        self._under_way += 1
        try:
            self._call.room.take(asked.size)
        except Refusal as refusal:
            self._answer(_Asked(asked.correlation_id, 0), refusal)
            return
        answer = functools.partial(self._answer, asked)
        if not request.HasField("publish"):
            answer(InvalidRequest("a request without anything to publish", hint="set its field publish"))
        elif request.publish.HasField("batch"):
            self._publishing.batch(request.publish, answer)
        else:
            task = asyncio.create_task(self._publish_records(request.publish, asked))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _publish_records(self, request: wire.PublishRequest, asked: _Asked) -> None:
        try:
            self._answer(asked, await self._publishing.records(request, self._trace))
        except GoQueueError as refusal:
            self._answer(asked, refusal)
        except asyncio.CancelledError:
            self._call.room.give_back(asked.size)
            raise
        except Exception as bug:
            self._report_bug(bug)
            self._answer(asked, InternalError("the broker failed to answer; its log says why"))

    # Answers.

    def _answer(self, asked: _Asked, result: wire.PublishResponse | Refused) -> None:
        if self._is_over:
            self._call.room.give_back(asked.size)
            return
        if isinstance(result, wire.PublishResponse):
            message = wire.PublishStreamResponse(correlation_id=asked.correlation_id, published=result)
        else:
            message = wire.PublishStreamResponse(correlation_id=asked.correlation_id, error=detail_of(result))
        self._answers.append((asked, message))
        self._answered.set()

    async def _send_answers(self) -> None:
        while self._under_way or not self._has_all:
            while self._answers:
                asked, message = self._answers[0]
                await self._call.send(message)
                self._answers.popleft()
                self._call.room.give_back(asked.size)
                self._under_way -= 1
                self._sent.set()
            if self._under_way or not self._has_all:
                self._answered.clear()
                await self._answered.wait()
