"""Identities of idempotent producers: numbers that are never given out twice."""

from goqueue.engine.broker import PRODUCER_IDS, Broker

__all__ = ["init_producer"]


async def init_producer(broker: Broker, producer_id: int | None, epoch: int) -> tuple[int, int]:
    """A new identity, or the next epoch of one, which fences whoever still uses the epoch before."""
    ids = broker.producer_ids
    event = ids.next() if producer_id is None else ids.bump(producer_id, epoch)
    # Applied before it is written: two producers that ask at the same time must not get the same number. Should the
    # write be refused, a number is left out, which harms nobody.
    ids.apply(event)
    await broker.commit.write((broker.streams.event(PRODUCER_IDS, event),))
    return event.producer_id, event.epoch
