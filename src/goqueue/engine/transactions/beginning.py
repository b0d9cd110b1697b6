"""Who may have transactions, and how they begin and grow: every call is checked against the newest epoch."""

from collections.abc import Mapping

from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.core.transactions.events import Began, Enlisted, OffsetsAdded, Prepared
from goqueue.core.transactions.transaction import GroupOffset
from goqueue.engine.broker import COORDINATOR, PRODUCER_IDS, Broker
from goqueue.engine.groups import check_offsets, group_name, remember_group
from goqueue.engine.ports import Entry
from goqueue.engine.transactions.ending import abort_now
from goqueue.engine.transactions.joining import InTransaction, check
from goqueue.errors import GoQueueError, InvalidRequest, ProducerFenced
from goqueue.model.log import LogId

__all__ = [
    "add_offsets",
    "begin",
    "begin_part",
    "check_alive",
    "check_newest",
    "enlist",
    "prepare",
]


async def enlist(broker: Broker, transactional_id: str, timeout_ms: int, instance: str = "") -> Enlisted:
    """The one who comes back under an id takes over: whoever had it before can do nothing from here on."""
    coordinator, ids = broker.transactions, broker.producer_ids
    known = coordinator.lookup(transactional_id)
    given = ids.next() if known is None else ids.renew(known.producer_id, known.epoch)
    now = broker.clock.now_ns()
    enlisted = coordinator.enlist(transactional_id, given.producer_id, given.epoch, timeout_ms, now, instance)
    left_open = coordinator.open_of(given.producer_id)
    entry = (broker.streams.event(PRODUCER_IDS, given), broker.streams.event(COORDINATOR, enlisted))
    # Before it is written: two that ask at the same time must not get the same epoch.
    ids.apply(given)
    coordinator.apply(enlisted)
    await broker.commit.write(entry)
    if left_open is not None:
        await abort_now(broker, left_open, "its producer began anew")
    return enlisted


def check_newest(broker: Broker, transactional_id: str, producer_id: int, epoch: int, instance: str = "") -> None:
    """Whether whoever was enlisted as this may be enlisted again: no other instance has taken over since.

    Nothing may come between this and the enlisting: of two that ask, one must lose.
    """
    known = broker.transactions.lookup(transactional_id)
    if known is not None and instance and (producer_id, instance) == (known.producer_id, known.instance):
        # It was told of an older epoch only, as the answer with the newest one was lost.
        return
    check_alive(broker, producer_id, epoch)
    if known is not None and known.producer_id != producer_id:
        raise ProducerFenced(f"{transactional_id} is producer {known.producer_id} now, not {producer_id}")


def check_alive(broker: Broker, producer_id: int, epoch: int) -> None:
    """Whether this is still the newest instance of a producer."""
    broker.producer_ids.check(producer_id, epoch)


async def begin(broker: Broker, producer_id: int, epoch: int) -> Began:
    """Written down as soon as anything belongs to it."""
    broker.producer_ids.check(producer_id, epoch)
    began = broker.transactions.begin(producer_id, epoch, broker.clock.now_ns())
    broker.transactions.apply(began)
    broker.endings.began(began)
    return began


async def begin_part(broker: Broker, key: str, timeout_ms: int) -> Began:
    """A part of a larger transaction, with a producer identity of its own; it is decided under the key."""
    given = broker.producer_ids.next()
    began = broker.transactions.begin_part(key, given.producer_id, timeout_ms, broker.clock.now_ns())
    broker.producer_ids.apply(given)
    await _note(broker, began, (broker.streams.event(PRODUCER_IDS, given),))
    return began


async def prepare(broker: Broker, ref: InTransaction) -> None:
    """The part is complete: when this returns, all of it is durable, and only the decision is missing."""
    check(broker, ref)
    broker.endings.check_whole(ref.number)
    event = broker.transactions.prepare(ref.number, broker.clock.now_ns())
    if event is None:
        await broker.commit.durable()
    else:
        await _note(broker, event, durable=True)


async def add_offsets(
    broker: Broker,
    ref: InTransaction,
    group: str,
    offsets: Mapping[LogId, OffsetAndMetadata],
    member_id: str | None = None,
    generation: int | None = None,
) -> None:
    """Where the group goes on when the transaction commits. The member must still have the partitions then."""
    check(broker, ref)
    name = group_name(group)
    if not offsets:
        raise InvalidRequest("no offsets", hint="say for which partitions")
    check_offsets(broker, offsets)
    if member_id is None:
        await remember_group(broker, name)
    now = broker.clock.now_ns()
    broker.groups.group_or_new(name).commit(offsets, member_id=member_id, generation=generation, now=now)
    wanted = tuple(
        GroupOffset(name, *log, one.offset, one.metadata, member_id or "", generation or 0)
        for log, one in offsets.items()
    )
    await _note(broker, broker.transactions.add_offsets(ref.number, wanted))


async def _note(
    broker: Broker, event: Began | OffsetsAdded | Prepared, also: Entry = (), *, durable: bool = False
) -> None:
    """Durable only where it has to be: what is open when the broker stops is aborted after a restart."""
    broker.transactions.apply(event)
    before = broker.endings.unwritten(event.number, broker.streams)
    try:
        await broker.commit.write((*before, broker.streams.event(COORDINATOR, event), *also), durable=durable)
    except GoQueueError as refusal:
        # It is known here and not on disk: asked again, it must not seem to be both.
        broker.endings.break_off(event.number, refusal.message)
        raise
    broker.endings.noted(event.number)
