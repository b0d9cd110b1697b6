"""Writes docs/reference/settings.md from the settings that there are, and from what their classes say of them."""

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from goqueue.app.settings import Settings, flat
from goqueue.cli.server import server
from scripts.references import DOCS, code, one_line, table

__all__ = ["PAGE", "page"]

PAGE = DOCS / "reference" / "settings.md"
HEAD = """# Settings

Every setting of a broker, with its default. This page is made from the code (`make references`).

The broker takes each setting from the last of these that has it:

1. its default
2. a TOML file: `goqueue server --config goqueue.toml`
3. the environment: `GOQUEUE_` and the name in capitals with `_` for `.`, such as `GOQUEUE_STORAGE_SEGMENT_BYTES`
4. a flag of `goqueue server`; those that there are stand behind the name

```toml
data = "/var/lib/goqueue"

[listen]
http = "0.0.0.0:8080"

[log]
format = "json"

[storage]
segment_bytes = 134217728
```

A name that does not exist is an error, in the file and in the environment (every variable that starts with
`GOQUEUE_`). Not counted are the variables that are for commands, such as `GOQUEUE_SERVER`, and what Kubernetes puts
into pods beside a Service named `goqueue`. Settings are checked once, at start; changing one needs a restart.
`goqueue config show` prints the settings that a broker would run with, and where each comes from; the
[console](../guides/console.md#settings) shows those of a running one.

There is no authentication or encryption today. Keep the listeners on the loopback address, or behind something that
has them.

The settings of topics (retention, compaction, durability, the queue) are not here: they belong to the topic and are
kept in the data folder. See [streams](../concepts/streams.md), [queues](../concepts/queue.md#settings-of-a-topic) and
[storage](../concepts/storage.md#retention).
"""
TITLES = ("Setting", "Default", "Allowed", "Meaning")


class Section(NamedTuple):
    name: str
    kind: type
    words: str


def page() -> str:
    flags = _flags()
    lines = [HEAD]
    for section in _sections("", Settings, "The broker as a whole."):
        lines += [f"## {section.name or 'The broker'}", "", section.words, ""]
        lines += table(TITLES, _rows(section, flags))
    return "\n".join(lines)


def _sections(name: str, kind: type, words: str) -> Iterator[Section]:
    """The struct itself, then those inside it."""
    yield Section(name, kind, words)
    for field, inner in get_type_hints(kind).items():
        if _is_section(inner):
            words = one_line(inner.__doc__ or "")
            assert words, f"{inner.__name__} does not say what it is about: give it a docstring"
            yield from _sections(f"{name}.{field}".strip("."), inner, words)


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _rows(section: Section, flags: dict[str, str]) -> Iterator[tuple[str, str, str, str]]:
    explained = _explained(section.kind)
    hints = get_type_hints(section.kind, include_extras=True)
    for field in msgspec.structs.fields(section.kind):
        if _is_section(field.type):
            continue
        name = f"{section.name}.{field.name}".strip(".")
        assert field.name in explained, f"{name} is not explained: write a docstring below it"
        flag = f" ({code(flags[name])})" if name in flags else ""
        yield code(name) + flag, _default(name, field.default), _allowed(name, hints[field.name]), explained[field.name]


def _explained(kind: type) -> dict[str, str]:
    """What is written below each field of a class, as a docstring; also what the classes that it is made from say."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        if not _is_section(one) or one is msgspec.Struct:
            continue
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
        assert isinstance(definition, ast.ClassDef)
        for line, below in zip(definition.body, definition.body[1:], strict=False):
            match line, below:
                case ast.AnnAssign(target=ast.Name(id=field)), ast.Expr(value=ast.Constant(value=str(words))):
                    found[field] = one_line(words)
    return found


def _default(name: str, value: object) -> str:
    if value in ("", None):
        return "none"
    shown = code(value if isinstance(value, str) else json.dumps(value))
    amount = _amount(name, value)
    return shown if amount.replace(",", "") == str(value) or not isinstance(value, int) else f"{shown} ({amount})"


def _amount(name: str, value: object) -> str:
    """With its unit, if it has one."""
    if type(value) is not int:
        return str(value)
    return _bytes(value) if "bytes" in name else _span(value) if name.endswith("_ms") else f"{value:,}"


def _bytes(count: int) -> str:
    for size, unit in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= size and count % size == 0:
            return f"{count // size} {unit}"
    return f"{count} B"


def _span(ms: int) -> str:
    for length, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")):
        if ms >= length and ms % length == 0:
            return f"{ms // length} {unit}"
    return f"{ms} ms"


def _allowed(name: str, hint: Any) -> str:
    """Of what the type says; relations between settings are in the words."""
    if get_origin(hint) is Literal:
        return ", ".join(code(choice) for choice in get_args(hint))
    for limits in getattr(hint, "__metadata__", ()):
        if isinstance(limits, msgspec.Meta) and limits.ge is not None and limits.le is not None:
            return f"{_amount(name, limits.ge)} to {_amount(name, limits.le)}"
    return "`true`, `false`" if hint is bool else ""


def _flags() -> dict[str, str]:
    """The flag of `goqueue server` for a setting: it has the setting's name, or the end of it."""
    settings = flat(msgspec.to_builtins(Settings()))
    found: dict[str, str] = {}
    for option in inspect.signature(server).parameters:
        for setting in (option, f"listen.{option}", option.replace("_", ".", 1)):
            if setting in settings:
                found[setting] = "--" + option.replace("_", "-")
    return found
