"""Transactional acknowledgements: ack, nack or reject queue records when the transaction commits.

Until then the records stay leased, for as long as the transaction may take. A dead letter is written at once, as a
record of the transaction that is hidden until it commits.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from pyroaring import BitMap64

from goqueue.core.delivery.delivery import Returns
from goqueue.core.delivery.events import Extended
from goqueue.core.transactions.transaction import Pledge
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.queue.dead_letters import ERROR_TYPES, FAILED, REJECTED, DeadLetters
from goqueue.engine.queue.settle import Lease, leased_records, retry_policy
from goqueue.engine.queue.states import QueueState
from goqueue.engine.staged_append import StagedAppend
from goqueue.engine.state_log import Also, Decision
from goqueue.engine.tracing.dead_letters import note_dead
from goqueue.engine.transactions.joining import InTransaction, check, joined, transaction_owner
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.model.ids import InstantNs
from goqueue.model.runs import runs_of
from goqueue.model.topic import LONGEST_VISIBILITY_MS

__all__ = ["Action", "pledge", "pledge_all"]

Action = Literal["ack", "nack", "reject"]
GRACE_NS = 5_000_000_000
"""Added to the deadline of the transaction, so that a late commit still finds its records leased."""


async def pledge_all(
    broker: Broker,
    ref: InTransaction,
    leases: Iterable[Lease],
    action: Action,
    reason: str = "",
    pause_ms: int | None = None,
) -> tuple[int, int]:
    """Pledge all leases, or fail the transaction; returns the numbers of records and of dead letters."""
    check(broker, ref)
    records = dead = 0
    try:
        for lease in leases:
            dead += await pledge(broker, ref, lease, action, reason, pause_ms)
            records += len(lease.offsets)
    except GoQueueError as refusal:
        # Some may have been added although the caller is answered with an error.
        broker.endings.break_off(ref.number, refusal.message)
        raise
    return records, dead


async def pledge(
    broker: Broker, ref: InTransaction, lease: Lease, action: Action, reason: str = "", pause_ms: int | None = None
) -> int:
    """Pledge all records of a lease or none; returns the number of dead letters."""
    check(broker, ref)
    if pause_ms is not None and not 0 <= pause_ms <= LONGEST_VISIBILITY_MS:
        raise InvalidRequest(
            f"the pause must be between 0 and {LONGEST_VISIBILITY_MS} ms, got {pause_ms}",
            hint="leave it out for the backoff of the topic",
        )
    state, offsets = leased_records(broker, lease)
    pledging = _Pledging(broker, ref, state, lease.grant)
    match action:
        case "ack":
            await pledging.keep(offsets, "ack", "", None)
            return 0
        case "reject":
            await pledging.bury(list(offsets), reason or "rejected", REJECTED)
            return len(offsets)
        case "nack":
            reason = reason or "nack"
            returns = Returns(lease.grant, list(offsets), reason)
            policy = retry_policy(broker, state)
            exhausted = state.delivery.fail(returns, policy, pause_ms=pause_ms, now=broker.clock.now_ns()).exhausted
            if exhausted:
                await pledging.bury(exhausted, reason, FAILED)
                offsets = offsets - BitMap64(exhausted)
            if offsets:
                await pledging.keep(offsets, "nack", reason, pause_ms)
            return len(exhausted)


class _Pledging:
    """Adds records of one grant to a transaction."""

    def __init__(self, broker: Broker, ref: InTransaction, state: QueueState, grant: int) -> None:
        self._broker = broker
        self._ref = ref
        self._state = state
        self._grant = grant

    async def keep(self, offsets: BitMap64, action: Literal["ack", "nack"], reason: str, pause_ms: int | None) -> None:
        """Keep the records leased until the transaction ends."""
        wanted = self._pledge(offsets, action, reason, pause_ms)
        await self._change(offsets, wanted)

    async def bury(self, offsets: Sequence[int], reason: str, cause: str) -> None:
        """Like `keep`, with a copy in the dead-letter topic."""
        letters = DeadLetters(self._broker, self._state)
        target = await letters.target()
        left = list(offsets)
        while left:
            copies = await letters.copies(left, reason, cause)
            moved, start_ns = copies.moved, self._broker.clock.now_ns()
            wanted = self._pledge(BitMap64(moved), "reject", reason, None, cause)
            base = await self._append(BitMap64(moved), wanted, target, copies.batch)
            if self._broker.tracing.is_on:
                number = self._ref.number
                dead, copied, error_type = copies.dead, copies.letters, ERROR_TYPES[cause]
                note_dead(
                    self._broker, self._state, dead, copied, target.id, base, reason, error_type, start_ns, number
                )
            left = left[len(moved) :]

    async def _append(self, offsets: BitMap64, wanted: Pledge, target: Partition, batch: bytearray) -> int:
        """Write the pledge with copies of its records; returns the offset of the first copy."""
        staged: list[StagedAppend] = []
        number = self._ref.number

        def events() -> Decision:
            return joined(self._broker, self._ref, target.id)

        def append() -> Sequence[StagedAppend]:
            staged.extend([target.stage(batch, transaction=number)] if batch else ())
            return staged

        await self._change(offsets, wanted, events, append)
        return staged[0].batch.base_offset if staged else 0

    async def _change(
        self,
        offsets: BitMap64,
        wanted: Pledge,
        events: Callable[[], Decision] = tuple,
        appends: Callable[[], Sequence[StagedAppend]] = tuple,
    ) -> None:
        broker, number = self._broker, self._ref.number

        def also() -> Also:
            pledged = (transaction_owner(broker, number), broker.transactions.pledge(number, wanted))
            given = (*events(), pledged)
            return Also(events=given, appends=appends(), done=broker.endings.track(number))

        await broker.queues.change(self._state, lambda: self._held(offsets), also)

    def _held(self, offsets: BitMap64) -> Extended:
        """Extend the lease to the end of the transaction."""
        check(self._broker, self._ref)
        until = InstantNs(self._broker.transactions.deadline_of(self._ref.number) + GRACE_NS)
        return self._state.delivery.extend(self._grant, offsets, max(until, self._deadline(offsets)))

    def _deadline(self, offsets: BitMap64) -> InstantNs:
        grant = self._state.delivery.grant(self._grant)
        return InstantNs(0) if grant is None else min(map(grant.deadline_of, offsets))

    def _pledge(self, offsets: BitMap64, action: Action, reason: str, pause_ms: int | None, cause: str = "") -> Pledge:
        state = self._state
        deadline = self._deadline(offsets)
        return Pledge(state.group, *state.log, self._grant, runs_of(offsets), action, deadline, pause_ms, reason, cause)
