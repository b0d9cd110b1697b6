"""How Confluent's schema registry speaks: its media types, and errors with its numbers."""

from typing import Any

import msgspec

from goqueue.errors import IncompatibleSchema
from goqueue.gateways.http.dialects import Dialect, Refused, body_of
from goqueue.gateways.http.endpoint import Endpoint

__all__ = ["NUMBER_BY_CODE", "REGISTRY", "RegistryError", "endpoint"]

TAG = "Schemas"
MOST_REASONS = 20

NUMBER_BY_CODE = {
    "unknown_subject": 40401,
    "unknown_version": 40402,
    "unknown_schema": 40403,
    "subject_soft_deleted": 40404,
    "subject_not_soft_deleted": 40405,
    "version_soft_deleted": 40406,
    "version_not_soft_deleted": 40407,
    "compatibility_not_set": 40408,
    "mode_not_set": 40409,
    "incompatible_schema": 409,
    "invalid_schema": 42201,
    "invalid_version": 42202,
    "invalid_compatibility_level": 42203,
    "invalid_mode": 42204,
    "operation_not_permitted": 42205,
    "reference_exists": 42206,
    "schema_id_mismatch": 42207,
    "invalid_subject": 42208,
    "schema_too_large": 42209,
    "disk_full": 50001,
    "storage_busy": 50001,
    "storage_failed": 50001,
    "read_failed": 50001,
}
"""Numbers that clients know; for all other errors it is the status."""

WITHOUT_HINT = frozenset(
    code for code, number in NUMBER_BY_CODE.items() if 40400 < number < 40500 or 42202 <= number <= 42204
)
"""Clients compare the texts of these, which are those of Confluent's registry to the letter."""


class RegistryError(msgspec.Struct, frozen=True):
    """What went wrong; the number is the status, or begins with it and says more."""

    error_code: int
    message: str


def _error_content(refused: Refused) -> RegistryError:
    body = body_of(refused)
    parts = [body.text]
    if isinstance(refused, IncompatibleSchema):
        # The first is in the text.
        parts += refused.reasons[1:MOST_REASONS]
    if body.hint is not msgspec.UNSET and body.code not in WITHOUT_HINT:
        parts.append(body.hint)
    return RegistryError(NUMBER_BY_CODE.get(body.code, body.status), "; ".join(parts))


REGISTRY = Dialect(
    ("application/vnd.schemaregistry.v1+json", "application/vnd.schemaregistry+json", "application/json"),
    RegistryError,
    _error_content,
    ignores_unknown=True,
    where_to_look="the routes are those of Confluent's schema registry",
    taken_types=("application/octet-stream",),
    is_strict=True,
)
"""Parameters that it does not know are passed over, as there are clients of many versions."""


def endpoint(method: str, path: str, summary: str, handler: Any, response: Any, **more: Any) -> Endpoint:
    return Endpoint(
        method=method,
        path=path,
        tag=TAG,
        summary=summary,
        handler=handler,
        response=response,
        dialect=REGISTRY,
        errors=(404, 406, 409, 415, 422) if "body" in more else (404, 406, 409, 422),
        **more,
    )
