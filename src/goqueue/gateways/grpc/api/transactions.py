"""What calls about transactions do: those of producers, and those of operators."""

from typing import TypeVar

from goqueue.core.transactions.events import Began
from goqueue.engine.broker import Broker
from goqueue.engine.transactions import beginning, ending, views
from goqueue.engine.transactions.joining import InTransaction, check
from goqueue.engine.transactions.pledging import Action, pledge_all
from goqueue.errors import InvalidRequest
from goqueue.gateways.grpc.api.offsets import planned
from goqueue.gateways.grpc.api.settling import LONGEST_REASON, check_settled, leases_in
from goqueue.gateways.grpc.forms.asking import at_most, limited, optional
from goqueue.gateways.grpc.forms.enums import text_of
from goqueue.gateways.grpc.forms.showing import show
from goqueue.gateways.grpc.service import Call, Handler, Service
from goqueue.wire.grpc.v1 import transactions_pb2 as wire

__all__ = ["transaction_service"]

USUAL_TIMEOUT_MS = 60_000
USUAL_LIMIT = 100
MOST_PARTS = 10_000
LONGEST_NAME = 1000

Begun = TypeVar("Begun", wire.BeginTransactionResponse, wire.BeginPartResponse)

_ACTION = wire.DESCRIPTOR.enum_types_by_name["SettleAction"]


def transaction_service(broker: Broker) -> Service:
    producers, operators = _Producers(broker), _Operators(broker)
    methods: dict[str, Handler] = {
        "InitTransactions": producers.init,
        "CheckProducer": producers.check,
        "BeginTransaction": producers.begin,
        "AddAcks": producers.add_acks,
        "AddOffsets": producers.add_offsets,
        "CommitTransaction": producers.commit,
        "AbortTransaction": producers.abort,
        "BeginPart": producers.begin_part,
        "PreparePart": producers.prepare,
        "DecideParts": producers.decide,
        "ListTransactions": operators.listing,
        "GetTransaction": operators.show,
        "ForceAbortTransaction": operators.abort,
        "GetTransactionStats": operators.stats,
    }
    return Service(wire.DESCRIPTOR.services_by_name["TransactionService"], methods)


class _Producers:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def init(self, request: wire.InitTransactionsRequest, _: Call) -> wire.InitTransactionsResponse:
        name = at_most("transactional id", request.transactional_id, LONGEST_NAME)
        known_as = (request.producer_id, request.epoch) if request.HasField("producer_id") else None
        timeout_ms = _time(optional(request, "transaction_timeout_ms"))
        enlisted = await beginning.enlist(self._broker, name, timeout_ms, request.instance, known_as)
        return show(wire.InitTransactionsResponse, enlisted)

    async def check(self, request: wire.CheckProducerRequest, _: Call) -> wire.CheckProducerResponse:
        beginning.check_alive(self._broker, request.producer_id, request.epoch)
        return wire.CheckProducerResponse(transaction=self._broker.transactions.open_of(request.producer_id))

    async def begin(self, request: wire.BeginTransactionRequest, _: Call) -> wire.BeginTransactionResponse:
        began = await beginning.begin(self._broker, request.producer_id, request.epoch)
        return _begun(wire.BeginTransactionResponse, began)

    async def add_acks(self, request: wire.AddAcksRequest, _: Call) -> wire.AddAcksResponse:
        ref, pause_ms = _ref(request.transaction), optional(request, "delay_ms")
        check(self._broker, ref)
        action = _action(request.action)
        if pause_ms is not None and action != "nack":
            raise InvalidRequest(f"a delay with {action}", hint="only what is given back with nack has a pause")
        reason = at_most("reason", request.reason, LONGEST_REASON)
        check_settled(request.records)
        records, dead = await pledge_all(self._broker, ref, leases_in(request.records), action, reason, pause_ms)
        return wire.AddAcksResponse(records=records, dead_letters=dead)

    async def add_offsets(self, request: wire.AddOffsetsRequest, _: Call) -> wire.AddOffsetsResponse:
        ref, who = _ref(request.transaction), (optional(request, "member_id"), optional(request, "generation"))
        await beginning.add_offsets(self._broker, ref, request.group, planned(request.offsets), *who)
        return wire.AddOffsetsResponse()

    async def commit(self, request: wire.CommitTransactionRequest, _: Call) -> wire.CommitTransactionResponse:
        await ending.commit(self._broker, *_ref(request.transaction))
        return wire.CommitTransactionResponse()

    async def abort(self, request: wire.AbortTransactionRequest, _: Call) -> wire.AbortTransactionResponse:
        await ending.abort(self._broker, *_ref(request.transaction))
        return wire.AbortTransactionResponse()

    async def begin_part(self, request: wire.BeginPartRequest, _: Call) -> wire.BeginPartResponse:
        key = at_most("key", request.key, LONGEST_NAME)
        began = await beginning.begin_part(self._broker, key, _time(optional(request, "timeout_ms")))
        return _begun(wire.BeginPartResponse, began)

    async def prepare(self, request: wire.PreparePartRequest, _: Call) -> wire.PreparePartResponse:
        await beginning.prepare(self._broker, _ref(request.transaction))
        return wire.PreparePartResponse()

    async def decide(self, request: wire.DecidePartsRequest, _: Call) -> wire.DecidePartsResponse:
        if len(request.transactions) > MOST_PARTS:
            raise InvalidRequest(f"{len(request.transactions)} parts", hint=f"name at most {MOST_PARTS}")
        decided = await ending.decide(self._broker, request.key, request.transactions)
        return show(wire.DecidePartsResponse, decided, decided_at_ns=decided.at)


class _Operators:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def listing(self, request: wire.ListTransactionsRequest, _: Call) -> wire.ListTransactionsResponse:
        limit = limited(optional(request, "limit"), USUAL_LIMIT, views.MOST_LISTED)
        page = views.list_live(self._broker, after=request.after, limit=limit, hanging=request.hanging)
        return show(wire.ListTransactionsResponse, page, total=page.live, next_after=page.after)

    async def show(self, request: wire.GetTransactionRequest, _: Call) -> wire.GetTransactionResponse:
        found = views.describe(self._broker, request.transaction)
        return wire.GetTransactionResponse(transaction=show(wire.Transaction, found))

    async def abort(self, request: wire.ForceAbortTransactionRequest, _: Call) -> wire.ForceAbortTransactionResponse:
        ended = await views.abort_as_operator(self._broker, request.transaction)
        return wire.ForceAbortTransactionResponse(transaction=show(wire.Transaction, ended))

    async def stats(self, _: wire.GetTransactionStatsRequest, __: Call) -> wire.GetTransactionStatsResponse:
        return show(wire.GetTransactionStatsResponse, views.transaction_stats(self._broker))


def _time(timeout_ms: int | None) -> int:
    return USUAL_TIMEOUT_MS if timeout_ms is None else timeout_ms


def _ref(given: wire.TransactionRef) -> InTransaction:
    return InTransaction(given.transaction, given.producer_id, given.epoch)


def _begun(kind: type[Begun], began: Began) -> Begun:
    ref = show(wire.TransactionRef, began, transaction=began.number)
    return show(kind, began, transaction=ref, deadline_ns=began.deadline)


def _action(number: wire.SettleAction) -> Action:
    name = text_of(_ACTION, number)
    return "nack" if name == "nack" else "reject" if name == "reject" else "ack"
