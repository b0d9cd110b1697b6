"""Answers on their way out, and errors as people read them: what happened, and what to do."""

from collections.abc import Iterable

import msgspec
from starlette.types import Send

from goqueue.errors import GoQueueError
from goqueue.gateways.console.guarding import SECURITY_HEADERS

__all__ = ["Problem", "problem_of", "respond"]

Header = tuple[bytes, bytes]

NOT_NOW = frozenset({"disk_full", "log_read_only", "storage_busy", "storage_failed", "read_failed", "server_busy"})
CONFLICTS = frozenset(
    {"group_not_empty", "topic_exists", "schedule_exists", "log_exists", "delay_is_over", "state_conflict"}
)


class Problem(msgspec.Struct, frozen=True):
    """What a page says about an error; `code` is the one of the API."""

    status: int
    code: str
    message: str
    hint: str = ""


def problem_of(error: GoQueueError) -> Problem:
    return Problem(_status(error.code), error.code, error.message, error.hint or "")


def _status(code: str) -> int:
    if code == "internal":
        return 500
    if code in NOT_NOW:
        return 503
    if code in CONFLICTS:
        return 409
    return 404 if code.startswith("unknown_") or code == "offset_out_of_range" else 400


async def respond(send: Send, status: int, content: bytes, media_type: bytes, headers: Iterable[Header] = ()) -> None:
    given = tuple(headers)
    head = [(b"content-type", media_type), (b"content-length", b"%d" % len(content)), *SECURITY_HEADERS, *given]
    if not any(name == b"cache-control" for name, _ in given):
        head.append((b"cache-control", b"no-store"))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": content, "more_body": False})
