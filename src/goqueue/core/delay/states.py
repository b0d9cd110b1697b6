"""The states of a delayed record, how a delay is seen from outside, and what is refused."""

from enum import Enum
from typing import NamedTuple

from goqueue.errors import InvalidRequest
from goqueue.model.ids import InstantNs

__all__ = ["LATEST_NS", "DelayState", "DelayStatus", "PendingDelay", "check_latest", "is_immediate", "refusal"]

LATEST_NS = InstantNs(2**63 - 1)
"""In the year 2262: elsewhere, instants are kept in 64 bits with a sign."""


class DelayState(Enum):
    """Every delay begins as pending and ends as one of the others, for good."""

    PENDING = "pending"
    DELIVERED = "delivered"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class DelayStatus(NamedTuple):
    """The instant is known as long as the delay is pending."""

    state: DelayState
    due: InstantNs | None


class PendingDelay(NamedTuple):
    """A delay as it is listed."""

    offset: int
    due: InstantNs


def is_immediate(due: int, *, now: InstantNs) -> bool:
    """Whether there is nothing to wait for: such a record is like any other, and no delay of it is kept."""
    return due <= now


def check_latest(due: int) -> None:
    if due > LATEST_NS:
        raise InvalidRequest(f"a delay until {due} ns", hint=f"the latest instant is {LATEST_NS} ns, in the year 2262")


def refusal(offset: int, wish: str, status: DelayStatus | None) -> InvalidRequest:
    """Why a record that is not pending cannot be changed as wished."""
    if status is None:
        why, hint = "it is not delayed", "look for it in the list of delays"
    else:
        why, hint = f"it is {status.state.value} already", "only what is pending can be changed"
    return InvalidRequest(f"record {offset} cannot be {wish}: {why}", hint=hint)
