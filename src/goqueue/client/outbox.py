"""Records from any thread on their way to the producer on the event loop: no thread waits for the loop to take one."""

from collections import deque

from goqueue.client import batch as aio
from goqueue.client.background import Background
from goqueue.client.batch import Batch, Sent
from goqueue.client.partitioner import TopicPartitioner
from goqueue.client.producer import Producer
from goqueue.errors import GoQueueError
from goqueue.model.record import Record

__all__ = ["Delivery", "Outbox"]


class Delivery:
    """The promise of one record: `result` waits until it is written, and raises why it is not.

    Example:

        from goqueue import Producer

        with Producer() as producer:
            delivery = producer.send("orders", json={"id": 5})
            print(delivery.result(timeout=10).offset, delivery.done())
    """

    __slots__ = ("_delivery", "_outbox")

    def __init__(self, outbox: "Outbox", delivery: aio.Delivery | None = None) -> None:
        self._outbox = outbox
        self._delivery = delivery

    def done(self) -> bool:
        """Whether it is known what became of the record.

        Example:

            from goqueue import Producer

            with Producer() as producer:
                delivery = producer.send("orders", json={"id": 5})
                producer.flush()
                assert delivery.done()
        """
        return self._delivery is not None and self._delivery.done()

    def result(self, timeout: float | None = None) -> Sent:
        """Wait for the outcome. RequestTimeout after `timeout` seconds means that the record is still on its way.

        Example:

            from goqueue import Producer

            with Producer() as producer:
                delivery = producer.send("orders", json={"id": 5})
                print(delivery.result(timeout=10).offset)
        """
        if self._delivery is not None and self._delivery.done():
            return self._delivery.result()
        return self._outbox.background.run(timeout, self._wait)

    def _settle(self, delivery: aio.Delivery) -> None:
        """The producer has taken the record."""
        self._delivery = delivery

    async def _wait(self) -> Sent:
        self._outbox.empty()
        assert self._delivery is not None
        return await self._delivery


class Outbox:
    """`put` is called by threads, everything else on the loop."""

    def __init__(self, producer: Producer, background: Background) -> None:
        self.background = background
        self._producer = producer
        self._waiting: deque[tuple[TopicPartitioner, int | None, Record, str | None, int, Delivery]] = deque()
        self._is_awaited = False

    def __len__(self) -> int:
        return len(self._waiting)

    def put(
        self, partitioner: TopicPartitioner, partition: int | None, record: Record, record_id: str | None, due: int
    ) -> Delivery:
        delivery = Delivery(self)
        self._waiting.append((partitioner, partition, record, record_id, due, delivery))
        if not self._is_awaited:
            self._is_awaited = True
            try:
                self.background.call_soon(self.empty)
            except BaseException:
                self._is_awaited = False
                raise
        return delivery

    def empty(self) -> None:
        """Give everything to the producer, in order."""
        # Lowered first, so that what is put in from now on is not overlooked.
        self._is_awaited = False
        while self._waiting:
            partitioner, partition, record, record_id, due, delivery = self._waiting.popleft()
            try:
                delivery._settle(self._producer._accumulator.add(partitioner, partition, record, record_id, due))
            except GoQueueError as error:
                self._producer._scope.refused(error)
                delivery._settle(_failed(partitioner, error))


def _failed(partitioner: TopicPartitioner, error: GoQueueError) -> aio.Delivery:
    batch = Batch(partitioner.topic.name, -1, 0.0)
    batch.fail(error)
    return aio.Delivery(batch, 0)
