"""Held batches: a batch whose validation takes longer does not block the event loop.

Later batches of its partition wait with it, so that the order is kept.
"""

import asyncio
from collections.abc import Callable

from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.schemas.rules import Rules
from goqueue.engine.schemas.validation import BatchCheck, first_violation
from goqueue.errors import GoQueueError, InternalError, SchemaViolation

__all__ = ["checked_at_once", "hold_until_checked"]


def checked_at_once(broker: Broker, rules: Rules, records: bytearray) -> BatchCheck | None:
    """Raise SchemaViolation if a value does not fit. A check that takes longer is returned unfinished."""
    found = first_violation(broker, rules, records)
    if isinstance(found, SchemaViolation):
        raise found
    return found


def hold_until_checked(
    partition: Partition,
    check: BatchCheck,
    size: int,
    go_on: Callable[[], None],
    refuse: Callable[[GoQueueError], None],
) -> None:
    """One of the callbacks is called when the check is finished, before the batches held after this one."""
    checking: asyncio.Task[None] | None = None

    def again() -> None:
        if checking is None or not checking.done():
            partition.hold(again, size)
        elif checking.cancelled() or checking.exception() is not None:
            refuse(InternalError("the values could not be checked"))
        elif (refusal := check.first()) is not None:
            refuse(refusal)
        else:
            go_on()

    again()
    checking = asyncio.ensure_future(check.finish())
    checking.add_done_callback(lambda _: partition.resume())
