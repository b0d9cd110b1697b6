"""Settlement by receipts: many in a request, settled independently."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.queue import settle
from goqueue.engine.queue.receipts import Receipt
from goqueue.errors import GoQueueError
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId

__all__ = [
    "MOST_RECEIPTS",
    "ReceiptOutcome",
    "ack_receipts",
    "extend_receipts",
    "leases_of",
    "nack_receipts",
    "reject_receipts",
    "release_receipts",
]

MOST_RECEIPTS = 10_000
"""In one request: each receipt is a text to parse, unlike the offsets of a lease."""

Said = Callable[[Receipt], dict[str, Any]]
Act = Callable[[settle.Lease], Awaitable[Said]]
"""Settles the records of one lease; returns the outcome fields of each record."""


class ReceiptOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome for one record."""

    log: LogId
    offset: int
    deliveries: int
    committed_offset: int
    """Every record before it is settled."""
    offset_advanced: bool
    in_flight: int
    is_dead: bool = False
    dead_letter_topic: str | None = None
    visible_at: InstantNs | None = None
    """The time of the retry."""
    deadline: InstantNs | None = None
    """The new deadline of an extended lease."""


async def ack_receipts(broker: Broker, texts: Sequence[str]) -> list[ReceiptOutcome | GoQueueError]:
    async def act(lease: settle.Lease) -> Said:
        await settle.acknowledge(broker, lease)
        return _nothing_more

    return await _each(broker, texts, act)


async def nack_receipts(
    broker: Broker, texts: Sequence[str], *, reason: str = "", pause_ms: int | None = None
) -> list[ReceiptOutcome | GoQueueError]:
    async def act(lease: settle.Lease) -> Said:
        became = await settle.nack(broker, lease, reason=reason, pause_ms=pause_ms)

        def said(receipt: Receipt) -> dict[str, Any]:
            at = became.visible_at.get(receipt.offset)
            return (
                {"is_dead": True, "dead_letter_topic": became.dead_letter_topic} if at is None else {"visible_at": at}
            )

        return said

    return await _each(broker, texts, act)


async def reject_receipts(
    broker: Broker, texts: Sequence[str], *, reason: str = ""
) -> list[ReceiptOutcome | GoQueueError]:
    async def act(lease: settle.Lease) -> Said:
        topic = await settle.reject(broker, lease, reason=reason)
        return lambda _: {"is_dead": True, "dead_letter_topic": topic}

    return await _each(broker, texts, act)


async def extend_receipts(
    broker: Broker, texts: Sequence[str], visibility_ms: int
) -> list[ReceiptOutcome | GoQueueError]:
    async def act(lease: settle.Lease) -> Said:
        deadline = await settle.extend(broker, lease, visibility_ms)
        return lambda _: {"deadline": deadline}

    return await _each(broker, texts, act)


async def release_receipts(broker: Broker, texts: Sequence[str]) -> list[ReceiptOutcome | GoQueueError]:
    async def act(lease: settle.Lease) -> Said:
        await settle.give_back(broker, lease)
        return _nothing_more

    return await _each(broker, texts, act)


def leases_of(texts: Iterable[str]) -> Iterator[settle.Lease]:
    """The receipts grouped into leases. Nothing is parsed before the first one is asked for."""
    offsets: dict[tuple[str, LogId, int, str], set[int]] = {}
    for text in texts:
        receipt = Receipt.parse(text)
        offsets.setdefault(_key(receipt), set()).add(receipt.offset)
    for key, some in offsets.items():
        yield settle.Lease(*key, sorted(some))


def _nothing_more(_: Receipt) -> dict[str, Any]:
    return {}


def _key(receipt: Receipt) -> tuple[str, LogId, int, str]:
    return receipt.group, receipt.log, receipt.grant, receipt.token


async def _each(broker: Broker, texts: Sequence[str], act: Act) -> list[ReceiptOutcome | GoQueueError]:
    """One outcome for each receipt, in the order of the request."""
    outcomes: dict[int, ReceiptOutcome | GoQueueError] = {}
    leases: dict[tuple[str, LogId, int, str], list[tuple[int, Receipt]]] = {}
    for number, text in enumerate(texts):
        try:
            receipt = Receipt.parse(text)
        except GoQueueError as refusal:
            outcomes[number] = refusal
            continue
        leases.setdefault(_key(receipt), []).append((number, receipt))
    for receipts in leases.values():
        await _together(broker, receipts, act, outcomes)
    return [outcomes[number] for number in range(len(texts))]


async def _together(
    broker: Broker,
    receipts: list[tuple[int, Receipt]],
    act: Act,
    outcomes: dict[int, ReceiptOutcome | GoQueueError],
) -> None:
    """Settle the records of a lease in one step; if that is refused, one by one, so that one does not affect the
    others."""
    group, log, grant, token = _key(receipts[0][1])
    offsets = sorted({receipt.offset for _, receipt in receipts})
    before, _ = _standing(broker, group, log)
    try:
        said = await act(settle.Lease(group, log, grant, token, offsets))
    except GoQueueError as refusal:
        if len(receipts) == 1:
            outcomes[receipts[0][0]] = refusal
            return
        for one in receipts:
            await _together(broker, [one], act, outcomes)
        return
    after, in_flight = _standing(broker, group, log)
    for number, receipt in receipts:
        outcomes[number] = ReceiptOutcome(
            log=log,
            offset=receipt.offset,
            deliveries=receipt.deliveries,
            committed_offset=after,
            offset_advanced=after > before,
            in_flight=in_flight,
            **said(receipt),
        )


def _standing(broker: Broker, group: str, log: LogId) -> tuple[int, int]:
    """The committed offset and the number of records in flight; zeros if the queue was just deleted."""
    state = broker.queues.get(group, log)
    return (0, 0) if state is None else (state.delivery.floor, state.delivery.leased_count)
