"""Views of transactions for operators: live and ended ones, the records they hold back, and their abort."""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

from goqueue.core.transactions.transaction import Ending, Pledge, Transaction
from goqueue.engine.broker import Broker
from goqueue.engine.transactions.ending import abort_now
from goqueue.errors import InvalidRequest, TransactionEnded, UnknownPartition, UnknownTopic, UnknownTransaction
from goqueue.model.ids import InstantNs
from goqueue.model.topic import TopicName
from goqueue.model.transaction_views import (
    HeldBack,
    PlannedOffset,
    PledgedPart,
    TopicHeldBack,
    TransactionPage,
    TransactionStats,
    TransactionView,
)

__all__ = ["MOST_LISTED", "abort_as_operator", "describe", "list_live", "transaction_stats"]

MOST_LISTED = 1000
MOST_LISTED_PARTS = 20_000
"""Partitions, pledges and offsets on one page: a page with this many ends there, whatever its limit."""
BY_OPERATOR = "an operator aborted it"
NS_PER_MS = 1_000_000


def list_live(broker: Broker, *, after: int = 0, limit: int = 100, hanging: bool = False) -> TransactionPage:
    """Live transactions with numbers above `after`, the oldest first; all, or only those that hang."""
    if not 1 <= limit <= MOST_LISTED:
        raise InvalidRequest(
            f"limit must be between 1 and {MOST_LISTED}, got {limit}", hint="read further pages with `after`"
        )
    now = broker.clock.now_ns()
    stats = broker.transactions.stats()
    live = stats.open + stats.prepared
    found: list[TransactionView] = []
    parts = 0
    for one in broker.transactions.live():
        if one.number <= after or (hanging and not _is_hanging(one, now)):
            continue
        if len(found) == limit or parts >= MOST_LISTED_PARTS:
            return TransactionPage(tuple(found), live, found[-1].number)
        found.append(_live(broker, one, now))
        parts += len(one.partitions) + len(one.pledges) + len(one.offsets)
    return TransactionPage(tuple(found), live)


def describe(broker: Broker, number: int) -> TransactionView:
    """A live transaction, or an ended one that is still remembered."""
    live = broker.transactions.get(number)
    if live is not None:
        return _live(broker, live, broker.clock.now_ns())
    ending = broker.transactions.ending(number)
    if ending is None:
        raise UnknownTransaction(
            f"nothing is known of transaction {number}",
            hint="look for it in the list of live transactions; of the ended ones only the last are remembered",
        )
    return _ended(ending)


async def abort_as_operator(broker: Broker, number: int) -> TransactionView:
    """Abort a transaction of any producer. An aborted one is left as it is; a committed one is refused."""
    view = describe(broker, number)
    if view.is_live:
        await abort_now(broker, number, BY_OPERATOR)
        view = describe(broker, number)
    if view.state != "aborted":
        raise TransactionEnded(f"transaction {number} was committed", hint="all of it took effect, for good")
    return view


def transaction_stats(broker: Broker) -> TransactionStats:
    now = broker.clock.now_ns()
    hanging, oldest = 0, None
    for one in broker.transactions.live():
        oldest = oldest or one
        hanging += _is_hanging(one, now)
    topics = (_held_back(broker, topic.name) for topic in broker.catalog)
    return TransactionStats(
        *broker.transactions.stats(),
        hanging=hanging,
        oldest=None if oldest is None else oldest.number,
        oldest_age_ms=None if oldest is None else _age_ms(oldest, now),
        topics=tuple(one for one in topics if one.behind or one.aborted_records),
    )


def _held_back(broker: Broker, name: TopicName) -> TopicHeldBack:
    partitions = broker.partitions(name)
    behind = [one.high_watermark - one.stable_offset for one in partitions]
    aborted = sum(one.outcomes.aborted_count for one in partitions)
    return TopicHeldBack(name, sum(behind), max(behind), sum(map(bool, behind)), aborted)


def _live(broker: Broker, one: Transaction, now: InstantNs) -> TransactionView:
    is_ending = broker.endings.is_ending((one.number,)) or one.number in broker.endings.left_over
    return TransactionView(
        number=one.number,
        state="ending" if is_ending else one.state.value,
        producer_id=one.producer_id,
        epoch=one.epoch,
        transactional_id=one.transactional_id,
        key=one.key,
        began_ns=one.began_at,
        deadline_ns=one.deadline,
        age_ms=_age_ms(one, now),
        timeout_ms=one.timeout_ms,
        hanging=_is_hanging(one, now),
        partitions=tuple(_holds(broker, one.number, part.topic, part.partition) for part in one.partitions),
        pledges=_pledged(one.pledges),
        offsets=tuple(PlannedOffset(o.group, o.topic, o.partition, o.offset) for o in one.offsets),
    )


def _holds(broker: Broker, number: int, topic: str, partition: int) -> HeldBack:
    """No records, if the topic was deleted meanwhile."""
    with suppress(UnknownTopic, UnknownPartition):
        outcomes = broker.partition(TopicName(topic), partition).outcomes
        return HeldBack(topic, partition, outcomes.count(number), outcomes.first_offset(number))
    return HeldBack(topic, partition, 0, None)


def _pledged(pledges: Iterable[Pledge]) -> tuple[PledgedPart, ...]:
    """Pledges summed up, as a worker that acknowledges one by one makes a pledge for each record."""
    counts: Counter[tuple[str, str, int, str]] = Counter()
    for one in pledges:
        counts[one.group, one.topic, one.partition, one.action] += one.count
    return tuple(PledgedPart(*what, count) for what, count in counts.items())


def _ended(ending: Ending) -> TransactionView:
    return TransactionView(
        ending.number,
        ending.state.value,
        ending.producer_id,
        ending.epoch,
        ended_ns=ending.at,
        why=ending.why,
    )


def _is_hanging(one: Transaction, now: InstantNs) -> bool:
    return 2 * (now - one.began_at) > one.timeout_ms * NS_PER_MS


def _age_ms(one: Transaction, now: InstantNs) -> int:
    # The system clock may be set back.
    return max(0, now - one.began_at) // NS_PER_MS
