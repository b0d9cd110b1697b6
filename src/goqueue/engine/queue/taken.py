"""Taken records: the result of a poll in one partition."""

from typing import NamedTuple

from goqueue.core.delivery.delivery import Attempts
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId

__all__ = ["Taken"]


class Taken(NamedTuple):
    """Records of one partition, leased together; `attempts` has those that were delivered before."""

    log: LogId
    grant: int
    token: str
    deadline: InstantNs
    records: bytes
    number: int
    """Number of records."""
    attempts: dict[int, Attempts]
