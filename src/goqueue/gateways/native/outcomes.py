"""How a request ended, as it is counted."""

from goqueue.engine.traffic import FAILED, OK, REFUSED
from goqueue.errors import DiskFull, GoQueueError, InternalError, LogReadOnly, ReadFailed, StorageBusy, StorageFailed

__all__ = ["outcome_of"]

FAILURES = (InternalError, StorageBusy, StorageFailed, DiskFull, LogReadOnly, ReadFailed)
"""Errors that are the broker's, not those of who asks."""


def outcome_of(result: object) -> str:
    if not isinstance(result, GoQueueError):
        return OK
    return FAILED if isinstance(result, FAILURES) else REFUSED
