"""Identities of idempotent producers: numbers that are never assigned twice."""

from goqueue.core.producers.identities import IdentityGiven
from goqueue.engine.broker import Broker
from goqueue.engine.stream_names import PRODUCER_IDS

__all__ = ["init_producer"]


async def init_producer(broker: Broker, producer_id: int | None, epoch: int) -> tuple[int, int]:
    """A new identity, or the next epoch of one, which fences every instance with an older epoch."""

    def decide() -> list[IdentityGiven]:
        ids = broker.producer_ids
        return [ids.next() if producer_id is None else ids.bump(producer_id, epoch)]

    (given,) = await broker.state_log.change(broker.state_log.owner(PRODUCER_IDS), decide)
    return given.producer_id, given.epoch
