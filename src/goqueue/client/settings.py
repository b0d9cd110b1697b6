"""Settings of clients: keyword arguments, checked by name and type."""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

import msgspec

from goqueue.client.times import duration_ms
from goqueue.errors import InvalidRequest

__all__ = ["checked_settings", "settings_in_ms"]

Settings = TypeVar("Settings", bound=msgspec.Struct)


def checked_settings(given: Mapping[str, object], kind: type[Settings]) -> Settings:
    """As `kind`. A setting in milliseconds can be given as a `timedelta`, by its name without `_ms`."""
    try:
        return msgspec.convert(settings_in_ms(given, kind), kind)
    except msgspec.ValidationError as error:
        known = ", ".join(sorted(kind.__struct_fields__))
        raise InvalidRequest(f"settings are wrong: {error}", hint=f"there are {known}") from None


def settings_in_ms(given: Mapping[str, object], kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The settings by the names of the fields, with each `timedelta` as milliseconds."""
    found: dict[str, Any] = dict(given)
    for name, value in given.items():
        in_ms = f"{name}_ms"
        if in_ms in kind.__struct_fields__:
            del found[name]
            found[in_ms] = duration_ms(name, cast(Any, value), given.get(in_ms))
    return found
