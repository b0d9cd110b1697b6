"""Ask a schema registry over HTTP: again while it is away, and with its errors as those of this library."""

import http.client
import json
import ssl
import time
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from goqueue.errors import ERRORS_BY_CODE, BrokerUnreachable, GoQueueError, InvalidRequest

__all__ = ["CODE_BY_NUMBER", "RegistryAddress"]

Answer = TypeVar("Answer")

MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0
MOST_REPLY_BYTES = 64 * 1024 * 1024
LATER = frozenset({429, 500, 502, 503, 504})
"""What a registry says that may do it next time."""

CODE_BY_NUMBER = {
    40401: "unknown_subject",
    40402: "unknown_version",
    40403: "unknown_schema",
    40404: "subject_soft_deleted",
    40405: "subject_not_soft_deleted",
    40406: "version_soft_deleted",
    40407: "version_not_soft_deleted",
    40408: "compatibility_not_set",
    40409: "mode_not_set",
    409: "incompatible_schema",
    42201: "invalid_schema",
    42202: "invalid_version",
    42203: "invalid_compatibility_level",
    42204: "invalid_mode",
    42205: "operation_not_permitted",
    42206: "reference_exists",
    42207: "schema_id_mismatch",
    42208: "invalid_subject",
    42209: "schema_too_large",
}


class RegistryAddress:
    """Where a registry is. A connection is made for each question, as answers are kept and questions are few."""

    def __init__(self, url: str, *, timeout_s: float, retries: int, headers: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
            raise InvalidRequest(
                f"{url!r} is not the address of a schema registry", hint="such as http://127.0.0.1:8080/schemas"
            )
        if parts.username is not None:
            raise InvalidRequest("a password in an address ends up in logs", hint="give headers={'Authorization': …}")
        if retries < 0 or timeout_s <= 0:
            raise InvalidRequest(f"{retries} retries within {timeout_s} s", hint="0 or more, and more than 0 s")
        self.url = url.rstrip("/")
        self._host, self._port = parts.hostname, _port(url)
        self._path = parts.path.rstrip("/")
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._timeout_s = timeout_s
        self._retries = retries
        self._headers = {"Accept": MEDIA_TYPE, "Content-Type": MEDIA_TYPE, **headers}

    def ask(
        self, kind: type[Answer], method: str, path: str, *, query: Mapping[str, Any] | None = None, body: Any = None
    ) -> Answer:
        """The answer, decoded as a `kind`; raises what the registry refuses."""
        answer = self._ask(method, path, query or {}, body)
        try:
            return msgspec.convert(answer, kind)
        except msgspec.ValidationError as error:
            raise self._unreachable(f"what answers there is no schema registry: {error}") from None

    def _ask(self, method: str, path: str, query: Mapping[str, Any], body: Any) -> Any:
        given = {name: _shown(value) for name, value in query.items() if value not in (None, False, "")}
        target = f"{self._path}{path}{'?' + urlencode(given) if given else ''}"
        content = None if body is None else json.dumps(body).encode()
        pause = FIRST_PAUSE_S
        for left in range(self._retries, -1, -1):
            try:
                return self._ask_once(method, target, content)
            except _Later as later:
                # What was deleted by an attempt whose answer got lost cannot be deleted once more.
                if left == 0 or (method == "DELETE" and later.was_sent):
                    raise later.error from later.__cause__
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)
        raise AssertionError("the last attempt returns or raises")

    def _ask_once(self, method: str, target: str, content: bytes | None) -> Any:
        connection = self._connection()
        was_sent = False
        try:
            connection.connect()
            was_sent = True
            connection.request(method, target, content, self._headers)
            reply = connection.getresponse()
            text = reply.read(MOST_REPLY_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            why = str(error) or type(error).__name__
            raise _Later(self._unreachable(why), was_sent=was_sent) from error
        finally:
            connection.close()
        if len(text) > MOST_REPLY_BYTES:
            raise GoQueueError(f"the schema registry at {self.url} answers with more than {MOST_REPLY_BYTES} bytes")
        return self._answer(reply.status, text)

    def _connection(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)
        return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout_s, context=self._tls)

    def _answer(self, status: int, text: bytes) -> Any:
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if status < 300 and answer is not None:
            return answer
        if not isinstance(answer, dict) or not isinstance(answer.get("error_code"), int):
            error = self._unreachable(f"what answers with {status} there is no schema registry")
            if status in LATER:
                raise _Later(error, was_sent=True)
            raise error
        number, message = answer["error_code"], str(answer.get("message") or f"it answers with {status}")
        if status in LATER:
            raise _Later(self._unreachable(message), was_sent=True)
        default = "invalid_request" if 400 <= status < 500 else "internal"
        kind = ERRORS_BY_CODE[CODE_BY_NUMBER.get(number, default)]
        # What to do is in the message already.
        raise kind(message, hint="")

    def _unreachable(self, why: str) -> BrokerUnreachable:
        return BrokerUnreachable(
            f"no answer from the schema registry at {self.url}: {why}",
            hint="check the address: a broker has its registry under /schemas of its HTTP address",
        )


class _Later(Exception):
    """Worth another attempt."""

    def __init__(self, error: GoQueueError, *, was_sent: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.was_sent = was_sent


def _port(url: str) -> int | None:
    try:
        return urlsplit(url).port
    except ValueError:
        raise InvalidRequest(f"{url!r} has no such port", hint="a port is a number up to 65535") from None


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
