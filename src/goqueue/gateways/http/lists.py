"""Lists of any length as JSON, made in slices: to encode them at once would hold the event loop."""

from collections.abc import AsyncIterable, Callable, Iterable
from typing import Any, TypeVar

import msgspec

from goqueue.engine.slices import in_slices
from goqueue.gateways.http.responses import encode_json

__all__ = ["json_list", "json_stream"]

SLICE = 25
"""Items with many fields take some tens of microseconds each."""

Item = TypeVar("Item")


async def json_list(field: str, items: Iterable[Item], shown: Callable[[Item], Any]) -> msgspec.Raw:
    """An object with the list under that name. What is gone when it is its turn is shown as None, and left out."""
    found = (shown(item) async for item in in_slices(items, SLICE))
    return await json_stream(field, (out async for out in found if out is not None))


async def json_stream(field: str, items: AsyncIterable[Any]) -> msgspec.Raw:
    """As `json_list`, of items that are made with pauses. The text grows item by item: joining it would take long."""
    text = bytearray(b'{"%s":[' % field.encode())
    begins = len(text)
    async for item in items:
        text += encode_json(item)
        text += b","
    if len(text) > begins:
        del text[-1]
    text += b"]}"
    return msgspec.Raw(text)
