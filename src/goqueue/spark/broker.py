"""Questions of the driver to a broker: which partitions there are, where they begin and end, and when."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from goqueue.client.admin import Admin
from goqueue.client.link import Link
from goqueue.errors import UnknownTopic
from goqueue.model.log import LogId
from goqueue.spark.options import EARLIEST, LATEST, Offsets, ReadOptions
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["Places", "ask"]

Result = TypeVar("Result")


def ask(work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """In an event loop of its own: Spark calls from threads that have none, and has no use for one."""
    return asyncio.run(work())


class Places:
    """Partitions and offsets as options speak of them."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> list[LogId]:
        """All that are wanted, as of now."""
        return ask(self._partitions)

    async def _partitions(self) -> list[LogId]:
        options = self._options
        async with Admin(options.bootstrap) as admin:
            topics = {str(topic.name): topic.partitions for topic in await admin.topics()}
        if options.pattern is not None:
            names: Iterable[str] = (name for name in topics if re.fullmatch(options.pattern, name))
        else:
            names = options.assigned if options.assigned is not None else options.topics
        found = []
        for name in sorted(names):
            if name not in topics:
                there = ", ".join(sorted(topics)[:10]) or "none at all"
                raise UnknownTopic(f"there is no topic {name} at {options.bootstrap}", hint=f"there are: {there}")
            numbers = options.assigned[name] if options.assigned is not None else range(topics[name])
            missing = [number for number in numbers if not 0 <= number < topics[name]]
            if missing:
                raise UnknownTopic(f"{name} has partitions 0 to {topics[name] - 1}, not {missing[0]}")
            found += [LogId(name, number) for number in numbers]
        return found

    def at(self, partitions: Iterable[LogId], at: int | str) -> dict[LogId, int]:
        """Offsets of `earliest`, `latest`, or of a time in nanoseconds."""
        logs = list(partitions)

        async def look() -> dict[LogId, int]:
            link = Link(self._options.bootstrap)
            try:
                questions = tuple(messages.OffsetQuestion(*log, at) for log in logs)  # type: ignore[arg-type]
                request = messages.ListOffsets(questions, self._options.isolation)  # type: ignore[arg-type]
                reply = await link.ask(Opcode.LIST_OFFSETS, request, messages.Offsets)
            finally:
                await link.close()
            return {LogId(one.topic, one.partition): one.offset for one in reply.answers}

        return ask(look) if logs else {}

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

        ask(tell)
