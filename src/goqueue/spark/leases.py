"""Records that are leased to a query: what of them stands in Spark's checkpoint, and how they are taken and settled."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from goqueue.client.link import Link
from goqueue.codec.arrow import to_arrow
from goqueue.errors import ERRORS_BY_CODE, GoQueueError, UnknownReceipt
from goqueue.model.log import LogId
from goqueue.model.runs import Runs, offsets_of, runs_of
from goqueue.spark.broker import RESTARTS_WITHIN_S, Conversation
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["Lease", "QueueOffset", "Settled", "Wish", "settle", "take"]

MOST_AT_ONCE = 1000
"""What a broker leases to one consumer; for more there are several."""
TAKE_BYTES = 16 * 1024 * 1024

Action = Literal["ack", "extend", "release"]


class Lease(msgspec.Struct, frozen=True, array_like=True):
    """Records of one partition that were leased together, and what proves it."""

    topic: str
    partition: int
    grant: int
    token: str
    runs: Runs
    deliveries: tuple[tuple[int, int], ...] = ()
    """Offsets of records that were delivered before, and how often, this time included."""

    @property
    def log(self) -> LogId:
        return LogId(self.topic, self.partition)

    @property
    def count(self) -> int:
        return sum(count for _, count in self.runs)


class Done(msgspec.Struct, frozen=True, array_like=True):
    """Records of batches that Spark has committed, whose lease had run out by then: they will be delivered again."""

    topic: str
    partition: int
    runs: Runs


class QueueOffset(msgspec.Struct, frozen=True):
    """Where a query stands: the leases of its latest batch, so that a query that is started again still has them."""

    batch: int = 0
    leases: tuple[Lease, ...] = ()
    done: tuple[Done, ...] = ()

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> "QueueOffset":
        return msgspec.convert(kept, cls)

    def kept(self) -> dict[str, Any]:
        """As JSON has it."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return built

    def done_offsets(self) -> dict[LogId, set[int]]:
        return {LogId(one.topic, one.partition): set(offsets_of(one.runs)) for one in self.done}


class Wish(msgspec.Struct, frozen=True):
    """Whose records are wanted, and how long each is to be the query's own."""

    bootstrap: str
    group: str
    visibility_ms: int
    start: Literal["earliest", "latest"]


class Settled(NamedTuple):
    """Leases that had run out, and up to where all records of a partition are done."""

    lost: list[Lease]
    floors: dict[LogId, int]


def take(
    broker: Conversation, wish: Wish, consumer: str, topics: tuple[str, ...], most: int, wait_ms: int
) -> list[Lease]:
    """Leases of up to so many records; none when nothing is ready in time."""

    async def work(link: Link) -> list[Lease]:
        found: list[Lease] = []
        left, turn = most, 0
        while left > 0:
            count, patience_ms = min(left, MOST_AT_ONCE), 0 if turn else wait_ms
            taken = await _take_once(link, wish, f"{consumer}-{turn}", topics, count, patience_ms)
            if not taken:
                break
            found += taken
            left -= sum(lease.count for lease in taken)
            turn += 1
        return found

    return broker.ask_link(work, patience_s=RESTARTS_WITHIN_S)


async def _take_once(
    link: Link, wish: Wish, consumer: str, topics: tuple[str, ...], most: int, wait_ms: int
) -> list[Lease]:
    request = messages.Take(
        wish.group, consumer, topics, most, TAKE_BYTES, wait_ms, wish.visibility_ms, None, False, wish.start
    )
    reply, tail = await link.request(Opcode.TAKE, request, messages.TakeReply)
    leases, at = [], 0
    for part in reply.parts:
        stored = to_arrow(memoryview(tail)[at : at + part.length], ("offset",))
        at += part.length
        runs = runs_of(sorted(stored.column("offset").to_pylist()))
        again = tuple((one.offset, one.deliveries) for one in part.redelivered)
        leases.append(Lease(part.topic, part.partition, part.grant, part.token, runs, again))
    return leases


def settle(broker: Conversation, wish: Wish, action: Action, leases: Iterable[Lease]) -> Settled:
    """All of it may be asked twice. Leases that have run out are told; any other refusal is an error."""
    given = list(leases)
    request = messages.Settle(
        wish.group,
        action,
        tuple(messages.LeasedRecords(one.topic, one.partition, one.grant, one.token, one.runs) for one in given),
        "",
        wish.visibility_ms if action == "extend" else None,
    )

    async def work(link: Link) -> messages.SettleReply:
        return await link.ask_within(RESTARTS_WITHIN_S, Opcode.SETTLE, request, messages.SettleReply)

    settled = Settled([], {})
    for lease, part in zip(given, broker.ask_link(work).parts if given else (), strict=True):
        if part.error is None:
            settled.floors[lease.log] = part.committed_offset
        elif part.error.code == UnknownReceipt.code:
            settled.lost.append(lease)
        else:
            raise ERRORS_BY_CODE.get(part.error.code, GoQueueError)(part.error.message, hint=part.error.hint)
    return settled
