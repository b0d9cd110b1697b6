"""Settlement by lease: the records of a lease, given as runs of offsets."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from goqueue import codec
from goqueue.engine.broker import Broker
from goqueue.engine.queue import settle
from goqueue.engine.tracing.delivering import is_followed
from goqueue.errors import InvalidRequest
from goqueue.model.ids import InstantNs
from goqueue.model.topic import LONGEST_VISIBILITY_MS

__all__ = ["MOST_SETTLED", "LeaseOutcome", "SettleAction", "acknowledge_at_once", "check_runs", "settle_lease"]

MOST_SETTLED = 100_000
OFFSET_BYTES = 8

SettleAction = Literal["ack", "nack", "reject", "extend", "release"]


class LeaseOutcome(msgspec.Struct, frozen=True):
    """The outcome for the records of one lease."""

    committed_offset: int = 0
    """Every record before it is settled."""
    in_flight: int = 0
    dead: int = 0
    """Number of records moved to the dead letters."""
    dead_letter_topic: str | None = None
    deadline: InstantNs | None = None
    """The new deadline of an extended lease."""


def check_runs(leases: Iterable[Sequence[tuple[int, int]]], others: int = 0) -> None:
    """Check runs before they are expanded: a few bytes can name more offsets than fit into memory.

    `others` is the number of offsets named one by one in the same request.
    """
    total = others
    for runs in leases:
        if len(runs) > 1 and (packed := codec.unfold(runs, MOST_SETTLED)) is not None:
            # Faster than a loop over the runs.
            total += len(packed) // OFFSET_BYTES
            continue
        counts = [count for _, count in runs]
        if min(counts, default=1) < 1:
            raise InvalidRequest("a run of records without a record", hint="count the records of each run")
        total += sum(counts)
    if total > MOST_SETTLED:
        raise InvalidRequest("too many records at once", hint=f"settle at most {MOST_SETTLED} in one request")


async def settle_lease(
    broker: Broker, lease: settle.Lease, action: SettleAction, reason: str = "", delay_ms: int | None = None
) -> LeaseOutcome:
    """`delay_ms` is the pause of a nack, or the new length of an extension."""
    dead, topic, deadline = 0, None, None
    match action:
        case "ack":
            await settle.acknowledge(broker, lease)
        case "nack":
            became = await settle.nack(broker, lease, reason=reason, pause_ms=delay_ms)
            dead, topic = len(became.dead), became.dead_letter_topic
        case "reject":
            topic = await settle.reject(broker, lease, reason=reason)
            dead = len(lease.offsets)
        case "extend":
            wanted_ms = LONGEST_VISIBILITY_MS + 1 if delay_ms is None else delay_ms
            deadline = await settle.extend(broker, lease, wanted_ms)
        case "release":
            await settle.give_back(broker, lease)
    return _outcome(broker, lease, dead, topic, deadline)


def acknowledge_at_once(
    broker: Broker, lease: settle.Lease, answer: Callable[[LeaseOutcome | Exception], None]
) -> bool:
    """Like `settle_lease` with an acknowledgement, for callers that do not wait. Returns False if records are
    traced."""
    if is_followed(broker, lease.log):
        return False

    def tell(failure: Exception | None) -> None:
        answer(_outcome(broker, lease) if failure is None else failure)

    settle.acknowledge_soon(broker, lease, tell)
    return True


def _outcome(
    broker: Broker, lease: settle.Lease, dead: int = 0, topic: str | None = None, deadline: InstantNs | None = None
) -> LeaseOutcome:
    state = broker.queues.get(lease.group, lease.log)
    if state is None:
        # Deleted just now.
        return LeaseOutcome(0, 0, dead, topic, deadline)
    return LeaseOutcome(state.delivery.floor, state.delivery.leased_count, dead, topic, deadline)
