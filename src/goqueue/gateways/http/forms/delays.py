"""When a record is to be delivered, as it stands in JSON: after a delay, or at a time."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from goqueue.errors import InvalidRecord, InvalidRequest
from goqueue.gateways.http.forms.times import LONGEST_MS, DurationText, When, duration_ms, when_ns
from goqueue.model.delay import due_ns

__all__ = ["Delay", "DelayFields", "due_of"]

# What is wrong with a delay is wrong with one record and not with the request, so the document alone has these limits.
Delay = (
    DurationText
    | Annotated[
        int, msgspec.Meta(extra_json_schema={"minimum": 0, "maximum": LONGEST_MS, "description": "milliseconds"})
    ]
)
"""The type of a field that says after how long a record is delivered."""


class DelayFields(msgspec.Struct, frozen=True, kw_only=True):
    """`delay`, or `deliverAt`, also written `deliver_at`. Zero, or a time that has passed, means at once."""

    delay: Delay | UnsetType = UNSET
    deliver_at: When | UnsetType = msgspec.field(name="deliverAt", default=UNSET)
    deliver_at_too: When | UnsetType = msgspec.field(name="deliver_at", default=UNSET)

    @property
    def has_delay(self) -> bool:
        return not (self.delay is UNSET and self.deliver_at is UNSET and self.deliver_at_too is UNSET)


def due_of(given: DelayFields, *, now_ns: int) -> int:
    """The instant that is meant; 0 for at once."""
    if not given.has_delay:
        return 0
    at = given.deliver_at
    if given.deliver_at_too is not UNSET:
        if at is not UNSET:
            raise InvalidRecord("both deliverAt and deliver_at", hint="give one of them")
        at = given.deliver_at_too
    try:
        delay = None if given.delay is UNSET else duration_ms(given.delay, "delay")
        instant = None if at is UNSET else when_ns(at, "deliverAt", now_ns=now_ns)
    except InvalidRequest as error:
        raise InvalidRecord(error.message, hint=error.hint) from None
    return due_ns(delay, instant, now_ns=now_ns)
