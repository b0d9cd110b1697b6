"""What is on a page, as a command to type: reading a record, and publishing it again."""

import base64
import json
import shlex
from typing import Any
from urllib.parse import quote

from goqueue.gateways.console.forms import PRIORITIES
from goqueue.model.record import Record

__all__ = ["publish_command", "read_command"]


def read_command(host: str, topic: str, partition: int, offset: int) -> str:
    path = f"/topics/{quote(topic, safe='')}/partitions/{partition}/messages?offset={offset}&limit=1"
    return f"curl {shlex.quote(f'http://{host}{path}')}"


def publish_command(host: str, topic: str, record: Record) -> str:
    body: dict[str, Any] = {"value": _given(record.value)}
    if record.key is not None:
        body["key"] = _given(record.key)
    if record.headers:
        headers: dict[str, Any] = {}
        for name, value in record.headers:
            headers.setdefault(name, []).append(_given(value))
        body["headers"] = {name: values[0] if len(values) == 1 else values for name, values in headers.items()}
    if PRIORITIES[record.priority] != "normal":
        body["priority"] = PRIORITIES[record.priority]
    url = f"http://{host}/topics/{quote(topic, safe='')}/messages"
    return f"curl -X POST {shlex.quote(url)} -d {shlex.quote(json.dumps(body, ensure_ascii=False))}"


def _given(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
