"""Choices of the protocol by their names: `MISFIRE_ONCE` is `once`."""

import re
from enum import Enum
from functools import lru_cache

from google.protobuf.descriptor import EnumDescriptor

from goqueue.errors import InvalidRequest

__all__ = ["number_of", "text_of"]

_INNER_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")
_SIGNS = re.compile(r"[^A-Za-z0-9]+")

WRITTEN_OTHERWISE = {"CLEANUP_COMPACT_DELETE": "compact,delete"}


@lru_cache(maxsize=256)
def _prefix(name: str) -> str:
    return _INNER_CAPITAL.sub("_", name).upper() + "_"


def text_of(kind: EnumDescriptor, number: int) -> str:
    """What the broker calls it."""
    choice = kind.values_by_number.get(number)
    if choice is None:
        known = ", ".join(one.name for one in kind.values if one.number)
        raise InvalidRequest(f"there is no {kind.name} {number}", hint=f"one of {known}")
    prefix = _prefix(kind.name)
    return WRITTEN_OTHERWISE.get(choice.name, choice.name.removeprefix(prefix).lower())


def number_of(kind: EnumDescriptor, choice: Enum | str) -> int:
    """What the protocol calls it."""
    text = choice if isinstance(choice, str) else str(choice.value)
    number: int = kind.values_by_name[_prefix(kind.name) + _SIGNS.sub("_", text).upper()].number
    return number
