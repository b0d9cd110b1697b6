"""Transactions for operators: which there are, what they hold back, how they ended; and to abort one that hangs."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.engine.broker import Broker
from goqueue.engine.transactions import views
from goqueue.gateways.http.api.transaction_shapes import Whole
from goqueue.gateways.http.endpoint import Endpoint, Nothing
from goqueue.gateways.http.forms.times import instant_text
from goqueue.model.transaction_views import TransactionView

__all__ = ["ENDPOINTS"]

TAG = "Transactions"


class TransactionParams(msgspec.Struct, frozen=True):
    transaction: Whole


class ListQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`hanging` leaves out those that have more than half of their time left."""

    limit: Annotated[int, Meta(ge=1, le=views.MOST_LISTED)] = 100
    after: Annotated[Whole, Meta(description="next_after of the page before")] = 0
    hanging: bool = False


class Held(msgspec.Struct, frozen=True):
    """Records that nobody sees before the commit; readers of committed records wait in front of the first one."""

    topic: str
    partition: int
    records: int
    first_offset: int | None


class PledgedOut(msgspec.Struct, frozen=True):
    """Records of the queue that are acknowledged, given back or rejected when it commits."""

    group: str
    topic: str
    partition: int
    action: str
    records: int


class OffsetOut(msgspec.Struct, frozen=True):
    """Where a group goes on when it commits."""

    group: str
    topic: str
    partition: int
    offset: int


class TransactionOut(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state is open, prepared, ending, committed or aborted. A part of a larger one has a `key`."""

    transaction: int
    state: str
    producer_id: int
    epoch: int
    transactional_id: str | UnsetType = UNSET
    key: str | UnsetType = UNSET
    began: str | UnsetType = UNSET
    deadline: str | UnsetType = UNSET
    age_ms: int | UnsetType = UNSET
    timeout_ms: int | UnsetType = UNSET
    hanging: bool | UnsetType = UNSET
    partitions: list[Held] | UnsetType = UNSET
    pledges: list[PledgedOut] | UnsetType = UNSET
    offsets: list[OffsetOut] | UnsetType = UNSET
    ended: str | UnsetType = UNSET
    why: str | UnsetType = UNSET


class TransactionsPage(msgspec.Struct, frozen=True):
    """Some of `total` live transactions, the oldest first; `next_after` is null at the end."""

    transactions: list[TransactionOut]
    total: int
    next_after: int | None


class TopicOut(msgspec.Struct, frozen=True):
    """`behind` is how many offsets readers of committed records are held back, in all partitions together."""

    topic: str
    behind: int
    most_behind: int
    partitions_behind: int
    aborted_records: int


class StatsOut(msgspec.Struct, frozen=True):
    """Live ones now, ended ones since the broker has data; the topics where transactions make a difference."""

    open: int
    prepared: int
    committed: int
    aborted: int
    timed_out: int
    hanging: int
    oldest: int | None
    oldest_age_ms: int | None
    topics: list[TopicOut]


async def list_live(broker: Broker, _: Nothing, query: ListQuery, __: None) -> TransactionsPage:
    page = views.list_live(broker, after=query.after, limit=query.limit, hanging=query.hanging)
    return TransactionsPage([_shown(one) for one in page.transactions], page.live, page.after)


async def show(broker: Broker, params: TransactionParams, _: Nothing, __: None) -> TransactionOut:
    return _shown(views.describe(broker, params.transaction))


async def abort(broker: Broker, params: TransactionParams, _: Nothing, __: None) -> TransactionOut:
    return _shown(await views.abort_as_operator(broker, params.transaction))


async def stats(broker: Broker, _: Nothing, __: Nothing, ___: None) -> StatsOut:
    return msgspec.convert(views.transaction_stats(broker), StatsOut, from_attributes=True)


def _shown(one: TransactionView) -> TransactionOut:
    ended = {} if one.ended_ns is None else {"ended": instant_text(one.ended_ns), "why": one.why or UNSET}
    common = {"transaction": one.number, "state": one.state, "producer_id": one.producer_id, "epoch": one.epoch}
    if one.began_ns is None or one.deadline_ns is None:
        return TransactionOut(**common, **ended)  # type: ignore[arg-type]
    return TransactionOut(
        **common,  # type: ignore[arg-type]
        transactional_id=one.transactional_id or UNSET,
        key=one.key or UNSET,
        began=instant_text(one.began_ns),
        deadline=instant_text(one.deadline_ns),
        age_ms=UNSET if one.age_ms is None else one.age_ms,
        timeout_ms=UNSET if one.timeout_ms is None else one.timeout_ms,
        hanging=one.hanging,
        partitions=[Held(*msgspec.structs.astuple(part)) for part in one.partitions],
        pledges=[PledgedOut(*msgspec.structs.astuple(part)) for part in one.pledges],
        offsets=[OffsetOut(*msgspec.structs.astuple(part)) for part in one.offsets],
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/transactions/stats",
        tag=TAG,
        summary="How many there are and were, the oldest, and what they hold back",
        handler=stats,
        response=StatsOut,
    ),
    Endpoint(
        method="GET",
        path="/transactions",
        tag=TAG,
        summary="The transactions that have not ended, the oldest first",
        handler=list_live,
        query=ListQuery,
        response=TransactionsPage,
    ),
    Endpoint(
        method="GET",
        path="/transactions/{transaction}",
        tag=TAG,
        summary="A transaction: what belongs to it, or how and why it ended",
        handler=show,
        params=TransactionParams,
        response=TransactionOut,
        errors=(404,),
    ),
    Endpoint(
        method="POST",
        path="/transactions/{transaction}/abort",
        tag=TAG,
        summary="Abort a transaction, whoever began it",
        handler=abort,
        params=TransactionParams,
        response=TransactionOut,
        errors=(404, 409),
    ),
)
