"""A record that is changed by hand: what stands in the form, and what of it is different when it comes back."""

import json
from collections.abc import Mapping

import msgspec
from msgspec import UNSET, UnsetType

from goqueue.engine.queue.dead_letters import DEAD_LETTER_HEADER
from goqueue.engine.workbench.mending import REDRIVEN_HEADER, Edit
from goqueue.gateways.console.forms import header_lines
from goqueue.model.record import Record
from goqueue.model.topic import topic_name

__all__ = ["edit_of", "editable", "own_headers"]

LARGEST = 128 * 1024
"""Bytes of a value that are put into a form."""


def own_headers(record: Record) -> tuple[tuple[str, bytes], ...]:
    """Without those that the broker has put there."""
    return tuple(one for one in record.headers if one[0] not in (DEAD_LETTER_HEADER, REDRIVEN_HEADER))


def editable(record: Record) -> dict[str, str | None]:
    """What stands in the form; None for what cannot be written as text, and stays as it is."""
    return {
        "key": "" if record.key is None else _text(record.key, is_line=True),
        "value": None if record.value is None else _value_text(record.value),
        "headers": _headers_text(record),
    }


def edit_of(record: Record, form: Mapping[str, str]) -> Edit:
    """UNSET for everything that came back as it was."""
    before = editable(record)
    changed = {name: _unix(form[name]) for name, old in before.items() if name in form and old is not None}
    changed = {name: text for name, text in changed.items() if text != _unix(before[name] or "")}
    key: bytes | UnsetType = changed["key"].encode() if "key" in changed else UNSET
    value: bytes | UnsetType = UNSET
    if "value" in changed:
        value = _value_of(changed["value"], record.value or b"")
    headers: tuple[tuple[str, bytes], ...] | UnsetType = UNSET
    if "headers" in changed:
        headers = header_lines(changed["headers"])
    topic = form.get("topic", "").strip()
    return Edit(value=value, key=key, headers=headers, topic=topic_name(topic) if topic else None)


def _value_text(value: bytes) -> str | None:
    if len(value) > LARGEST:
        return None
    if value[:1] in (b"{", b"["):
        try:
            json.loads(value)
            return msgspec.json.format(value, indent=2).decode()
        except (ValueError, RecursionError):
            pass
    return _text(value, is_line=False)


def _value_of(text: str, before: bytes) -> bytes:
    """JSON that was written in one line is written so again; other text ends its lines as before."""
    given = text.encode()
    if before[:1] in (b"{", b"[") and b"\n" not in before:
        try:
            json.loads(given)
            return msgspec.json.format(given, indent=0 if b'": ' in before else -1)
        except (ValueError, RecursionError):
            return given
    return given.replace(b"\n", b"\r\n") if b"\r\n" in before else given


def _headers_text(record: Record) -> str | None:
    lines = []
    for name, value in own_headers(record):
        text = _text(value, is_line=True)
        if text is None or text != text.strip() or name != name.strip() or ":" in name or not name.isprintable():
            return None
        lines.append(f"{name}: {text}")
    return "\n".join(lines)


def _text(data: bytes, *, is_line: bool) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    allowed = text if is_line else _unix(text).replace("\n", "").replace("\t", "")
    return text if allowed.isprintable() else None


def _unix(text: str) -> str:
    """A form sends every end of a line as two characters."""
    return text.replace("\r\n", "\n")
