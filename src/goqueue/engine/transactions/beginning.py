"""Begin of transactions: transactional ids, new transactions, and offsets; each call is checked against the newest
epoch."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.core.transactions.events import Began, CoordinatorEvent, Enlisted, Prepared
from goqueue.core.transactions.transaction import GroupOffset
from goqueue.engine.broker import Broker
from goqueue.engine.groups import check_offsets, group_name, remember_group
from goqueue.engine.state_log import Also, Decision, MachineOwner
from goqueue.engine.stream_names import COORDINATOR, PRODUCER_IDS
from goqueue.engine.transactions.ending import abort_now
from goqueue.engine.transactions.joining import InTransaction, check, transaction_owner
from goqueue.errors import InvalidRequest, ProducerFenced
from goqueue.model.log import LogId

__all__ = [
    "add_offsets",
    "begin",
    "begin_part",
    "check_alive",
    "enlist",
    "prepare",
]


async def enlist(
    broker: Broker,
    transactional_id: str,
    timeout_ms: int,
    instance: str = "",
    known_as: tuple[int, int] | None = None,
) -> Enlisted:
    """Register an instance; older instances with the same transactional id are fenced.

    An instance that gives its producer id and epoch is refused if another one has taken over since.
    """
    coordinator = broker.transactions

    def decide() -> Decision:
        if known_as is not None:
            _check_newest(broker, transactional_id, *known_as, instance)
        known = coordinator.lookup(transactional_id)
        ids = broker.producer_ids
        given = ids.next() if known is None else ids.renew(known.producer_id, known.epoch)
        now = broker.clock.now_ns()
        enlisted = coordinator.enlist(transactional_id, given.producer_id, given.epoch, timeout_ms, now, instance)
        return (identities, given), (transactions, enlisted)

    identities, transactions = _owners(broker)
    (_, (_, enlisted)) = await broker.state_log.change_together((identities, transactions), decide)
    assert isinstance(enlisted, Enlisted)
    left_open = coordinator.open_of(enlisted.producer_id)
    if left_open is not None:
        await abort_now(broker, left_open, "its producer began again")
    return enlisted


def _owners(broker: Broker) -> tuple[MachineOwner, MachineOwner]:
    """The owners of identities and of new transactions; a transaction that has begun is an owner of its own."""
    return broker.state_log.owner(PRODUCER_IDS), broker.state_log.owner(COORDINATOR)


def _check_newest(broker: Broker, transactional_id: str, producer_id: int, epoch: int, instance: str) -> None:
    known = broker.transactions.lookup(transactional_id)
    if known is not None and instance and (producer_id, instance) == (known.producer_id, known.instance):
        # The instance knows only an older epoch, because the reply with the newest one was lost.
        return
    check_alive(broker, producer_id, epoch)
    if known is not None and known.producer_id != producer_id:
        raise ProducerFenced(f"{transactional_id} is producer {known.producer_id} now, not {producer_id}")


def check_alive(broker: Broker, producer_id: int, epoch: int) -> None:
    """Raise if this is not the newest instance of a producer."""
    broker.producer_ids.check(producer_id, epoch)


async def begin(broker: Broker, producer_id: int, epoch: int) -> Began:
    """Begin a transaction; written before anything that belongs to it, and without a sync."""

    def decide() -> list[Began]:
        broker.producer_ids.check(producer_id, epoch)
        return [broker.transactions.begin(producer_id, epoch, broker.clock.now_ns())]

    (began,) = await broker.state_log.change(broker.state_log.owner(COORDINATOR), decide)
    broker.timers.set(began.deadline)
    return began


async def begin_part(broker: Broker, key: str, timeout_ms: int) -> Began:
    """Begin a part of a larger transaction, with its own producer identity; it is decided under the key."""

    def decide() -> Decision:
        given = broker.producer_ids.next()
        now = broker.clock.now_ns()
        began = broker.transactions.begin_part(key, given.producer_id, timeout_ms, now)
        return (identities, given), (transactions, began)

    identities, transactions = _owners(broker)
    (_, (_, began)) = await broker.state_log.change_together((identities, transactions), decide)
    assert isinstance(began, Began)
    broker.timers.set(began.deadline)
    return began


async def prepare(broker: Broker, ref: InTransaction) -> None:
    """Prepare a part: on return all of it is durable, and only the decision is missing."""
    check(broker, ref)
    broker.endings.check_whole(ref.number)
    await broker.endings.writes_done((ref.number,))

    def decide() -> list[Prepared]:
        broker.endings.check_whole(ref.number)
        event = broker.transactions.prepare(ref.number, broker.clock.now_ns())
        return [] if event is None else [event]

    if not await _change(broker, ref, decide):
        await broker.commit.durable()


async def add_offsets(
    broker: Broker,
    ref: InTransaction,
    group: str,
    offsets: Mapping[LogId, OffsetAndMetadata],
    member_id: str | None = None,
    generation: int | None = None,
) -> None:
    """Add offsets to commit with the transaction. The member must still own the partitions then."""
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
    await _change(broker, ref, lambda: [broker.transactions.add_offsets(ref.number, wanted)])


Event = TypeVar("Event", bound=CoordinatorEvent)


async def _change(broker: Broker, ref: InTransaction, decide: Callable[[], Sequence[Event]]) -> Sequence[Event]:
    """Change one transaction, which can only be aborted if the change is refused."""

    def decide_if_open() -> Sequence[Event]:
        check(broker, ref)
        return decide()

    def tracked() -> Also:
        return Also(done=broker.endings.track(ref.number))

    return await broker.state_log.change(transaction_owner(broker, ref.number), decide_if_open, tracked)
