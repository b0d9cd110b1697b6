"""Settings of clients: keyword arguments, checked by name and type."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from goqueue.errors import InvalidRequest

__all__ = ["checked_settings"]

Settings = TypeVar("Settings")


def checked_settings(given: Mapping[str, object], kind: type[Settings]) -> Settings:
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        known = ", ".join(sorted(kind.__annotations__))
        raise InvalidRequest(f"settings are wrong: {error}", hint=f"there are {known}") from None
