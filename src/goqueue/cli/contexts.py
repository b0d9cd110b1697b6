"""Contexts: brokers by name, kept in a file of the user."""

import contextlib
import json
import os
import re
import tomllib
from pathlib import Path

import msgspec

from goqueue.cli.environment import config_file
from goqueue.cli.failures import Refused
from goqueue.errors import InvalidSettings

__all__ = ["Context", "Contexts", "complete_contexts", "load_contexts", "save_contexts"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


class Context(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A broker: its native address, and the one of HTTP."""

    server: str
    http: str


class Contexts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in the file; `current` is the one that holds unless something else is said."""

    current: str | None = None
    contexts: dict[str, Context] = {}

    def named(self, name: str) -> Context:
        found = self.contexts.get(name)
        if found is None:
            known = ", ".join(sorted(self.contexts)) or "none so far"
            raise Refused(
                f"there is no context {name!r}", hint=f"there are: {known}; `goqueue config set-context` makes one"
            )
        return found

    def with_context(self, name: str, context: Context) -> "Contexts":
        if not _NAME.fullmatch(name):
            raise Refused(f"{name!r} cannot be the name of a context", hint="use letters, digits, dot, _ and -")
        return Contexts(self.current or name, self.contexts | {name: context})

    def without(self, name: str) -> "Contexts":
        self.named(name)
        left = {one: context for one, context in self.contexts.items() if one != name}
        return Contexts(None if self.current == name else self.current, left)

    def renamed(self, old: str, new: str) -> "Contexts":
        context = self.named(old)
        if new in self.contexts:
            raise Refused(f"there is a context {new!r} already", hint="choose another name, or delete that one first")
        left = self.without(old).with_context(new, context)
        return Contexts(new if self.current == old else self.current, left.contexts)

    def using(self, name: str) -> "Contexts":
        self.named(name)
        return Contexts(name, self.contexts)


def load_contexts() -> Contexts:
    """What is in the file; nothing when there is none."""
    file = config_file()
    try:
        found = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Contexts)
    except FileNotFoundError:
        return Contexts()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InvalidSettings(
            f"{file} cannot be read: {error}",
            hint="mend it, or move it away and run `goqueue config set-context` again",
        ) from None
    if found.current is not None and found.current not in found.contexts:
        raise InvalidSettings(
            f"{file} says that {found.current!r} is current, which is no context in it",
            hint="`goqueue config use-context NAME` chooses another",
        )
    return found


def save_contexts(book: Contexts) -> Path:
    """Write the file whole or not at all, for nobody else to read."""
    file = config_file()
    file = file.resolve() if file.is_symlink() else file
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with open(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as written:
            written.write(_text(book))
            written.flush()
            os.fsync(written.fileno())
        os.replace(beside, file)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise
    return file


def _text(book: Contexts) -> str:
    lines = [] if book.current is None else [f"current = {json.dumps(book.current)}"]
    for name, context in sorted(book.contexts.items()):
        lines += ["", f"[contexts.{json.dumps(name)}]"]
        lines += [f"{field} = {json.dumps(value)}" for field, value in msgspec.structs.asdict(context).items()]
    return "\n".join(lines).lstrip("\n") + "\n"


def complete_contexts(incomplete: str) -> list[str]:
    try:
        return sorted(name for name in load_contexts().contexts if name.startswith(incomplete))
    except (InvalidSettings, OSError):
        # A shell that completes has no place for errors.
        return []
