"""Examples of requests and answers: what a broker answered when it was asked, one of each operation.

They are written by scripts/http_examples.py, which asks for them.
"""

import shlex
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["FILE", "Example", "curl_command", "examples"]

FILE = Path(__file__).with_name("examples.json")


class Example(msgspec.Struct, frozen=True):
    """A request, with the parameters that are in its URL, and the answer; `body` is None when there is none."""

    url: str
    params: dict[str, Any]
    query: dict[str, Any]
    body: Any
    status: int
    answer: Any


def curl_command(method: str, example: Example) -> str:
    """The request for a shell."""
    parts = ["curl"] if method == "GET" else ["curl", "-X", method]
    parts.append(shlex.quote(f"http://127.0.0.1:8080{example.url}"))
    if example.body is not None:
        parts += ["-H", "'content-type: application/json'"]
        parts += ["-d", shlex.quote(msgspec.json.format(msgspec.json.encode(example.body), indent=-1).decode())]
    return " ".join(parts)


def examples() -> dict[str, Example]:
    """By method and path, such as `GET /topics/{topic}`."""
    return msgspec.json.decode(FILE.read_bytes(), type=dict[str, Example])
