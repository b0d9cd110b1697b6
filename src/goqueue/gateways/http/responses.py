"""Answers on their way out: JSON, and errors in the one shape that the API has for them."""

from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.types import Send

from goqueue.engine.slices import others_turn
from goqueue.errors import GoQueueError

__all__ = [
    "STATUS_BY_CODE",
    "ErrorBody",
    "Header",
    "HttpRefusal",
    "encode_json",
    "error_body",
    "respond",
    "retry_after",
]

STATUS_BY_CODE = {
    "already_decided": 409,
    "broker_unreachable": 503,
    "buffer_full": 503,
    "client_closed": 503,
    "compatibility_not_set": 404,
    "corrupt_batch": 400,
    "data_folder_damaged": 503,
    "data_folder_in_use": 503,
    "decoding_limit": 422,
    "delay_is_over": 409,
    "disk_full": 503,
    "group_full": 409,
    "group_not_empty": 409,
    "incompatible_schema": 409,
    "inconsistent_protocol": 409,
    "internal": 500,
    "invalid_compatibility_level": 422,
    "invalid_mode": 422,
    "invalid_record": 400,
    "invalid_request": 400,
    "invalid_schema": 422,
    "invalid_settings": 400,
    "invalid_subject": 422,
    "invalid_version": 422,
    "log_exists": 409,
    "log_read_only": 503,
    "member_fenced": 409,
    "mode_not_set": 404,
    "not_transactional": 409,
    "offset_out_of_range": 404,
    "operation_not_permitted": 422,
    "out_of_order_sequence": 409,
    "producer_fenced": 409,
    "record_too_large": 413,
    "reference_exists": 422,
    "request_timeout": 408,
    "schedule_exists": 409,
    "schema_id_mismatch": 422,
    "schema_mismatch": 422,
    "schema_too_large": 422,
    "schema_violation": 422,
    "stale_generation": 409,
    "state_conflict": 409,
    "storage_busy": 503,
    "storage_failed": 503,
    "read_failed": 503,
    "subject_not_soft_deleted": 404,
    "subject_soft_deleted": 404,
    "topic_exists": 409,
    "transaction_conflict": 409,
    "transaction_ended": 409,
    "unknown_delay": 404,
    "unknown_group": 404,
    "unknown_log": 404,
    "unknown_member": 404,
    "unknown_partition": 404,
    "unknown_producer": 404,
    "unknown_receipt": 404,
    "unknown_record": 404,
    "unknown_schedule": 404,
    "unknown_schema": 404,
    "unknown_subject": 404,
    "unknown_topic": 404,
    "unknown_trace": 404,
    "unknown_transaction": 404,
    "unknown_version": 404,
    "version_not_soft_deleted": 404,
    "version_soft_deleted": 404,
}
"""The one place where error codes become HTTP statuses; a test checks that none is missing."""

RETRY_AFTER_S = {"storage_busy": 1, "disk_full": 10, "server_busy": 1, "not_ready": 1}
RETRY_AFTER_OTHERWISE_S = 5

PIECE_BYTES = 256 * 1024

Header = tuple[bytes, bytes]

encode_json = msgspec.json.Encoder().encode


class ErrorBody(msgspec.Struct, frozen=True, rename={"text": "error"}):
    """What went wrong; `code` is stable, `hint` says what to do."""

    text: str
    code: str
    status: int
    hint: str | msgspec.UnsetType = msgspec.UNSET


class HttpRefusal(Exception):
    """A request that is refused for how it is sent, before anybody looks at what it asks for."""

    def __init__(
        self, status: int, code: str, message: str, *, hint: str | None = None, headers: Iterable[Header] = ()
    ) -> None:
        super().__init__(message)
        self.body = ErrorBody(message, code, status, msgspec.UNSET if hint is None else hint)
        self.headers = tuple(headers)


def error_body(error: GoQueueError) -> ErrorBody:
    hint = msgspec.UNSET if error.hint is None else error.hint
    return ErrorBody(error.message, error.code, STATUS_BY_CODE[error.code], hint)


def retry_after(body: ErrorBody) -> tuple[Header, ...]:
    """Every answer that says "not now" says when."""
    if body.status not in (429, 503):
        return ()
    return ((b"retry-after", b"%d" % RETRY_AFTER_S.get(body.code, RETRY_AFTER_OTHERWISE_S)),)


async def respond(
    send: Send,
    status: int,
    payload: "bytes | memoryview",
    *,
    media_type: bytes = b"application/json",
    headers: Iterable[Header] = (),
    finished: bool = True,
) -> None:
    """Send a whole answer; an unfinished one keeps the request open, though the client has all of it."""
    head: dict[str, Any] = {
        "type": "http.response.start",
        "status": status,
        "headers": [(b"content-type", media_type), (b"content-length", b"%d" % len(payload)), *headers],
    }
    await send(head)
    if len(payload) > PIECE_BYTES:
        payload = await _send_most(send, payload)
    await send({"type": "http.response.body", "body": bytes(payload), "more_body": not finished})


async def _send_most(send: Send, payload: "bytes | memoryview") -> memoryview:
    """All but the last piece, with a pause after each: copying tens of megabytes at once would hold the event loop."""
    view, last = memoryview(payload), (len(payload) - 1) // PIECE_BYTES * PIECE_BYTES
    for start in range(0, last, PIECE_BYTES):
        piece = bytes(view[start : start + PIECE_BYTES])
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        await others_turn()
    return view[last:]
