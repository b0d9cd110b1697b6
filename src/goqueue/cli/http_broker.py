"""Ask a broker over HTTP, for commands whose answers it has only there."""

import http.client
import json
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

import typer

from goqueue.cli.failures import Refused
from goqueue.errors import ERRORS_BY_CODE, BrokerUnreachable, GoQueueError

__all__ = ["DEFAULT_HTTP", "HttpOption", "ask_http"]

DEFAULT_HTTP = "127.0.0.1:8080"
ANSWER_WITHIN_S = 30.0
MOST_BYTES = 256 * 1024 * 1024

HttpOption = Annotated[
    str, typer.Option("--http", envvar="GOQUEUE_HTTP", metavar="HOST:PORT", help="The broker's HTTP address.")
]


def ask_http(address: str, path: str, query: Mapping[str, object] | None = None) -> dict[str, Any]:
    """What it answers to a GET, without those of the query that are None; raises what it refuses."""
    given = {name: value for name, value in (query or {}).items() if value is not None}
    status, text = _get(address, f"/v1{path}{'?' + urlencode(given) if given else ''}")
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise _unreachable(address, f"what answers with {status} there is no broker")
    if status == 200:
        return answer
    kind = ERRORS_BY_CODE.get(str(answer.get("code")), GoQueueError)
    raise kind(str(answer.get("error") or f"the broker answers with {status}"), hint=str(answer.get("hint") or ""))


def _get(address: str, target: str) -> tuple[int, bytes]:
    parts = urlsplit(address if "://" in address else f"//{address}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if parts.scheme not in {"", "http"} or not host or parts.path.rstrip("/"):
        raise Refused(f"{address!r} is not an HTTP address", hint="write it as HOST:PORT, such as 127.0.0.1:8080")
    connection = http.client.HTTPConnection(host, port or 80, timeout=ANSWER_WITHIN_S)
    try:
        connection.request("GET", target)
        reply = connection.getresponse()
        return reply.status, reply.read(MOST_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise _unreachable(address, str(error) or type(error).__name__) from None
    finally:
        connection.close()


def _unreachable(address: str, why: str) -> BrokerUnreachable:
    return BrokerUnreachable(
        f"no answer from a broker at {address}: {why}",
        hint="start one with `goqueue server`, or name its HTTP address with --http or GOQUEUE_HTTP",
    )
