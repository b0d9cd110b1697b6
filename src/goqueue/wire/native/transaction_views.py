"""Heads of native frames with which operators look at transactions. For how they change over time, see `messages`."""

import msgspec

__all__ = ["AbortAsOperator", "DescribeTransaction", "ListTransactions", "TransactionStatsQuestion"]


class ListTransactions(msgspec.Struct, frozen=True, array_like=True):
    """Live ones with numbers above `after`, all or those that hang. The answer is a `TransactionPage`."""

    after: int = 0
    limit: int = 100
    hanging: bool = False


class DescribeTransaction(msgspec.Struct, frozen=True, array_like=True):
    """A live one, or one that has ended. The answer is a `TransactionView`."""

    number: int


class AbortAsOperator(msgspec.Struct, frozen=True, array_like=True):
    """Whoever began it. The answer is a `TransactionView`."""

    number: int


class TransactionStatsQuestion(msgspec.Struct, frozen=True, array_like=True):
    """The answer is a `TransactionStats`."""
