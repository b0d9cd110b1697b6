"""Look at transactions, and abort one that hangs: what operators need, for both kinds of admin."""

from goqueue.client.blocking import Blocking
from goqueue.client.link import Link
from goqueue.model.transaction_views import TransactionPage, TransactionStats, TransactionView
from goqueue.wire.native import transaction_views as heads
from goqueue.wire.native.frames import Opcode

__all__ = ["BlockingTransactionAdmin", "TransactionAdmin"]


class TransactionAdmin:
    """The part of `Admin` that is about transactions."""

    _link: Link

    async def list_transactions(self, *, after: int = 0, limit: int = 100, hanging: bool = False) -> TransactionPage:
        """Live transactions above the number `after`, the oldest first; with `hanging` those whose time is half over.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                page = await admin.list_transactions(hanging=True)
                print(page.transactions)
        """
        request = heads.ListTransactions(after, limit, hanging)
        return await self._link.ask(Opcode.LIST_TRANSACTIONS, request, TransactionPage)

    async def describe_transaction(self, number: int) -> TransactionView:
        """What belongs to a live transaction, or how and why one has ended.

        Example:

            from goqueue.client import Admin, Producer

            async with Producer(transactional_id="billing-1") as producer, Admin() as admin:
                async with producer.transaction() as transaction:
                    view = await admin.describe_transaction(transaction.number)
                    print(view.state)
        """
        return await self._link.ask(Opcode.DESCRIBE_TRANSACTION, heads.DescribeTransaction(number), TransactionView)

    async def abort_transaction(self, number: int) -> TransactionView:
        """Abort a transaction of any producer: nothing of it takes effect, and readers no longer wait for it.

        Example:

            from goqueue.client import Admin, Producer

            async with Producer(transactional_id="billing-1") as producer, Admin() as admin:
                async with producer.transaction() as transaction:
                    await admin.abort_transaction(transaction.number)
                    await transaction.abort()
        """
        return await self._link.ask(Opcode.ABORT_AS_OPERATOR, heads.AbortAsOperator(number), TransactionView)

    async def transaction_stats(self) -> TransactionStats:
        """The number of transactions now and before, the oldest, and the topics in which they hold back readers.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                print(await admin.transaction_stats())
        """
        return await self._link.ask(Opcode.TRANSACTION_STATS, heads.TransactionStatsQuestion(), TransactionStats)


class BlockingTransactionAdmin(Blocking):
    """The same, with calls that block."""

    _client: TransactionAdmin

    def list_transactions(self, *, after: int = 0, limit: int = 100, hanging: bool = False) -> TransactionPage:
        """Live transactions above the number `after`, the oldest first; with `hanging` those whose time is half over.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                page = admin.list_transactions(hanging=True)
                print(page.transactions)
        """
        return self._run(self._client.list_transactions, after=after, limit=limit, hanging=hanging)

    def describe_transaction(self, number: int) -> TransactionView:
        """What belongs to a live transaction, or how and why one has ended.

        Example:

            from goqueue import Admin, Producer

            with Producer(transactional_id="billing-1") as producer, Admin() as admin:
                with producer.transaction() as transaction:
                    view = admin.describe_transaction(transaction.number)
                    print(view.state)
        """
        return self._run(self._client.describe_transaction, number)

    def abort_transaction(self, number: int) -> TransactionView:
        """Abort a transaction of any producer: nothing of it takes effect, and readers no longer wait for it.

        Example:

            from goqueue import Admin, Producer

            with Producer(transactional_id="billing-1") as producer, Admin() as admin:
                with producer.transaction() as transaction:
                    admin.abort_transaction(transaction.number)
                    transaction.abort()
        """
        return self._run(self._client.abort_transaction, number)

    def transaction_stats(self) -> TransactionStats:
        """The number of transactions now and before, the oldest, and the topics in which they hold back readers.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                print(admin.transaction_stats())
        """
        return self._run(self._client.transaction_stats)
