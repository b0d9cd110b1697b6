"""Dead letters: records that cannot be processed are moved to a topic of their own, with their history.

The copy and the settlement of the original share one journal entry: the record is never lost and never in both places.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from goqueue import codec
from goqueue.core.delivery.delivery import Attempts
from goqueue.core.delivery.events import Failure, Settled
from goqueue.core.tracing.places import Place
from goqueue.engine import topics
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.queue.breaking import pause_tripped
from goqueue.engine.queue.gather import gather
from goqueue.engine.queue.states import QueueState
from goqueue.engine.staged_append import StagedAppend
from goqueue.engine.state_log import Also
from goqueue.engine.tracing.choosing import place_of
from goqueue.engine.tracing.dead_letters import note_dead, with_trace
from goqueue.errors import InvalidRecord, TopicExists, UnknownTopic
from goqueue.model.expiry import EXPIRES_HEADER
from goqueue.model.record import Record
from goqueue.model.span import ErrorType
from goqueue.model.topic import TopicConfig, TopicName

__all__ = [
    "DEAD_LETTER_HEADER",
    "DEAD_LETTER_SUFFIX",
    "ERROR_TYPES",
    "EXPIRED",
    "FAILED",
    "REJECTED",
    "DeadLetter",
    "DeadLetters",
    "is_dead_letter_topic",
]

DEAD_LETTER_SUFFIX = ".dlq"
DEAD_LETTER_HEADER = "goqueue-dead-letter"
MOST_BYTES = 8 * 1024 * 1024
REJECTED, FAILED, EXPIRED = "rejected", "failed too often", "expired"
ERROR_TYPES = {REJECTED: ErrorType.REJECTED, FAILED: ErrorType.FAILED_TOO_OFTEN, EXPIRED: ErrorType.EXPIRED}
"""The error types of these causes in spans."""


class DeadLetter(msgspec.Struct, frozen=True):
    """The origin and the cause of a dead letter, stored as JSON in a header of the record."""

    topic: str
    partition: int
    offset: int
    group: str
    timestamp_ns: int
    cause: str
    """`rejected`, `failed too often` or `expired`."""
    reason: str
    deliveries: int
    failures: int
    history: tuple[Failure, ...] = ()
    headers_dropped: bool = False
    """True if the record had no room for another header, so that its own headers were dropped."""


def is_dead_letter_topic(name: str) -> bool:
    return name.endswith(DEAD_LETTER_SUFFIX)


class Copies(NamedTuple):
    """Dead letters to write together, and the records they are copies of."""

    batch: bytearray
    letters: list[Record]
    dead: list[Place]
    moved: list[int]
    """Includes records that are gone and have no copy."""


class DeadLetters:
    """The dead letters of one group in one partition."""

    def __init__(self, broker: Broker, state: QueueState) -> None:
        self._broker = broker
        self._state = state

    async def move(self, grant: int, offsets: Sequence[int], reason: str, cause: str) -> str | None:
        """Move records that are leased under the grant; returns the name of the dead-letter topic."""
        target = await self.target()
        left = sorted(offsets)
        while left:
            left = await self._move_some(target, grant, left, reason, cause)
        return target.id.topic

    async def target(self) -> Partition:
        """The partition for dead letters of this one; the topic is created with the first of them."""
        log = self._state.log
        origin = self._broker.catalog.topic(TopicName(log.topic))
        name = TopicName(origin.config.dead_letter_topic or f"{log.topic}{DEAD_LETTER_SUFFIX}")
        try:
            self._broker.catalog.topic(name)
        except UnknownTopic:
            config = TopicConfig(
                durability=origin.config.durability,
                retention_ms=None,
                max_value_bytes=origin.config.max_value_bytes,
            )
            # Another caller may be faster.
            with suppress(TopicExists):
                await topics.create_topic(self._broker, name, origin.partitions, config)
        partitions = self._broker.partitions(name)
        return partitions[log.partition % len(partitions)]

    async def _move_some(self, target: Partition, grant: int, offsets: list[int], reason: str, cause: str) -> list[int]:
        """Move as many as fit into one entry; returns the others."""
        state = self._state
        await state.lock.acquire()
        try:
            copies = await self.copies(offsets, reason, cause)
        except BaseException:
            state.lock.release()
            raise

        moved, start_ns = copies.moved, self._broker.clock.now_ns()
        staged: list[StagedAppend] = []

        def decide() -> Settled:
            return state.delivery.settle({grant: moved}, is_dead=True)

        def append() -> Also:
            staged.extend([target.stage(copies.batch)] if copies.batch else ())
            return Also(appends=staged, written=lambda: self.count(len(moved), reason, cause))

        await self._broker.queues.change_locked(state, decide, append)
        base = staged[0].batch.base_offset if staged else 0
        if self._broker.tracing.is_on:
            dead, letters, error_type = copies.dead, copies.letters, ERROR_TYPES[cause]
            note_dead(self._broker, state, dead, letters, target.id, base, reason, error_type, start_ns)
        await pause_tripped(self._broker)
        return offsets[len(moved) :]

    async def copies(self, offsets: list[int], reason: str, cause: str) -> Copies:
        """Copies of as many records as fit into one entry."""
        log = self._state.log
        source = self._broker.partition(TopicName(log.topic), log.partition)
        found = await gather(self._broker, source, offsets, MOST_BYTES)
        records: list[Record] = codec.decode(found.records)
        letters = [self._letter(record, reason, cause) for record in records]
        dead = [place_of(record, delivery=self._delivery(record, cause)) for record in records]
        batch = bytearray(b"".join(encoded for _, encoded in letters))
        moved = [offset for offset in offsets if offset < found.reached]
        return Copies(batch, [letter for letter, _ in letters], dead, moved)

    def _delivery(self, record: Record, cause: str) -> int:
        """The number of the last delivery; 0 for an expired record, which was not delivered."""
        return 0 if cause == EXPIRED else self._state.delivery.attempts_of(record.offset).deliveries

    def count(self, count: int, reason: str, cause: str) -> None:
        """Count dead letters, once they are written."""
        state, tally = self._state, self._state.tally
        tally.dead(count)
        if cause == EXPIRED:
            # Expiry is not a failure: a group that was away for long must not be paused for it.
            return
        if cause == REJECTED:
            tally.reject(count)
        else:
            tally.failed(count, reason)
        with suppress(UnknownTopic):
            limit = self._broker.catalog.topic(TopicName(state.log.topic)).config.dead_letter_breaker_per_minute
            self._broker.breakers.add(state.group, state.log.topic, count, limit, now=self._broker.clock.now_ns())

    def _letter(self, record: Record, reason: str, cause: str) -> tuple[Record, bytes]:
        """The letter, also encoded."""
        state = self._state
        attempts: Attempts = state.delivery.attempts_of(record.offset)
        origin = DeadLetter(
            state.log.topic,
            state.log.partition,
            record.offset,
            state.group,
            record.timestamp_ns,
            cause,
            reason,
            attempts.deliveries,
            attempts.failures + (1 if cause == FAILED else 0),
            attempts.history,
        )
        # The expiry does not apply to the letter, nor to the record when it is redriven.
        headers = tuple(one for one in record.headers if one[0] not in (DEAD_LETTER_HEADER, EXPIRES_HEADER))
        traced = with_trace(self._broker, state, record, self._delivery(record, cause), headers)
        for some in (traced, headers):
            with suppress(InvalidRecord):
                return _encode(record, (*some, _header(origin)))
        return _encode(record, (_header(msgspec.structs.replace(origin, headers_dropped=True)),))


def _header(origin: DeadLetter) -> tuple[str, bytes]:
    return DEAD_LETTER_HEADER, msgspec.json.encode(origin)


def _encode(record: Record, headers: tuple[tuple[str, bytes], ...]) -> tuple[Record, bytes]:
    letter = msgspec.structs.replace(record, headers=headers, offset=0, timestamp_ns=0)
    return letter, codec.encode((letter,))
