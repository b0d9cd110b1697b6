"""Until when a record is worth delivering, as it stands in JSON: a time to live, or a time."""

from msgspec import UNSET, UnsetType

from goqueue.errors import InvalidRecord, InvalidRequest
from goqueue.gateways.http.forms.times import When, when_ns
from goqueue.model.expiry import expires_ns

__all__ = ["expiry_from"]


def expiry_from(given: When | UnsetType, *, now_ns: int) -> int | None:
    if given is UNSET:
        return None
    try:
        instant = when_ns(given, "expires", now_ns=now_ns)
    except InvalidRequest as error:
        raise InvalidRecord(error.message, hint=error.hint) from None
    return expires_ns(None, instant, now_ns=now_ns) if instant else expires_ns(0, None, now_ns=now_ns)
