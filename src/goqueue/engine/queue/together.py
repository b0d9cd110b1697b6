"""Batched decisions of a queue: waiting acknowledgements become one event, waiting takes a lease each.

They are written together, too. They do not depend on each other: leases are of records that are not leased,
acknowledgements of records that are.
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
    """Queue an acknowledgement; `tell` is called when it is durable, or with the error.

    `offsets` is called for the decision, and returns none if all records are settled already.
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
    """Decide as the holder of the lock, which is passed on."""
    acks, polls = _next_acks(state), state.polls
    state.polls = []
    if state.acks:
        state.lock.ask(partial(_decide, broker, state))
    changes = (_settle(broker, state, acks), lease_at_once(broker, state, polls))
    broker.queues.begin_all(state, [change for change in changes if change is not None])


def _next_acks(state: QueueState) -> list[Ack]:
    """Take one acknowledgement for each grant, as later ones of a grant depend on it."""
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
