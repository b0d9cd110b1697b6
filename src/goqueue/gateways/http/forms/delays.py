"""When a record is to be delivered, as it stands in JSON: after a delay, or at a time."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import UNSET, UnsetType

from goqueue.errors import InvalidRecord, InvalidRequest
from goqueue.gateways.http.forms.times import LONGEST_MS, MILLISECONDS, When, duration_ms, duration_schema, when_ns
from goqueue.gateways.http.rules import AtMostOne, Rule, RuleBroken, check_rules
from goqueue.model.delay import due_ns

__all__ = ["Delay", "DelayFields", "due_of"]

# What is wrong with a delay is wrong with one record and not with the request, so the document alone has these limits.
Delay = (
    Annotated[str, msgspec.Meta(extra_json_schema=duration_schema(0, LONGEST_MS))]
    | Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 0, "maximum": LONGEST_MS, "description": MILLISECONDS})]
)
"""The type of a field that says after how long a record is delivered."""


class DelayFields(msgspec.Struct, frozen=True, kw_only=True):
    """`delay`, or `deliverAt`, also written `deliver_at`. Zero, or a time that has passed, means at once."""

    delay: Delay | UnsetType = UNSET
    deliver_at: When | UnsetType = msgspec.field(name="deliverAt", default=UNSET)
    deliver_at_too: When | UnsetType = msgspec.field(name="deliver_at", default=UNSET)

    # What is wrong with one record is told of that record, so this is checked when it is made, and not when it is read.
    RULES: ClassVar[tuple[Rule, ...]] = (AtMostOne("delay", "deliverAt", "deliver_at"),)

    @property
    def has_delay(self) -> bool:
        return not (self.delay is UNSET and self.deliver_at is UNSET and self.deliver_at_too is UNSET)


def due_of(given: DelayFields, *, now_ns: int) -> int:
    """The instant that is meant; 0 for at once."""
    if not given.has_delay:
        return 0
    try:
        check_rules(given)
    except RuleBroken as broken:
        raise InvalidRecord(broken.message, hint=broken.hint) from None
    at = given.deliver_at if given.deliver_at is not UNSET else given.deliver_at_too
    try:
        delay = None if given.delay is UNSET else _delay_ms(given.delay)
        instant = None if at is UNSET else when_ns(at, "deliverAt", now_ns=now_ns)
    except InvalidRequest as error:
        raise InvalidRecord(error.message, hint=error.hint) from None
    return due_ns(delay, instant, now_ns=now_ns)


def _delay_ms(given: str | int) -> int:
    delay = duration_ms(given, "delay")
    if not 0 <= delay <= LONGEST_MS:
        raise InvalidRecord(
            f"delay must be between 0 and {LONGEST_MS} ms, got {delay} ms", hint="write it with a unit, such as 5m"
        )
    return delay
