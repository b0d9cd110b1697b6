"""Settle what was acknowledged: what comes while a queue is busy is written down together when it is its turn."""

import asyncio
from collections.abc import Callable, Sequence

from goqueue.core.delivery.events import PartOfGrant, Settled
from goqueue.core.delivery.packed import Offsets
from goqueue.engine.group_commit import resolve
from goqueue.engine.queue.states import Ack, QueueState, QueueStates
from goqueue.errors import GoQueueError

__all__ = ["settle_acked"]


async def settle_acked(queues: QueueStates, state: QueueState, grant: int, offsets: Callable[[], Offsets]) -> None:
    """Return when it is certain. `offsets` is called when it is decided, and gives none where nothing is left to do."""
    ack = Ack(grant, offsets, asyncio.get_running_loop().create_future())
    if state.acks or state.turn.locked():
        state.acks.append(ack)
        if len(state.acks) == 1:
            # Not by this caller, who may be cancelled while others rely on it.
            queues.in_background(_settle_waiting(queues, state))
    else:
        await state.turn.acquire()
        _settle(queues, state, (ack,))
    await ack.reply


async def _settle_waiting(queues: QueueStates, state: QueueState) -> None:
    while state.acks:
        await state.turn.acquire()
        first: dict[int, Ack] = {}
        for ack in state.acks:
            first.setdefault(ack.grant, ack)
        # What is said of a grant depends on what was said of it before, so one at a time.
        state.acks = [ack for ack in state.acks if first[ack.grant] is not ack] if len(first) < len(state.acks) else []
        _settle(queues, state, tuple(first.values()))


def _settle(queues: QueueStates, state: QueueState, acks: Sequence[Ack]) -> None:
    """For whoever has the turn, which is handed on; no two of these are of one grant."""
    agreed: list[Ack] = []

    def decide() -> Settled | None:
        parts: list[PartOfGrant] = []
        for ack in acks:
            try:
                left = ack.offsets()
                if left:
                    parts.append(state.delivery.part_of(ack.grant, left))
            except GoQueueError as refusal:
                resolve(ack.reply, refusal)
            else:
                agreed.append(ack)
        return Settled(tuple(parts)) if parts else None

    def tell(refusal: GoQueueError | None) -> None:
        for ack in agreed:
            resolve(ack.reply, refusal)

    try:
        if queues.begin(state, decide, tell) is None and agreed:
            # All were settled before, which may not be durable yet.
            queues.commit.when_durable(tell)
    except Exception as error:
        for ack in acks:
            if not ack.reply.done():
                ack.reply.set_exception(error)
