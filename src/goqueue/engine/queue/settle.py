"""What consumers say about the records they have: done, not done, never, not yet."""

import asyncio
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
from pyroaring import BitMap64

from goqueue import codec
from goqueue.core.delivery.delivery import Returns
from goqueue.core.delivery.events import Returned
from goqueue.core.delivery.packed import Offsets
from goqueue.core.delivery.policy import RetryPolicy
from goqueue.core.delivery.tally import OVERDUE
from goqueue.engine.broker import Broker
from goqueue.engine.queue.dead_letters import FAILED, REJECTED, DeadLetters
from goqueue.engine.queue.policies import settings_of
from goqueue.engine.queue.states import QueueState
from goqueue.engine.queue.together import settle_acked
from goqueue.engine.tracing.delivering import Settling, is_followed, note_settled, settling
from goqueue.errors import GoQueueError, InvalidRequest, UnknownReceipt
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId
from goqueue.model.span import ErrorType
from goqueue.model.span import Operation as Span
from goqueue.model.topic import LONGEST_VISIBILITY_MS

__all__ = [
    "Lease",
    "Nacked",
    "acknowledge",
    "acknowledge_soon",
    "extend",
    "give_back",
    "leased_records",
    "nack",
    "offsets_of",
    "reject",
    "retry_policy",
    "return_overdue",
]

NS_PER_MS = 1_000_000
SWEPT_AT_ONCE = 10_000
TIMEOUT = "timeout"
"""What the span of a record says that was not acknowledged in time."""
LARGEST_OFFSET = (1 << 63) - 1
MOST_UNFOLDED = 10_000
"""Offsets that are written out one by one, which is quicker for those that do not lie side by side."""


class Lease(msgspec.Struct, frozen=True):
    """Records of one grant, with the token that vouches for it."""

    group: str
    log: LogId
    grant: int
    token: str
    offsets: Offsets


class Nacked(NamedTuple):
    """What became of records that were not done."""

    visible_at: dict[int, InstantNs]
    dead: list[int]
    dead_letter_topic: str | None


async def acknowledge(broker: Broker, lease: Lease) -> QueueState:
    """Done for good. What is settled already stays so: an answer may have been lost on its way."""
    state, offsets = leased_records(broker, lease)
    start_ns = broker.clock.now_ns()
    acked: Settling | None = None
    reply: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def left_to_settle() -> Offsets:
        nonlocal acked
        left = _left_to_settle(state, lease.grant, offsets)
        if left and is_followed(broker, state.log):
            acked = settling(broker, state, lease.grant, list(left), start_ns)
        return left

    def tell(failure: Exception | None) -> None:
        if reply.done():
            # Whoever waited has gone away.
            return
        if failure is None:
            reply.set_result(None)
        else:
            reply.set_exception(failure)

    settle_acked(broker, state, lease.grant, left_to_settle, tell)
    await reply
    _settled(broker, state)
    if acked is not None:
        await note_settled(broker, state, acked, Span.ACK)
    return state


def acknowledge_soon(broker: Broker, lease: Lease, tell: Callable[[Exception | None], None]) -> QueueState:
    """As `acknowledge`, for those who do not wait, and for records that nobody follows."""
    state, offsets = leased_records(broker, lease)

    def settled(failure: Exception | None) -> None:
        if failure is None:
            _settled(broker, state)
        tell(failure)

    settle_acked(broker, state, lease.grant, partial(_left_to_settle, state, lease.grant, offsets), settled)
    return state


def _left_to_settle(state: QueueState, grant: int, offsets: BitMap64) -> Offsets:
    if state.delivery.holds(grant, offsets):
        return offsets
    return [offset for offset in offsets if not _is_over(state, grant, offset, state.delivery.has_acked)]


def _settled(broker: Broker, state: QueueState) -> None:
    """Those who wait for a record of the same key, or for less to be in flight, may go on."""
    if state.delivery.in_key_order:
        broker.queues.changed(state.group)
    else:
        broker.queues.has_room(state.group)


def _is_over(state: QueueState, grant: int, offset: int, has_ended: Callable[[int, int], bool]) -> bool:
    return not state.delivery.is_leased(grant, offset) and has_ended(grant, offset)


async def nack(broker: Broker, lease: Lease, *, reason: str = "", pause_ms: int | None = None) -> Nacked:
    """Not done: each is tried again after a pause, or goes to the dead letters when it has failed too often."""
    if pause_ms is not None and not 0 <= pause_ms <= LONGEST_VISIBILITY_MS:
        raise InvalidRequest(f"a pause of {pause_ms} ms", hint=f"give 0 to {LONGEST_VISIBILITY_MS} ms")
    state, offsets = leased_records(broker, lease)
    returns = Returns(lease.grant, list(offsets), reason or "nack")
    return await _fail(broker, state, lambda: returns, pause_ms)


async def reject(broker: Broker, lease: Lease, *, reason: str = "") -> str | None:
    """Never: straight to the dead letters. The name of their topic, or None when the records are dropped.

    As with an acknowledgement, it may be said again.
    """
    state, offsets = leased_records(broker, lease)
    left = [offset for offset in offsets if not _is_over(state, lease.grant, offset, state.delivery.has_buried)]
    # Before the first is moved: all of them or none.
    state.delivery.settle({lease.grant: left})
    rejected: Settling | None = None
    if left and broker.tracing.is_on:
        rejected = settling(broker, state, lease.grant, left, broker.clock.now_ns())
    letters = DeadLetters(broker, state)
    topic = await letters.move(lease.grant, left, reason or "rejected", REJECTED)
    if not left:
        # All of it was said before, which may not be durable yet; what is moved now becomes so after that.
        await broker.commit.durable()
    _settled(broker, state)
    if rejected is not None:
        error, error_type = reason or "rejected", ErrorType.REJECTED
        await note_settled(broker, state, rejected, Span.REJECT, error=error, error_type=error_type)
    return topic


async def extend(broker: Broker, lease: Lease, visibility_ms: int) -> InstantNs:
    """Not yet: the consumer needs more time, counted from now."""
    if not 0 <= visibility_ms <= LONGEST_VISIBILITY_MS:
        raise InvalidRequest(f"an extension by {visibility_ms} ms", hint=f"give 0 to {LONGEST_VISIBILITY_MS} ms")
    state, offsets = leased_records(broker, lease)
    deadline = InstantNs(broker.clock.now_ns() + visibility_ms * NS_PER_MS)
    await broker.queues.change(state, lambda: state.delivery.extend(lease.grant, offsets, deadline))
    return deadline


async def give_back(broker: Broker, lease: Lease) -> None:
    """Untouched: the consumer stops, and somebody else may have them at once."""
    state, offsets = leased_records(broker, lease)
    returns = Returns(lease.grant, list(offsets), "given back")
    await broker.queues.change(state, lambda: state.delivery.give_back(returns, now=broker.clock.now_ns()))
    broker.queues.changed(lease.group)


async def return_overdue(broker: Broker) -> int:
    """Take back what was not acknowledged in time; how many records that were.

    What cannot be taken back, because the dead letters take no more say, does not hold up the rest.
    """
    now = broker.clock.now_ns()
    count = 0
    failure: GoQueueError | None = None
    for state in broker.queues.leases.due(now):
        for grant, offsets in state.delivery.overdue(now=now, most=SWEPT_AT_ONCE):
            try:
                became = await _fail(broker, state, partial(_still_overdue, state, grant.number, offsets, now), 0)
            except UnknownReceipt:
                # Acknowledged in this very moment, or all of it deleted.
                continue
            except GoQueueError as refusal:
                failure = refusal
                continue
            count += len(became.visible_at) + len(became.dead)
    if failure is not None:
        raise failure
    return count


def _still_overdue(state: QueueState, number: int, offsets: Sequence[int], now: InstantNs) -> Returns:
    """Some may have been acknowledged or extended since they were found."""
    grant = state.delivery.grant(number)
    late = [] if grant is None else [one for one in offsets if one in grant.records and grant.deadline_of(one) <= now]
    return Returns(number, late, OVERDUE)


async def _fail(broker: Broker, state: QueueState, which: Callable[[], Returns], pause_ms: int | None) -> Nacked:
    policy = retry_policy(broker, state)
    returns = which()
    exhausted: list[int] = []
    start_ns = broker.clock.now_ns()
    failed: Settling | None = None

    def decide() -> Returned | None:
        nonlocal returns, exhausted, failed
        returns = which()
        if broker.tracing.is_on:
            failed = settling(broker, state, returns.grant, sorted(returns.offsets), start_ns)
        retries = state.delivery.fail(returns, policy, pause_ms=pause_ms, now=broker.clock.now_ns())
        exhausted = retries.exhausted
        return retries.event

    event = await broker.queues.change(state, decide)
    if failed is not None:
        is_late = returns.reason == OVERDUE
        error, error_type = (TIMEOUT, ErrorType.LEASE_EXPIRED) if is_late else (returns.reason, ErrorType.NACKED)
        await note_settled(broker, state, failed, Span.NACK, error=error, error_type=error_type)
    topic = None
    if exhausted:
        topic = await DeadLetters(broker, state).move(returns.grant, exhausted, returns.reason, FAILED)
    broker.queues.changed(state.group)
    assert event is None or isinstance(event, Returned)
    visible = {} if event is None else dict(zip(event.offsets, event.visible_at, strict=True))
    return Nacked(visible, exhausted, topic)


def retry_policy(broker: Broker, state: QueueState) -> RetryPolicy:
    config = settings_of(broker, state.group, state.log)
    return RetryPolicy(config.max_attempts, config.retry_backoff_ms, config.retry_backoff_max_ms, config.retry_jitter)


def leased_records(broker: Broker, lease: Lease) -> tuple[QueueState, BitMap64]:
    """Where the records are, and their offsets."""
    broker.receipts.check(lease.group, lease.log, lease.grant, lease.token)
    state = broker.queues.get(lease.group, lease.log)
    if state is None:
        raise UnknownReceipt(f"the group {lease.group} takes nothing from {lease.log} any more")
    offsets = lease.offsets
    if not offsets:
        raise InvalidRequest("a lease without a record", hint="name the records it is about")
    if not isinstance(offsets, BitMap64):
        if min(offsets) < 0 or max(offsets) > LARGEST_OFFSET:
            raise UnknownReceipt(f"{lease.log} has no records {min(offsets)} to {max(offsets)}")
        offsets = BitMap64(offsets)
    return state, offsets


def offsets_of(runs: Sequence[tuple[int, int]], others: "array[int] | None" = None) -> BitMap64:
    """The offsets of runs, each of which is given by its first one and how many they are, at least one; and others."""
    if not others:
        return _unfolded(runs)
    offsets = BitMap64(others)
    if runs:
        offsets |= _unfolded(runs)
    if offsets.max() >= LARGEST_OFFSET:
        raise _no_such_offsets()
    return offsets


def _unfolded(runs: Sequence[tuple[int, int]]) -> BitMap64:
    if len(runs) == 1 and 0 <= runs[0][0] <= LARGEST_OFFSET - runs[0][1]:
        # As mostly.
        first, count = runs[0]
        offsets = BitMap64()
        offsets.add_range(first, first + count)
        return offsets
    packed = codec.unfold(runs, MOST_UNFOLDED)
    if packed is not None:
        return BitMap64(array("Q", packed))
    offsets = BitMap64()
    for first, count in runs:
        if not 0 <= first <= LARGEST_OFFSET - count:
            raise _no_such_offsets()
        offsets.add_range(first, first + count)
    return offsets


def _no_such_offsets() -> UnknownReceipt:
    return UnknownReceipt(f"there are no records with such offsets, the largest is {LARGEST_OFFSET}")
