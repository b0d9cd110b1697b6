"""Writes docs/reference/errors.md from the errors that there are, and from what HTTP and gRPC make of them."""

import re
from pathlib import Path

import goqueue.gateways.http
from goqueue.errors import ERRORS_BY_CODE, GoQueueError
from goqueue.gateways.grpc.answering import STATUS_BY_CODE as GRPC_STATUS_BY_CODE
from goqueue.gateways.http.responses import STATUS_BY_CODE
from scripts.references import DOCS, code, one_line, table

__all__ = ["PAGE", "page"]

PAGE = DOCS / "reference" / "errors.md"
HEAD = """# Errors

Everything that GoQueue refuses on purpose has a code that never changes, a message for people, and mostly a hint that
says what to do. This page is made from the code (`make references`).

- **Python**: an exception of `goqueue.errors`, all of them `GoQueueError`, with `code`, `message`, `hint` and
  `is_passing`.
- **HTTP**: the status below, and `{"error": "…", "code": "unknown_topic", "status": 404, "hint": "…"}`; 503 comes
  with `Retry-After`. Under `/schemas` shape and numbers are those of Confluent's Schema Registry.
- **gRPC**: the status below; the code is in the metadata `goqueue-code`, see [gRPC](grpc.md).
- **Command line**: `error: …` and `hint: …`, and an [exit code](cli.md).

*Try again* marks errors that pass by themselves: the same request may succeed later, though nobody changed anything.
The client library tries again by itself where that cannot write a record twice. With all others, first do what the
last column says.

Programs should look at the code and not at the text.

## All errors
"""
TITLES = ("Code", "Python", "HTTP", "gRPC", "Try again", "What happened", "What to do")
REFUSED = """## Refused by the HTTP listener

Before anybody looks at what a request asks for. The limits are [settings](settings.md#http).
"""
REFUSALS = {
    "body_too_large": "the body is over `http.body_bytes`",
    "foreign_host": "the header `Host` names something else: a name of this broker belongs in `http.allowed_hosts`",
    "foreign_page": "a web page of another site made a browser ask for a change: nothing was changed",
    "headers_too_large": "the headers are over `http.header_bytes`",
    "method_not_allowed": "the path is there, but not for this method; the hint lists those that are",
    "not_acceptable": "the schema registry has no answer in a form that `Accept` names",
    "not_ready": "the broker is stopping",
    "server_busy": "too many connections, requests or bytes under way",
    "unknown_route": "there is no such path",
    "unsupported_media_type": "a body for the schema registry is called something else than JSON",
    "url_too_long": "path and query are over `http.url_bytes`",
}
REFUSING = re.compile(r'(?:HttpRefusal|self\._refuse)\(\s*(\d{3}),\s*"([a-z_]+)"')


def page() -> str:
    lines = [HEAD]
    lines += table(TITLES, map(_row, sorted(_known())))
    lines.append(REFUSED)
    statuses = _refusals()
    assert statuses.keys() - STATUS_BY_CODE.keys() == REFUSALS.keys(), "REFUSALS has to name what the listener refuses"
    lines += table(
        ("Code", "HTTP", "What happened"), ((code(one), statuses[one], text) for one, text in REFUSALS.items())
    )
    return "\n".join(lines)


def _known() -> list[str]:
    return [one for one, kind in ERRORS_BY_CODE.items() if kind is not GoQueueError]


def _row(name: str) -> tuple[str, ...]:
    kind = ERRORS_BY_CODE[name]
    again = "yes" if kind.is_passing else ""
    meaning = one_line(kind.__doc__ or "")
    statuses = str(STATUS_BY_CODE[name]), code(GRPC_STATUS_BY_CODE[name].name)
    return code(name), code(kind.__name__), *statuses, again, meaning, kind.default_hint or ""


def _refusals() -> dict[str, str]:
    """The statuses of codes that the HTTP gateway has beside those of `goqueue.errors`, as its sources say."""
    sources = Path(next(iter(goqueue.gateways.http.__path__))).rglob("*.py")
    return {name: status for source in sources for status, name in REFUSING.findall(source.read_text(encoding="utf-8"))}
