"""Dead letters of a topic: their place, and which of them are still open.

A redriven or purged letter stays in its log, as every record does, but is settled in the queue of an internal group,
with the same journal and state as any other group.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from goqueue.core.delivery.delivery import Looked
from goqueue.core.delivery.events import DeliveryEvent
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.queue.dead_letters import DEAD_LETTER_HEADER, DEAD_LETTER_SUFFIX, DeadLetter, is_dead_letter_topic
from goqueue.engine.queue.states import QueueState
from goqueue.errors import UnknownTopic
from goqueue.model.record import Record
from goqueue.model.topic import TopicName

__all__ = ["WORKBENCH", "Desk", "Letter", "desk_of", "letter_of", "origin_of"]

WORKBENCH = "__dlq"
"""The internal group; names with this prefix are refused to users."""

_decode = msgspec.json.Decoder(DeadLetter).decode


class Letter(NamedTuple):
    """A dead letter; `origin` is None for a record that the broker did not move here."""

    partition: int
    record: Record
    origin: DeadLetter | None
    fault: str | None = None
    """Why its value could not be decompressed."""


class Desk:
    """The dead letters of one topic; if it shares a dead-letter topic with others, only its own."""

    def __init__(self, broker: Broker, name: TopicName, origin: TopicName | None) -> None:
        self.broker = broker
        self.name = name
        self.origin = origin
        """None for all letters of the dead-letter topic."""

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Empty if there was never a letter."""
        try:
            return self.broker.partitions(self.name)
        except UnknownTopic:
            return ()

    def ends(self) -> tuple[int, ...]:
        """The end of the letters in each partition now."""
        return tuple(partition.stable_offset for partition in self.partitions)

    def first_open(self, partition: Partition) -> int:
        """Everything before is settled or dropped."""
        state = self.broker.queues.get(WORKBENCH, partition.id)
        return max(partition.log.start_offset, 0 if state is None else state.delivery.floor)

    def is_open(self, partition: Partition, offset: int) -> bool:
        state = self.broker.queues.get(WORKBENCH, partition.id)
        return state is None or not state.delivery.is_settled(offset)

    def is_own(self, origin: DeadLetter | None) -> bool:
        if self.origin is None:
            return True
        if origin is None:
            return self.name == self.origin + DEAD_LETTER_SUFFIX
        return origin.topic == self.origin

    # Settlement of letters.

    async def state(self, partition: Partition) -> QueueState:
        """The queue of a partition, opened if necessary."""
        state = self.broker.queues.of(WORKBENCH, partition.id)

        def decide() -> DeliveryEvent | None:
            is_open = state.delivery.is_open
            return None if is_open else state.delivery.open(partition.log.start_offset, in_key_order=False)

        if not state.delivery.is_open:
            await self.broker.queues.change(state, decide)
        return state

    def settle(self, state: QueueState, offsets: Sequence[int]) -> DeliveryEvent | None:
        """The event that settles these letters, for the holder of the lock; None if there are none."""
        now = self.broker.clock.now_ns()
        return state.delivery.lease(Looked((), {}, skipped=offsets), WORKBENCH, deadline=now, now=now)


def desk_of(broker: Broker, name: TopicName) -> Desk:
    """The letters of a topic, named by itself or by its dead-letter topic."""
    topics = {topic.name: topic for topic in broker.catalog}
    kept = TopicName(name + DEAD_LETTER_SUFFIX)
    if name not in topics:
        # The topic may be deleted while its letters still exist.
        return Desk(broker, broker.catalog.topic(kept if kept in topics else name).name, name)
    if is_dead_letter_topic(name) or any(topic.config.dead_letter_topic == name for topic in topics.values()):
        return Desk(broker, name, None)
    return Desk(broker, TopicName(topics[name].config.dead_letter_topic or kept), name)


def origin_of(record: Record) -> DeadLetter | None:
    for name, value in record.headers:
        if name == DEAD_LETTER_HEADER:
            try:
                return _decode(value)
            except msgspec.MsgspecError:
                return None
    return None


def letter_of(partition: int, record: Record, fault: str | None = None) -> Letter:
    return Letter(partition, record, origin_of(record), fault)
