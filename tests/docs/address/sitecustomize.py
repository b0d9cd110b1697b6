"""Redirection of the default native address to the broker of a test, named by `DOCS_BROKER`, in each Python process.

Python loads this module at its start when its folder is on PYTHONPATH. Examples can therefore leave the address out.
"""

import asyncio
import os
import socket
from typing import Any

DEFAULT = ("127.0.0.1", 7171)


def redirect(broker: tuple[str, int]) -> None:
    create_connection = socket.create_connection
    loop_create_connection = asyncio.BaseEventLoop.create_connection

    def connect(address: tuple[str, int], *args: Any, **kwargs: Any) -> socket.socket:
        return create_connection(broker if address == DEFAULT else address, *args, **kwargs)

    async def loop_connect(
        self: asyncio.BaseEventLoop, factory: Any, host: Any = None, port: Any = None, **kwargs: Any
    ) -> Any:
        if (host, port) == DEFAULT:
            host, port = broker
        return await loop_create_connection(self, factory, host, port, **kwargs)

    socket.create_connection = connect  # type: ignore[assignment]
    asyncio.BaseEventLoop.create_connection = loop_connect  # type: ignore[method-assign,assignment]


if "DOCS_BROKER" in os.environ:
    host, _, port = os.environ["DOCS_BROKER"].rpartition(":")
    redirect((host, int(port)))
