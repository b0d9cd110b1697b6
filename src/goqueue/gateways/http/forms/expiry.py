"""Until when a record is worth delivering, as it stands in JSON: a time to live, or a time."""

from msgspec import UNSET, UnsetType

from goqueue.errors import InvalidRecord, InvalidRequest
from goqueue.gateways.http.forms.times import Expiry, is_time, when_ns
from goqueue.model.expiry import expires_ns

__all__ = ["expiry_from"]


def expiry_from(given: Expiry | UnsetType, *, now_ns: int) -> int | None:
    if given is UNSET:
        return None
    try:
        instant = when_ns(given, "expires", now_ns=now_ns)
    except InvalidRequest as error:
        raise InvalidRecord(error.message, hint=error.hint) from None
    if not instant and not is_time(given):
        return expires_ns(0, None, now_ns=now_ns)
    return expires_ns(None, max(instant, 1), now_ns=now_ns)
