"""Settlement of leased records: ack, nack, reject, extend and release, and the return of expired leases."""

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
"""The error in the span of a record whose lease expired."""
LARGEST_OFFSET = (1 << 63) - 1
MOST_UNFOLDED = 10_000
"""Offsets listed one by one, which is faster if they are not adjacent."""


class Lease(msgspec.Struct, frozen=True):
    """Records of one grant, with the token that authorizes it."""

    group: str
    log: LogId
    grant: int
    token: str
    offsets: Offsets


class Nacked(NamedTuple):
    """The outcome of a nack: records to retry, and records that became dead letters."""

    visible_at: dict[int, InstantNs]
    dead: list[int]
    dead_letter_topic: str | None


async def acknowledge(broker: Broker, lease: Lease) -> QueueState:
    """Acknowledge records. Repeating it is safe, as a reply may have been lost."""
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
            # The caller was cancelled.
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
    """Like `acknowledge`, for callers that do not wait, and for records that are not traced."""
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
    """Wake polls that wait for a record of the same key, or for room."""
    if state.delivery.in_key_order:
        broker.queues.changed(state.group)
    else:
        broker.queues.has_room(state.group)


def _is_over(state: QueueState, grant: int, offset: int, has_ended: Callable[[int, int], bool]) -> bool:
    return not state.delivery.is_leased(grant, offset) and has_ended(grant, offset)


async def nack(broker: Broker, lease: Lease, *, reason: str = "", pause_ms: int | None = None) -> Nacked:
    """Return records for a retry after a pause; those that have failed too often become dead letters."""
    if pause_ms is not None and not 0 <= pause_ms <= LONGEST_VISIBILITY_MS:
        raise InvalidRequest(
            f"the pause must be between 0 and {LONGEST_VISIBILITY_MS} ms, got {pause_ms}",
            hint="leave it out for the backoff of the topic",
        )
    state, offsets = leased_records(broker, lease)
    returns = Returns(lease.grant, list(offsets), reason or "nack")
    return await _fail(broker, state, lambda: returns, pause_ms)


async def reject(broker: Broker, lease: Lease, *, reason: str = "") -> str | None:
    """Move records to the dead letters; returns the name of their topic.

    As with an acknowledgement, repeating it is safe.
    """
    state, offsets = leased_records(broker, lease)
    left = [offset for offset in offsets if not _is_over(state, lease.grant, offset, state.delivery.has_buried)]
    # Check first, so that all records are moved or none.
    state.delivery.settle({lease.grant: left})
    rejected: Settling | None = None
    if left and broker.tracing.is_on:
        rejected = settling(broker, state, lease.grant, left, broker.clock.now_ns())
    letters = DeadLetters(broker, state)
    topic = await letters.move(lease.grant, left, reason or "rejected", REJECTED)
    if not left:
        # All of them were rejected before, which may not be durable yet.
        await broker.commit.durable()
    _settled(broker, state)
    if rejected is not None:
        error, error_type = reason or "rejected", ErrorType.REJECTED
        await note_settled(broker, state, rejected, Span.REJECT, error=error, error_type=error_type)
    return topic


async def extend(broker: Broker, lease: Lease, visibility_ms: int) -> InstantNs:
    """Extend a lease, counted from now."""
    if not 0 <= visibility_ms <= LONGEST_VISIBILITY_MS:
        raise InvalidRequest(
            f"the extension must be between 0 and {LONGEST_VISIBILITY_MS} ms, got {visibility_ms}",
            hint="extend again for more time",
        )
    state, offsets = leased_records(broker, lease)
    deadline = InstantNs(broker.clock.now_ns() + visibility_ms * NS_PER_MS)
    await broker.queues.change(state, lambda: state.delivery.extend(lease.grant, offsets, deadline))
    return deadline


async def give_back(broker: Broker, lease: Lease) -> None:
    """Release a lease: the records are untouched and may be leased again at once."""
    state, offsets = leased_records(broker, lease)
    returns = Returns(lease.grant, list(offsets), "given back")
    await broker.queues.change(state, lambda: state.delivery.give_back(returns, now=broker.clock.now_ns()))
    broker.queues.changed(lease.group)


async def return_overdue(broker: Broker) -> int:
    """Return records whose leases have expired; returns their number.

    A queue that fails, for example because a dead letter cannot be written, does not delay the others.
    """
    now = broker.clock.now_ns()
    count = 0
    failure: GoQueueError | None = None
    for state in broker.queues.leases.due(now):
        for grant, offsets in state.delivery.overdue(now=now, most=SWEPT_AT_ONCE):
            try:
                became = await _fail(broker, state, partial(_still_overdue, state, grant.number, offsets, now), 0)
            except UnknownReceipt:
                # Acknowledged or deleted just now.
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
    """The queue of a lease, and its offsets."""
    broker.receipts.check(lease.group, lease.log, lease.grant, lease.token)
    state = broker.queues.get(lease.group, lease.log)
    if state is None:
        raise UnknownReceipt(f"the group {lease.group} takes nothing from {lease.log} any more")
    offsets = lease.offsets
    if not offsets:
        raise InvalidRequest("a lease must name at least one record", hint="name the records to settle")
    if not isinstance(offsets, BitMap64):
        if min(offsets) < 0 or max(offsets) > LARGEST_OFFSET:
            raise UnknownReceipt(f"{lease.log} has no records {min(offsets)} to {max(offsets)}")
        offsets = BitMap64(offsets)
    return state, offsets


def offsets_of(runs: Sequence[tuple[int, int]], others: "array[int] | None" = None) -> BitMap64:
    """The offsets of runs, each given by its first offset and a length of at least one, and of others."""
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
        # The usual case.
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
    return UnknownReceipt(f"offsets must be between 0 and {LARGEST_OFFSET}")
