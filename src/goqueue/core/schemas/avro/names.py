"""Avro names: valid names, and their resolution in a namespace."""

import re
from typing import Any

from goqueue.core.schemas.avro.types import PRIMITIVES
from goqueue.errors import InvalidSchema

__all__ = ["check_not_primitive", "check_simple", "full_names", "in_namespace", "namespace_of", "refuse"]

MOST_CHARACTERS = 500
"""Maximum length of a full name: each mention of it is written in full."""
SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def refuse(path: str, why: str, *, hint: str | None = None) -> InvalidSchema:
    return InvalidSchema(f"Avro schema, at {path or '/'}: {why}"[:500], hint=hint)


def check_simple(name: Any, path: str, what: str) -> str:
    if not isinstance(name, str) or not SIMPLE.fullmatch(name):
        raise refuse(
            path,
            f"{name!r:.80} is no name for {what}",
            hint="a name has letters, digits and _, and does not begin with a digit",
        )
    return name


def in_namespace(name: Any, namespace: str, path: str, what: str) -> str:
    """The full name: one with dots is full already."""
    if not isinstance(name, str) or not name:
        raise refuse(path, f"{what} has no name", hint='give it a "name"')
    for part in name.split("."):
        check_simple(part, path, what)
    full = name if "." in name or not namespace else f"{namespace}.{name}"
    if len(full) > MOST_CHARACTERS:
        raise refuse(path, f"the name of {what} has more than {MOST_CHARACTERS} characters")
    return full


def full_names(names: Any, namespace: str, path: str) -> tuple[str, ...]:
    """Full aliases of a type: those without dots are in the namespace of its name."""
    if not isinstance(names, list):
        raise refuse(f"{path}/aliases", "aliases are not a list")
    return tuple(in_namespace(name, namespace, f"{path}/aliases", "an alias") for name in names)


def namespace_of(declared: dict[str, Any], enclosing: str, path: str) -> str:
    """The namespace for unqualified names in this definition."""
    namespace = declared.get("namespace", enclosing)
    if namespace is None:
        return enclosing
    if not isinstance(namespace, str):
        raise refuse(f"{path}/namespace", "the namespace is not a string")
    if len(namespace) > MOST_CHARACTERS:
        raise refuse(f"{path}/namespace", f"the namespace has more than {MOST_CHARACTERS} characters")
    if namespace:
        for part in namespace.split("."):
            check_simple(part, f"{path}/namespace", "a namespace")
    return namespace


def check_not_primitive(name: str, path: str) -> None:
    if name in PRIMITIVES:
        raise refuse(path, f"{name} is the name of a primitive type", hint="choose another name")
