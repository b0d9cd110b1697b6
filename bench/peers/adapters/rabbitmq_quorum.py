"""RabbitMQ's quorum queues with pika: publisher confirms, and acknowledgements of many deliveries at once."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pika
from pika.adapters.asyncio_connection import AsyncioConnection
from pika.channel import Channel

from bench.peers.port import Subject

__all__ = ["RabbitMqQuorum"]

PERSISTENT = pika.BasicProperties(delivery_mode=2)
PREFETCH = 500


class AmqpChannel:
    """A connection with one channel; its callbacks become awaitable here."""

    def __init__(self, connection: AsyncioConnection, channel: Channel) -> None:
        self._connection = connection
        self.channel = channel

    @classmethod
    async def open(cls, address: str) -> "AmqpChannel":
        host, _, port = address.rpartition(":")
        loop = asyncio.get_running_loop()
        opened: asyncio.Future[AsyncioConnection] = loop.create_future()
        failed = lambda _, error: opened.done() or opened.set_exception(error)  # noqa: E731
        AsyncioConnection(
            # Without heartbeats: a server is frozen while others are measured.
            pika.ConnectionParameters(host, int(port), heartbeat=0, blocked_connection_timeout=None),
            on_open_callback=opened.set_result,
            on_open_error_callback=failed,
            on_close_callback=failed,
        )
        connection = await opened
        channel: asyncio.Future[Channel] = loop.create_future()
        connection.channel(on_open_callback=channel.set_result)
        return cls(connection, await channel)

    async def ask(self, method: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        """Call a method of the channel, and wait for the broker's answer; a channel that closes is an error."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.channel.add_on_close_callback(lambda _, error: answer.done() or answer.set_exception(error))
        method(*arguments, callback=lambda frame: answer.done() or answer.set_result(frame), **named)
        await answer
        with contextlib.suppress(asyncio.CancelledError):
            answer.exception()

    async def close(self) -> None:
        closed: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._connection.add_on_close_callback(lambda *_: closed.done() or closed.set_result(None))
        self._connection.close()
        await closed


class ConfirmedPublisher:
    """Publishes a batch and waits until the highest number of it, and all before it, is confirmed."""

    def __init__(self, channel: AmqpChannel, exchange: str, routing_key: str) -> None:
        self._channel = channel
        self._exchange = exchange
        self._routing_key = routing_key
        self._unconfirmed: set[int] = set()
        self._published = 0
        self._all_confirmed = asyncio.Event()

    async def start(self) -> None:
        confirm = self._channel.channel.confirm_delivery
        await self._channel.ask(partial(confirm, self._on_confirmation))

    def _on_confirmation(self, frame: Any) -> None:
        said = frame.method
        if isinstance(said, pika.spec.Basic.Nack):
            raise RuntimeError("RabbitMQ refused a record")
        if said.multiple:
            self._unconfirmed = {tag for tag in self._unconfirmed if tag > said.delivery_tag}
        else:
            self._unconfirmed.discard(said.delivery_tag)
        if not self._unconfirmed:
            self._all_confirmed.set()

    async def publish(self, values: Sequence[bytes]) -> None:
        publish = self._channel.channel.basic_publish
        self._all_confirmed.clear()
        self._unconfirmed = set(range(self._published + 1, self._published + len(values) + 1))
        self._published += len(values)
        for value in values:
            publish(self._exchange, self._routing_key, value, PERSISTENT)
        await self._all_confirmed.wait()

    async def close(self) -> None:
        await self._channel.close()


class ConsumingReader:
    """Deliveries are pushed, up to the prefetch; one acknowledgement stands for all that came before it."""

    def __init__(self, channel: AmqpChannel, queue: str) -> None:
        self._channel = channel
        self._arrived: deque[int] = deque()
        self._has_some = asyncio.Event()
        self._last_taken = 0
        self._queue = queue
        self._is_consuming = False

    async def _start(self) -> None:
        """Not before the first record is wanted: what is pushed earlier would arrive before the clock runs."""
        self._is_consuming = True
        channel = self._channel.channel
        await self._channel.ask(channel.basic_qos, prefetch_count=PREFETCH)
        await self._channel.ask(partial(channel.basic_consume, self._queue, self._on_delivery))

    def _on_delivery(self, _: Channel, method: Any, __: Any, value: bytes) -> None:
        self._arrived.append(method.delivery_tag)
        self._has_some.set()

    async def next(self, limit: int, wait_s: float) -> int:
        if not self._is_consuming:
            await self._start()
        if self._last_taken:
            self._channel.channel.basic_ack(self._last_taken, multiple=True)
            self._last_taken = 0
        if not self._arrived:
            self._has_some.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._has_some.wait(), wait_s)
        taken = [self._arrived.popleft() for _ in range(min(limit, len(self._arrived)))]
        if taken:
            self._last_taken = taken[-1]
        # Lets the acknowledgement leave, and more deliveries arrive.
        await asyncio.sleep(0)
        return len(taken)

    async def close(self) -> None:
        await self._channel.close()


class RabbitMqQuorum:
    """A queue for one group; an exchange that copies to a queue for each where there are several."""

    def __init__(self, address: str, *, is_alone: bool) -> None:
        self._address = address

    async def create(self, subject: Subject) -> None:
        opened = await AmqpChannel.open(self._address)
        channel = opened.channel
        quorum = {"x-queue-type": "quorum"}
        for queue in _queues(subject):
            await opened.ask(channel.queue_declare, queue, durable=True, arguments=quorum)
        if len(subject.groups) > 1:
            await opened.ask(channel.exchange_declare, subject.name, exchange_type="fanout", durable=True)
            for queue in _queues(subject):
                await opened.ask(channel.queue_bind, queue, subject.name)
        await opened.close()

    async def drop(self, subject: Subject) -> None:
        opened = await AmqpChannel.open(self._address)
        for queue in _queues(subject):
            await opened.ask(opened.channel.queue_delete, queue)
        if len(subject.groups) > 1:
            await opened.ask(opened.channel.exchange_delete, subject.name)
        await opened.close()

    async def publisher(self, subject: Subject) -> ConfirmedPublisher:
        exchange = subject.name if len(subject.groups) > 1 else ""
        made = ConfirmedPublisher(await AmqpChannel.open(self._address), exchange, _queues(subject)[0])
        await made.start()
        return made

    async def worker(self, subject: Subject, group: str) -> ConsumingReader:
        return ConsumingReader(await AmqpChannel.open(self._address), _queue(subject, group))

    async def follower(self, subject: Subject, group: str) -> ConsumingReader:
        return await self.worker(subject, group)

    async def close(self) -> None:
        pass


def _queue(subject: Subject, group: str) -> str:
    return f"{subject.name}.{group}"


def _queues(subject: Subject) -> list[str]:
    return [_queue(subject, group) for group in subject.groups]
