"""Delay states, the public view of a delay, and refusals."""

from enum import Enum
from typing import NamedTuple

from goqueue.errors import InvalidRequest
from goqueue.model.ids import InstantNs

__all__ = ["LATEST_NS", "DelayState", "DelayStatus", "PendingDelay", "check_latest", "is_immediate", "refusal"]

LATEST_NS = InstantNs(2**63 - 1)
"""In the year 2262: elsewhere, instants are signed 64-bit integers."""


class DelayState(Enum):
    """Every delay begins as pending and ends in one of the other states, for good."""

    PENDING = "pending"
    DELIVERED = "delivered"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class DelayStatus(NamedTuple):
    """The due time is known while the delay is pending."""

    state: DelayState
    due: InstantNs | None


class PendingDelay(NamedTuple):
    """An entry of a list of delays."""

    offset: int
    due: InstantNs


def is_immediate(due: int, *, now: InstantNs) -> bool:
    """Whether the record is due already: it is then a normal record, and no delay is kept."""
    return due <= now


def check_latest(due: int) -> None:
    if due > LATEST_NS:
        raise InvalidRequest(f"a delay until {due} ns", hint=f"the latest instant is {LATEST_NS} ns, in the year 2262")


def refusal(offset: int, wish: str, status: DelayStatus | None) -> InvalidRequest:
    """The error for a change of a record that is not pending."""
    if status is None:
        why, hint = "it is not delayed", "look for it in the list of delays"
    else:
        why, hint = f"it is {status.state.value} already", "only what is pending can be changed"
    return InvalidRequest(f"record {offset} cannot be {wish}: {why}", hint=hint)
