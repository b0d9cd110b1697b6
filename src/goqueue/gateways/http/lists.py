"""Lists of any length as JSON, made in slices: to encode them at once would hold the event loop."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from goqueue.engine.slices import in_slices
from goqueue.gateways.http.responses import encode_json

__all__ = ["json_list"]

SLICE = 25
"""Items with many fields take some tens of microseconds each."""

Item = TypeVar("Item")


async def json_list(field: str, items: Iterable[Item], shown: Callable[[Item], Any]) -> msgspec.Raw:
    """An object with the list under that name. What is gone when it is its turn is shown as None, and left out."""
    parts: list[bytes] = []
    async for item in in_slices(items, SLICE):
        out = shown(item)
        if out is not None:
            parts.append(encode_json(out))
    return msgspec.Raw(b'{"%s":[%s]}' % (field.encode(), b",".join(parts)))
