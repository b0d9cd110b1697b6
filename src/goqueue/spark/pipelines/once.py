"""Write a frame to a topic once: under the same name and for the same work, a second time changes nothing."""

import hashlib
import json
from typing import TYPE_CHECKING

from goqueue.client.admin import Admin
from goqueue.errors import AlreadyDecided
from goqueue.spark.broker import ask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["WITHIN_MS", "key_of", "was_written", "write_once"]

WITHIN_MS = 15 * 60 * 1000
"""So long a write may take. Should it die, readers of the topic wait until this is over, or until it is run again."""


def key_of(name: str, **work: object) -> str:
    """Of what is to be done: another filter under the same name is other work."""
    digest = hashlib.sha256(json.dumps(work, sort_keys=True, default=str).encode()).hexdigest()
    return f"{name}/{digest[:24]}"


def was_written(bootstrap: str, key: str) -> bool:
    """Whether the broker knows of it; it remembers for seven days."""

    async def look() -> bool:
        async with Admin(bootstrap) as admin:
            try:
                # A part that is not prepared is left out of everything.
                async with admin.part(f"spark/{key}"):
                    return False
            except AlreadyDecided:
                return True

    return ask(look)


def write_once(frame: "DataFrame", bootstrap: str, topic: str, key: str, *, within_ms: int = WITHIN_MS) -> None:
    """All of it or nothing; readers see all of it at once."""
    options = {"bootstrap": bootstrap, "topic": topic, "queryName": key, "partTimeout": str(within_ms)}
    frame.write.format("goqueue").mode("append").options(**options).save()
