"""Batches whose check takes longer than others may be kept waiting for.

All that comes after such a batch in its partition waits with it, so that the order stays.
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
    """Raise SchemaViolation when a value does not fit. A check that takes longer is handed back unfinished."""
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
    """One of the two is called when the check is finished, before anything that is held behind it."""
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
