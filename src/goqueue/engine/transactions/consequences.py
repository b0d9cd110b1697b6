"""Effects of ended transactions on groups: committed offsets and settled records."""

from collections.abc import Sequence

import msgspec
from pyroaring import BitMap64

from goqueue.core.delivery.delivery import Returns
from goqueue.core.delivery.events import DeliveryEvent
from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.core.groups.registry import GroupChange
from goqueue.core.transactions.transaction import GroupOffset, Pledge, Transaction
from goqueue.engine.broker import Broker
from goqueue.engine.queue.dead_letters import REJECTED, DeadLetters
from goqueue.engine.queue.settle import retry_policy
from goqueue.engine.queue.states import QueueState
from goqueue.engine.state_log import Decision, MachineOwner
from goqueue.engine.stream_names import GROUPS
from goqueue.engine.tracing.delivering import Settling, committed_offset, note_committed, note_settled, settling
from goqueue.errors import UnknownReceipt
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId
from goqueue.model.span import ErrorType
from goqueue.model.span import Operation as Span

__all__ = ["GroupMoves", "QueueChanges"]

NEVER_EXHAUSTED = 1 << 31


class QueueChanges:
    """Events for the queues of pledges and offsets, decided under their locks."""

    def __init__(self, broker: Broker, ends: Sequence[tuple[Transaction, bool]]) -> None:
        self._broker = broker
        self._ends = ends
        self.owners: list[QueueState] = sorted(self._states(), key=lambda one: (one.group, one.log))
        self.events: list[tuple[QueueState, DeliveryEvent]] = []
        self._dead: list[tuple[QueueState, Pledge]] = []
        self._said: list[tuple[QueueState, Pledge, Settling, int]] = []
        """Settlements within committed transactions, with the transaction numbers."""

    def _states(self) -> set[QueueState]:
        places = {(one.group, LogId(one.topic, one.partition)) for each, _ in self._ends for one in each.pledges}
        places |= {
            (one.group, LogId(one.topic, one.partition))
            for each, committed in self._ends
            if committed
            for one in each.offsets
        }
        found = (self._broker.queues.get(*place) for place in places)
        return {state for state in found if state is not None and state.delivery.is_open}

    def decide(self) -> None:
        """Decide; refused if one of the records is no longer leased, or a group was deleted."""
        for each, committed in self._ends:
            for pledge in each.pledges:
                self._decide(pledge, each.number, committed=committed)
            if committed:
                for offset in each.offsets:
                    self._go_to(offset)

    def _decide(self, pledge: Pledge, number: int, *, committed: bool) -> None:
        state = self._broker.queues.get(pledge.group, LogId(pledge.topic, pledge.partition))
        if state is None or state not in self.owners:
            if committed:
                raise UnknownReceipt(f"the group {pledge.group} takes nothing from {pledge.topic} any more")
            return
        offsets = BitMap64([one for first, count in pledge.offsets for one in range(first, first + count)])
        if committed and self._broker.tracing.is_on:
            now = self._broker.clock.now_ns()
            said = settling(self._broker, state, pledge.grant, list(offsets), now)
            self._said.append((state, pledge, said, number))
        event = self._kept(state, pledge, offsets) if committed else self._given_up(state, pledge, offsets)
        if event is not None:
            self.events.append((state, event))

    def _kept(self, state: QueueState, pledge: Pledge, offsets: BitMap64) -> DeliveryEvent | None:
        delivery = state.delivery
        match pledge.action:
            case "ack":
                return delivery.settle({pledge.grant: offsets})
            case "reject":
                self._dead.append((state, pledge))
                return delivery.settle({pledge.grant: offsets}, is_dead=True)
            case "nack":
                # Records that failed too often were sorted out when they were pledged, and are dead letters already.
                policy = retry_policy(self._broker, state)
                patient = msgspec.structs.replace(policy, max_attempts=NEVER_EXHAUSTED)
                returns = Returns(pledge.grant, list(offsets), pledge.reason)
                now = self._broker.clock.now_ns()
                return delivery.fail(returns, patient, pause_ms=pledge.pause_ms, now=now).event

    @staticmethod
    def _given_up(state: QueueState, pledge: Pledge, offsets: BitMap64) -> DeliveryEvent | None:
        """Restore the lease: it has the time that was left, which may be none."""
        grant = state.delivery.grant(pledge.grant)
        left = offsets & grant.records if grant is not None else BitMap64()
        return state.delivery.extend(pledge.grant, left, InstantNs(pledge.restore_deadline)) if left else None

    def _go_to(self, given: GroupOffset) -> None:
        state = self._broker.queues.get(given.group, LogId(given.topic, given.partition))
        if state is None or state not in self.owners:
            return
        delivery = state.delivery
        event: DeliveryEvent | None
        if given.offset >= delivery.floor:
            event = delivery.forget_below(given.offset)
        else:
            event = delivery.reposition(given.offset)
        if event is not None:
            self.events.append((state, event))

    def applied(self) -> None:
        """Count and trace what the events say."""
        for state, pledge in self._dead:
            DeadLetters(self._broker, state).count(pledge.count, pledge.reason, pledge.cause)
        for state, pledge, said, number in self._said:
            self._broker.queues.in_background(_note(self._broker, state, pledge, said, number))

    def tell(self) -> None:
        """Wake polls that wait for a record or for room."""
        for group in {state.group for state, _ in self.events}:
            self._broker.queues.changed(group)


async def _note(broker: Broker, state: QueueState, pledge: Pledge, said: Settling, number: int) -> None:
    match pledge.action:
        case "ack":
            await note_settled(broker, state, said, Span.ACK, transaction=number)
        case "reject" if pledge.cause == REJECTED:
            error, error_type = pledge.reason, ErrorType.REJECTED
            await note_settled(broker, state, said, Span.REJECT, error=error, error_type=error_type, transaction=number)
        case _:
            error, error_type = pledge.reason, ErrorType.NACKED
            await note_settled(broker, state, said, Span.NACK, error=error, error_type=error_type, transaction=number)


class GroupMoves:
    """Committed offsets of groups; refused if a member has lost the partition since it added them."""

    def __init__(self, broker: Broker, committed: Sequence[Transaction]) -> None:
        self._broker = broker
        self._committed = committed
        self._by_member: dict[tuple[str, str, int], dict[LogId, OffsetAndMetadata]] = {}
        for each in committed:
            for one in each.offsets:
                offsets = self._by_member.setdefault((one.group, one.member_id, one.generation), {})
                offsets[LogId(one.topic, one.partition)] = OffsetAndMetadata(one.offset, one.metadata)
        names = sorted({name for name, _, _ in self._by_member})
        self._owner_of = {name: broker.state_log.owner(GROUPS, name) for name in names}
        self._before: list[tuple[LogId, int | None]] = []
        self._changes: list[GroupChange] = []

    @property
    def owners(self) -> list[MachineOwner]:
        return list(self._owner_of.values())

    def decide(self) -> Decision:
        broker, now = self._broker, self._broker.clock.now_ns()
        for (name, member, generation), offsets in self._by_member.items():
            group = broker.groups.group_or_new(name)
            said_by = (member, generation) if member else (None, None)
            events = group.commit(offsets, member_id=said_by[0], generation=said_by[1], now=now)
            if events:
                self._changes.append(GroupChange(name, tuple(events)))
        if broker.tracing.is_on:
            for one in self._offsets():
                log = LogId(one.topic, one.partition)
                self._before.append((log, committed_offset(broker, one.group, log)))
        return [(self._owner_of[change.group], change) for change in self._changes]

    def _offsets(self) -> list[GroupOffset]:
        return [one for each in self._committed for one in each.offsets]

    def applied(self) -> None:
        """Notify waiting members, and trace."""
        numbers = [each.number for each in self._committed for _ in each.offsets]
        for one, number, (log, before) in zip(self._offsets(), numbers, self._before, strict=False):
            note_committed(self._broker, one.group, log, before, one.offset, member=one.member_id, transaction=number)
        for change in self._changes:
            self._broker.group_news.happened(change.group, list(change.events))
