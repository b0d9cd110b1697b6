"""Which transaction the records of a publish belong to."""

from goqueue.engine.transactions.joining import InTransaction
from goqueue.errors import InvalidRequest
from goqueue.wire.native import messages

__all__ = ["in_transaction"]


def in_transaction(head: messages.Publish, *, wants_reply: bool) -> InTransaction:
    """Only of a publish that names one."""
    assert head.transaction is not None
    if head.producer_id is None:
        raise InvalidRequest("records of a transaction without a producer", hint="say whose transaction it is")
    if not wants_reply:
        raise InvalidRequest(
            "records of a transaction without a reply",
            hint="wait for the reply: a transaction must not be committed without all of its records",
        )
    return InTransaction(head.transaction, head.producer_id, head.producer_epoch)
