"""Ask a broker over HTTP, for commands whose answers it has only there."""

import http.client
import json
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from goqueue.cli.connection import DEFAULT_HTTP, HttpOption
from goqueue.cli.failures import Refused
from goqueue.cli.suggestions import suggest
from goqueue.errors import ERRORS_BY_CODE, BrokerUnreachable, GoQueueError, UnknownGroup

__all__ = [
    "ANSWER_WITHIN_S",
    "DEFAULT_HTTP",
    "HttpOption",
    "ask_http",
    "ask_text",
    "host_and_port_of",
    "in_path",
    "send",
]

ANSWER_WITHIN_S = 30.0
MOST_BYTES = 256 * 1024 * 1024
MANY_STATUSES = (200, 201, 207)


def in_path(name: str) -> str:
    """A name as one step of a path, whatever is in it."""
    return quote(name, safe="")


def ask_http(
    address: str,
    path: str,
    query: Mapping[str, object] | None = None,
    *,
    method: str = "GET",
    body: object = None,
    fine: Collection[int] = MANY_STATUSES,
    within_s: float = ANSWER_WITHIN_S,
) -> dict[str, Any]:
    """What it answers, without those of the query and body that are None; raises what it refuses."""
    data = None if body is None else json.dumps(_given(body) if isinstance(body, Mapping) else body).encode()
    status, text = send(address, method, "/v1" + path + _query(query), data, within_s)
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise _unreachable(address, f"what answers with {status} there is no broker")
    if status in fine:
        return answer
    kind = ERRORS_BY_CODE.get(str(answer.get("code")), GoQueueError)
    error = kind(str(answer.get("error") or f"the broker answers with {status}"), hint=str(answer.get("hint") or ""))
    suggest(error, lambda kind: _known(address, kind))
    raise error


def _known(address: str, kind: type[GoQueueError]) -> list[str]:
    """The names of all topics, or of all groups."""
    groups = kind is UnknownGroup
    listed = ask_http(address, "/groups" if groups else "/topics")["groups" if groups else "topics"]
    return [one["group" if groups else "name"] for one in listed]


def ask_text(address: str, path: str, *, within_s: float = ANSWER_WITHIN_S) -> str:
    """What it answers to a GET for something that is no JSON."""
    status, text = send(address, "GET", "/v1" + path, None, within_s)
    if status != 200:
        raise _unreachable(address, f"what answers with {status} there is no broker")
    return text.decode(errors="replace")


def _given(fields: Mapping[Any, Any]) -> dict[Any, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _query(query: Mapping[str, object] | None) -> str:
    given = _given(query or {})
    return f"?{urlencode(given)}" if given else ""


def host_and_port_of(address: str) -> tuple[str, int]:
    parts = urlsplit(address if "://" in address else f"//{address}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if parts.scheme not in {"", "http"} or not host or parts.path.rstrip("/"):
        raise Refused(f"{address!r} is not an HTTP address", hint="write it as HOST:PORT, such as 127.0.0.1:8080")
    return host, port or 80


def send(address: str, method: str, target: str, body: bytes | None, within_s: float) -> tuple[int, bytes]:
    """One request on a connection of its own; the status and the body of the answer."""
    host, port = host_and_port_of(address)
    connection = http.client.HTTPConnection(host, port, timeout=within_s)
    try:
        headers = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, target, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.read(MOST_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise _unreachable(address, str(error) or type(error).__name__) from None
    finally:
        connection.close()


def _unreachable(address: str, why: str) -> BrokerUnreachable:
    return BrokerUnreachable(
        f"no answer from a broker at {address}: {why}",
        hint="start one with `goqueue server`, or name its HTTP address with --http, GOQUEUE_HTTP or a context",
    )
