"""What native requests of operators about transactions do."""

from goqueue.engine.broker import Broker
from goqueue.engine.transactions import views
from goqueue.gateways.native.routes import Answer, Route
from goqueue.wire.native import transaction_views as heads
from goqueue.wire.native.frames import Opcode

__all__ = ["transaction_view_routes"]


def transaction_view_routes(broker: Broker) -> list[Route]:
    """Opcode, request type and what answers it."""

    async def listing(request: heads.ListTransactions) -> Answer:
        page = views.list_live(broker, after=request.after, limit=request.limit, hanging=request.hanging)
        return page, []

    async def describe(request: heads.DescribeTransaction) -> Answer:
        return views.describe(broker, request.number), []

    async def abort(request: heads.AbortAsOperator) -> Answer:
        return await views.abort_as_operator(broker, request.number), []

    async def stats(_: heads.TransactionStatsQuestion) -> Answer:
        return views.transaction_stats(broker), []

    return [
        Route(Opcode.LIST_TRANSACTIONS, heads.ListTransactions, listing),
        Route(Opcode.DESCRIBE_TRANSACTION, heads.DescribeTransaction, describe),
        Route(Opcode.ABORT_AS_OPERATOR, heads.AbortAsOperator, abort),
        Route(Opcode.TRANSACTION_STATS, heads.TransactionStatsQuestion, stats),
    ]
