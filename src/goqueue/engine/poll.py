"""Poll as a member of a group: records of its partitions, from where its last poll ended.

For clients that do not keep positions themselves. A position lives as long as the member has the partition; whoever
has it next goes on from the committed offset.
"""

from typing import Literal, NamedTuple

import msgspec

from goqueue import codec
from goqueue.engine.broker import Broker
from goqueue.engine.fetch import Fetched, FetchFrom, fetch
from goqueue.errors import InvalidRequest, OffsetOutOfRange
from goqueue.model.log import LogId
from goqueue.model.record import Flag, Record
from goqueue.model.topic import TopicName

__all__ = ["MOST_RECORDS", "Poll", "PolledRecord", "Positions", "poll"]

MOST_RECORDS = 1000
MAX_BYTES = 4 * 1024 * 1024


class Poll(msgspec.Struct, frozen=True):
    """Who asks, for how many in all, and how long to wait; `start` is for partitions never committed."""

    group: str
    member_id: str
    generation: int
    limit: int = 100
    wait_ms: int = 30_000
    start: Literal["earliest", "latest"] = "earliest"


class PolledRecord(NamedTuple):
    log: LogId
    record: Record


class Positions:
    """Where each polling member is. Only members that poll have an entry, and it goes when the member does."""

    def __init__(self) -> None:
        self._by_member: dict[tuple[str, str], dict[LogId, int]] = {}

    def of(self, group: str, member_id: str) -> dict[LogId, int]:
        return self._by_member.setdefault((group, member_id), {})

    def forget_gone(self, broker: Broker) -> None:
        """Drop the positions of members that are no longer there."""
        for group, member_id in list(self._by_member):
            if group not in broker.groups or member_id not in broker.groups.group(group):
                del self._by_member[group, member_id]


async def poll(broker: Broker, positions: Positions, request: Poll) -> list[PolledRecord]:
    """At most `limit` records in all, from every partition the member has; none when nothing arrives in time."""
    if not 1 <= request.limit <= MOST_RECORDS:
        raise InvalidRequest(f"a limit of {request.limit}", hint=f"ask for 1 to {MOST_RECORDS} records")
    group = broker.groups.group(request.group)
    owned = group.check_poll(request.member_id, request.generation, now=broker.clock.now_ns())
    mine = positions.of(request.group, request.member_id)
    for log in mine.keys() - set(owned):
        del mine[log]
    for log in owned:
        if log not in mine:
            mine[log] = _start(broker, request, log)
    parts = [FetchFrom(TopicName(log.topic), log.partition, mine[log]) for log in owned]
    answers = await fetch(broker, parts, max_bytes=MAX_BYTES, wait_ms=request.wait_ms)
    # While it waited, partitions may have gone to another member.
    still_owned = set(broker.groups.group(request.group).readable(request.member_id))
    taken: list[PolledRecord] = []
    pairs = list(zip(parts, answers, strict=True))
    # Each time another partition comes first, so that a full one does not take the whole limit for ever.
    first = next(broker.fetch_turns) % max(1, len(pairs))
    for part, answer in pairs[first:] + pairs[:first]:
        log = LogId(part.topic, part.partition)
        if log in still_owned and log in mine and len(taken) < request.limit:
            mine[log] = _take(broker, request, log, answer, taken)
    return taken


def _start(broker: Broker, request: Poll, log: LogId) -> int:
    committed = broker.groups.group(request.group).offsets.get(log)
    partition = broker.partition(TopicName(log.topic), log.partition)
    if committed is not None:
        return max(committed.offset, partition.log.start_offset)
    return partition.log.start_offset if request.start == "earliest" else partition.high_watermark


def _take(broker: Broker, request: Poll, log: LogId, answer: Fetched, taken: list[PolledRecord]) -> int:
    """Add records up to the limit; returns where to go on."""
    if isinstance(answer.refusal, OffsetOutOfRange):
        # Retention has taken what was to come next.
        return _start(broker, request, log)
    if answer.refusal is not None:
        raise answer.refusal
    for chunk in answer.chunks:
        for record in codec.decode(chunk.records):
            if len(taken) >= request.limit:
                return record.offset
            if not record.flags & Flag.CONTROL:
                taken.append(PolledRecord(log, record))
    return answer.next_offset
