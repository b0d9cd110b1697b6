"""In which transaction a producer sends now, and whether it may send at all."""

from collections.abc import Sequence

from goqueue.client.batch import Batch
from goqueue.client.open_transaction import OpenTransaction
from goqueue.errors import GoQueueError, InvalidRequest, TransactionConflict, TransactionEnded

__all__ = ["Scope"]

ENDED_BY_THEN_S = 5.0
"""So long after the time of a transaction is up, the broker has said so, or will not say anything."""


class Scope:
    """A producer with transactions never sends outside of one; for any other nothing of this matters."""

    def __init__(self, *, is_transactional: bool) -> None:
        self.is_transactional = is_transactional
        self.current: OpenTransaction | None = None
        self._last: int | None = None

    def enter(self, transaction: OpenTransaction) -> None:
        if self.current is not None:
            raise TransactionConflict(
                "another transaction of this producer is open",
                hint="end that one first, or use a producer with another transactional_id",
            )
        self.is_transactional = True
        self.current = transaction

    def leave(self, transaction: OpenTransaction) -> None:
        if self.current is transaction:
            self.current = None
            self._last = transaction._number

    def check(self, ids: str | Sequence[str | None] | None) -> None:
        """Whether records may be sent now, with these ids."""
        if self.current is None:
            raise self._none_is_open()
        self.current._check_may_send()
        if ids:
            raise InvalidRequest(
                "a record with an id in a transaction",
                hint="leave out the id: an aborted record would stand for one that is sent again",
            )

    def _none_is_open(self) -> GoQueueError:
        hint = "send inside `with producer.transaction():`, or use a producer without a transactional_id"
        if self._last is None:
            return TransactionConflict("this producer sends in transactions only, and none is open", hint=hint)
        return TransactionEnded(f"transaction {self._last} has ended, and no other one is open", hint=hint)

    def put_in(self, batch: Batch) -> None:
        """The batch is part of what is open, and need not be tried for longer."""
        if self.current is not None:
            batch.transaction = self.current.number
            batch.deadline = min(batch.deadline, self.current._deadline + ENDED_BY_THEN_S)

    def refused(self, error: GoQueueError) -> None:
        """A record is missing in the transaction."""
        if self.current is not None:
            self.current._doom(error)
