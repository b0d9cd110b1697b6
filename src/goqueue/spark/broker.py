"""Questions of the driver to a broker: which partitions there are, where they begin and end, and when."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Literal, TypeVar

from goqueue.client.admin import Admin
from goqueue.client.link import Link
from goqueue.errors import BrokerUnreachable, UnknownTopic
from goqueue.model.log import LogId
from goqueue.spark.options import EARLIEST, LATEST, Offsets, ReadOptions
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["RESTARTS_WITHIN_S", "Places", "ask"]

RESTARTS_WITHIN_S = 60.0
"""So long a stream waits for a broker that is away."""
PAUSE_S = 0.5

Result = TypeVar("Result")


def ask(work: Callable[[], Coroutine[Any, Any, Result]], *, patience_s: float = 0.0) -> Result:
    """In an event loop of its own: Spark calls from threads that have none, and has no use for one.

    With patience it is tried again while the broker cannot be reached, which may be restarting.
    """

    async def patiently() -> Result:
        loop = asyncio.get_running_loop()
        until = loop.time() + patience_s
        while True:
            try:
                return await work()
            except BrokerUnreachable:
                if loop.time() >= until:
                    raise
            await asyncio.sleep(PAUSE_S)

    return asyncio.run(patiently())


class Places:
    """Partitions and offsets as options speak of them."""

    def __init__(self, options: ReadOptions, *, patience_s: float = 0.0) -> None:
        self._options = options
        self._patience_s = patience_s

    def partitions(self) -> list[LogId]:
        """All that are wanted, as of now."""
        options, topics = self._options, self.topics()
        if options.pattern is not None:
            names: Iterable[str] = (name for name in topics if re.fullmatch(options.pattern, name))
        else:
            names = options.assigned if options.assigned is not None else options.topics
        found = []
        for name in sorted(names):
            if name not in topics:
                there = ", ".join(sorted(topics)[:10]) or "none at all"
                where = options.path or options.bootstrap
                raise UnknownTopic(f"there is no topic {name} at {where}", hint=f"there are: {there}")
            numbers = options.assigned[name] if options.assigned is not None else range(topics[name])
            missing = [number for number in numbers if not 0 <= number < topics[name]]
            if missing:
                raise UnknownTopic(f"{name} has partitions 0 to {topics[name] - 1}, not {missing[0]}")
            found += [LogId(name, number) for number in numbers]
        return found

    def topics(self) -> dict[str, int]:
        """How many partitions each has."""

        async def look() -> dict[str, int]:
            async with Admin(self._options.bootstrap) as admin:
                return {str(topic.name): topic.partitions for topic in await admin.topics()}

        return ask(look, patience_s=self._patience_s)

    def at(self, partitions: Iterable[LogId], at: Literal["earliest", "latest"] | int) -> dict[LogId, int]:
        """Offsets of `earliest`, `latest`, or of a time in nanoseconds."""
        logs = list(partitions)

        async def look() -> dict[LogId, int]:
            async with Admin(self._options.bootstrap) as admin:
                return await admin.offsets_at(logs, at, isolation=self._options.isolation)

        return ask(look, patience_s=self._patience_s) if logs else {}

    def given(self, partitions: Iterable[LogId], wanted: int | Offsets) -> dict[LogId, int]:
        """Offsets that were given as numbers, or as the beginning or the end."""
        logs = list(partitions)
        first, last = self.at(logs, "earliest"), self.at(logs, "latest")

        def offset(log: LogId) -> int:
            chosen = wanted if isinstance(wanted, int) else wanted.get(log.topic, {}).get(log.partition)
            if chosen is None:
                return first[log]
            return {EARLIEST: first[log], LATEST: last[log]}.get(chosen, chosen)

        return {log: offset(log) for log in logs}

    def commit(self, group: str, offsets: Mapping[LogId, int]) -> None:
        async def tell() -> None:
            link = Link(self._options.bootstrap)
            try:
                places = tuple(messages.PartitionOffset(*log, offset) for log, offset in offsets.items())
                await link.ask(Opcode.COMMIT_OFFSETS, messages.CommitOffsets(group, places), messages.Done)
            finally:
                await link.close()

        ask(tell, patience_s=self._patience_s)
