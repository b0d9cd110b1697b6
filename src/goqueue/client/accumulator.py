"""Records on their way from a producer to its lanes: in batches that leave when they are full or old enough."""

import asyncio
from collections import deque

from goqueue import codec
from goqueue.client.batch import Batch, Delivery
from goqueue.client.lane import Lane, LaneSettings
from goqueue.client.link import Link
from goqueue.client.partitioner import TopicPartitioner
from goqueue.client.room import Room
from goqueue.client.scope import Scope
from goqueue.errors import ClientClosed, GoQueueError, RecordTooLarge, UnknownPartition, UnknownTopic
from goqueue.model.record import Record
from goqueue.model.topic import Topic

__all__ = ["NORMAL_PRIORITY", "Accumulator", "check_record", "is_plain"]

RECORD_OVERHEAD = 34
NORMAL_PRIORITY = 2
FAILURES_KEPT = 100
"""Failed batches that are looked through for one that nobody was told of."""

_running_loop = asyncio.get_running_loop


class Accumulator:
    """A batch leaves with `batch_records` or `batch_bytes`, or when it is `linger_s` old, whichever is first."""

    def __init__(
        self,
        link: Link,
        lane_settings: LaneSettings,
        scope: Scope,
        room: Room,
        *,
        batch_records: int,
        batch_bytes: int,
        linger_s: float,
        timeout_s: float,
    ) -> None:
        self._link = link
        self.lane_settings = lane_settings
        self._scope = scope
        self._room = room
        self._batch_records = batch_records
        self._batch_bytes = batch_bytes
        self._linger_s = linger_s
        self._timeout_s = timeout_s
        self.topics: dict[str, TopicPartitioner] = {}
        self._open: dict[tuple[str, int], Batch] = {}
        self._lanes: dict[tuple[str, int], Lane] = {}
        self.unfinished: set[Batch] = set()
        self.failures: deque[tuple[Batch, GoQueueError]] = deque(maxlen=FAILURES_KEPT)
        self.is_closed = False

    def check(self) -> None:
        if self.is_closed:
            raise ClientClosed("this producer is closed")

    def add(
        self, partitioner: TopicPartitioner, partition: int | None, record: Record, record_id: str | None, due: int
    ) -> Delivery:
        """Behind the records that wait for the same partition."""
        self.check()
        if self._scope.is_transactional:
            self._scope.check(record_id)
        key, value = record.key, record.value
        place = (partitioner.name, partitioner.pick(key, partition))
        among = partitioner.chosen_among(key, partition)
        batch = self._open.get(place)
        if batch is not None and among is not None and batch.partitions not in (None, among):
            # Begun while the topic had another number of partitions, so it will be refused.
            self._close_batch(place, batch)
            batch = None
        if batch is None:
            batch = self._open[place] = self.new_batch(place[0], place[1])
        if among is not None:
            batch.partitions = among
        number = batch.add(record, record_id, due)
        batch.size += RECORD_OVERHEAD + (0 if value is None else len(value)) + (0 if key is None else len(key))
        self._room.taken += 1
        if number >= self._batch_records or batch.size >= self._batch_bytes:
            self._close_batch(place, batch)
        elif number == 1:
            self._linger(place, batch)
        return Delivery(batch, number - 1)

    def send_at_once(self, batch: Batch, count: int) -> None:
        """Behind what was sent to the same partition before."""
        self.check()
        place = (batch.topic, batch.partition)
        earlier = self._open.get(place)
        if earlier is not None:
            self._close_batch(place, earlier)
        self._room.take(count)
        self._hand_over(place, batch)

    def new_batch(self, topic: str, partition: int, encoded: bytes | None = None, count: int = 0) -> Batch:
        batch = Batch(topic, partition, _running_loop().time() + self._timeout_s, encoded, count)
        if self._scope.is_transactional:
            self._scope.put_in(batch)
        return batch

    def send_open(self) -> None:
        """Everything leaves now."""
        for place, batch in list(self._open.items()):
            self._close_batch(place, batch)

    def fail_open(self, error: GoQueueError) -> None:
        left, self._open = self._open, {}
        for batch in left.values():
            batch.fail(error)
            self._finished(batch, error)

    async def until_all_are_finished(self) -> None:
        if self.unfinished:
            await asyncio.wait([batch.wait() for batch in self.unfinished])

    async def close_lanes(self, why: GoQueueError | None = None) -> None:
        lanes, self._lanes = self._lanes, {}
        for lane in lanes.values():
            await lane.close(why)

    def _linger(self, place: tuple[str, int], batch: Batch) -> None:
        """Until the batch has waited for as long as it may for others; not at all when there is nothing to wait for."""
        if self._linger_s:
            _running_loop().call_later(self._linger_s, self._lingered, place, batch)
            return
        lane = self._lanes.get(place)
        if lane is not None and lane.is_idle():
            self._close_batch(place, batch)
        else:
            # What is sent in the same breath goes along.
            _running_loop().call_soon(self._lingered, place, batch)

    def _lingered(self, place: tuple[str, int], batch: Batch) -> None:
        if self._open.get(place) is batch:
            self._close_batch(place, batch)

    def _close_batch(self, place: tuple[str, int], batch: Batch) -> None:
        del self._open[place]
        partitioner = self.topics.get(place[0])
        if partitioner is not None:
            partitioner.batch_left(place[1])
        self._hand_over(place, batch)

    def _hand_over(self, place: tuple[str, int], batch: Batch) -> None:
        self.unfinished.add(batch)
        try:
            batch.seal()
        except GoQueueError as error:
            batch.fail(error)
            self._finished(batch, error)
            return
        lane = self._lanes.get(place)
        if lane is None:
            lane = self._lanes[place] = Lane(*place, self._link, self.lane_settings, self._finished)
        lane.add(batch)

    def _finished(self, batch: Batch, error: GoQueueError | None) -> None:
        if error is not None:
            self._scope.refused(error)
            self.failures.append((batch, error))
            if isinstance(error, UnknownTopic | UnknownPartition):
                # What is known of the topic is old: the next record asks anew.
                self.topics.pop(batch.topic, None)
        self.unfinished.discard(batch)
        self._room.give_back(batch.count)


def check_record(record: Record, topic: Topic) -> None:
    """Raises what is wrong with it."""
    codec.encode((record,))
    most, size = topic.config.max_value_bytes, len(record.value or b"")
    if size > most:
        raise RecordTooLarge(f"a value of {size} bytes, the limit of {topic.name} is {most}")


def is_plain(record: Record, topic: Topic) -> bool:
    """Whether there is nothing about it that could be refused."""
    key, value = record.key, record.value
    if record.headers or record.priority != NORMAL_PRIORITY:
        return False
    if value.__class__ is not bytes or len(value) > topic.config.max_value_bytes:
        return False
    return key is None or (key.__class__ is bytes and len(key) <= codec.MAX_KEY)
