"""Decide together what has come for a queue: acknowledgements are one event, takes of a backlog a lease each.

So they are written together, too. None of them depends on the others: a lease is of records that nobody has, an
acknowledgement of those that somebody has.
"""

from collections.abc import Callable
from functools import partial

from goqueue.core.delivery.events import PartOfGrant, Settled
from goqueue.core.delivery.packed import Offsets
from goqueue.engine.broker import Broker
from goqueue.engine.queue.at_once import lease_at_once
from goqueue.engine.queue.states import Ack, Change, PollAtOnce, QueueState
from goqueue.errors import GoQueueError

__all__ = ["settle_acked", "take_together"]


def settle_acked(
    broker: Broker,
    state: QueueState,
    grant: int,
    offsets: Callable[[], Offsets],
    tell: Callable[[Exception | None], None],
) -> None:
    """`tell` is called when it is certain, or with what went wrong.

    `offsets` is called when it is decided, and gives none where nothing is left to do.
    """
    _ask_turn(broker, state)
    state.acks.append(Ack(grant, offsets, tell))


def take_together(broker: Broker, state: QueueState, poll: PollAtOnce) -> None:
    _ask_turn(broker, state)
    state.polls.append(poll)


def _ask_turn(broker: Broker, state: QueueState) -> None:
    if not (state.acks or state.polls):
        state.lock.ask(partial(_decide, broker, state))


def _decide(broker: Broker, state: QueueState) -> None:
    """For whoever has the turn, which is handed on."""
    acks, polls = _next_acks(state), state.polls
    state.polls = []
    if state.acks:
        state.lock.ask(partial(_decide, broker, state))
    changes = (_settle(broker, state, acks), lease_at_once(broker, state, polls))
    broker.queues.begin_all(state, [change for change in changes if change is not None])


def _next_acks(state: QueueState) -> list[Ack]:
    """What is said of a grant depends on what was said of it before, so one at a time."""
    first: dict[int, Ack] = {}
    for ack in state.acks:
        first.setdefault(ack.grant, ack)
    state.acks = [ack for ack in state.acks if first[ack.grant] is not ack] if len(first) < len(state.acks) else []
    return list(first.values())


def _settle(broker: Broker, state: QueueState, acks: list[Ack]) -> Change | None:
    parts: list[PartOfGrant] = []
    agreed: list[Ack] = []
    for ack in acks:
        try:
            broker.queues.check_there(state)
            left = ack.offsets()
            if left:
                parts.append(state.delivery.part_of(ack.grant, left))
        except Exception as refusal:
            ack.tell(refusal)
        else:
            agreed.append(ack)

    def tell(refusal: GoQueueError | None) -> None:
        for ack in agreed:
            ack.tell(refusal)

    if parts:
        return Change((Settled(tuple(parts)),), tell)
    if agreed:
        # All were settled before, which may not be durable yet.
        broker.commit.when_durable(tell)
    return None
