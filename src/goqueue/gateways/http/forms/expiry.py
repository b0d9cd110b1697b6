"""Until when a record is worth delivering, as it stands in JSON: a time to live, or a time."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from goqueue.errors import InvalidRecord, InvalidRequest
from goqueue.gateways.http.forms.times import DURATION_PATTERN, INSTANT_PATTERN, duration_ms, instant_ns
from goqueue.model.expiry import expires_ns

__all__ = ["Expires", "expiry_from"]

# What is wrong with it is wrong with one record and not with the request, so the document alone has these limits.
Expires = (
    Annotated[
        str,
        msgspec.Meta(
            extra_json_schema={
                "pattern": f"{DURATION_PATTERN}|{INSTANT_PATTERN}",
                "examples": ["30s", "2027-01-31T12:00:00Z"],
            }
        ),
    ]
    | Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 1, "maximum": 10**12, "description": "milliseconds"})]
)
"""The type of a field that says how long, or until when; a text of digits is a number of milliseconds from now."""


def expiry_from(given: Expires | UnsetType, *, now_ns: int) -> int | None:
    if given is UNSET:
        return None
    try:
        if isinstance(given, str) and "-" in given:
            return expires_ns(None, instant_ns(given, "expires"), now_ns=now_ns)
        return expires_ns(duration_ms(given, "expires"), None, now_ns=now_ns)
    except InvalidRequest as error:
        raise InvalidRecord(error.message, hint=error.hint) from None
