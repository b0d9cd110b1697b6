"""Questions of the driver to a broker: which partitions there are, where they begin and end, and when."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from goqueue.client.admin import Admin
from goqueue.client.link import Link
from goqueue.errors import BrokerUnreachable, OffsetOutOfRange, UnknownPartition, UnknownTopic
from goqueue.model.log import LogId
from goqueue.spark.options import EARLIEST, LATEST, Offsets, ReadOptions
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["RESTARTS_WITHIN_S", "Places", "TopicShape", "ask"]

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


class TopicShape(NamedTuple):
    """A topic, as far as reading is concerned."""

    partitions: int
    created_ns: int
    """Tells it from one that was deleted and created again under its name."""


class Places:
    """Partitions and offsets as options speak of them."""

    def __init__(self, options: ReadOptions, *, patience_s: float = 0.0) -> None:
        self._options = options
        self._patience_s = patience_s

    def partitions(self) -> list[LogId]:
        """All that are wanted, as of now."""
        return self.chosen(self.topics())

    def chosen(self, topics: Mapping[str, TopicShape]) -> list[LogId]:
        """Those of these topics that are wanted: it is an error if one is missing, or if there is none."""
        options = self._options
        where = options.path or options.bootstrap
        there = f"there are: {', '.join(sorted(topics)[:10]) or 'none at all'}"
        if options.pattern is not None:
            names: Iterable[str] = filter(self.is_wanted, topics)
        else:
            names = options.assigned if options.assigned is not None else options.topics
        found = []
        for name in sorted(set(names)):
            if name not in topics:
                raise UnknownTopic(f"there is no topic {name} at {where}", hint=there)
            count = topics[name].partitions
            numbers = sorted(set(options.assigned[name])) if options.assigned is not None else range(count)
            for number in numbers:
                _check_partition(name, number, count)
            found += [LogId(name, number) for number in numbers]
        if not found:
            raise UnknownTopic(f"subscribePattern {options.pattern} matches no topic at {where}", hint=there)
        return found

    def is_wanted(self, topic: str) -> bool:
        options = self._options
        if options.pattern is not None:
            return re.fullmatch(options.pattern, topic) is not None
        return topic in (options.assigned if options.assigned is not None else options.topics)

    def topics(self) -> dict[str, TopicShape]:
        async def look() -> dict[str, TopicShape]:
            async with Admin(self._options.bootstrap) as admin:
                return {one.name: TopicShape(one.partitions, one.created_ns) for one in await admin.topics()}

        return ask(look, patience_s=self._patience_s)

    def at(self, partitions: Iterable[LogId], at: Literal["earliest", "latest"] | int) -> dict[LogId, int]:
        """Offsets of `earliest`, `latest`, or of a time in nanoseconds."""
        logs = list(partitions)

        async def look() -> dict[LogId, int]:
            async with Admin(self._options.bootstrap) as admin:
                return await admin.offsets_at(logs, at, isolation=self._options.isolation)

        return ask(look, patience_s=self._patience_s) if logs else {}

    def check_named(self, logs: Sequence[LogId]) -> None:
        """Offsets are given for partitions that are read, and for no others."""
        for option, given in (("startingOffsets", self._options.starting), ("endingOffsets", self._options.ending)):
            for topic, numbers in given.items() if isinstance(given, Mapping) else ():
                partitions = sorted(log.partition for log in logs if log.topic == topic)
                if not partitions:
                    read = ", ".join(sorted({log.topic for log in logs})[:10])
                    raise UnknownTopic(
                        f"{option} names the topic {topic}, which is not read", hint=f"these topics are read: {read}"
                    )
                for number in numbers:
                    if number not in partitions:
                        raise UnknownPartition(
                            f"{option} names the partition {topic}/{number}, which is not read",
                            hint=f"these partitions of {topic} are read: {', '.join(map(str, partitions[:10]))}",
                        )

    def starts(self, logs: Sequence[LogId], otherwise: int) -> dict[LogId, int]:
        """Where options say that reading begins, or else at the earliest or the latest."""
        options = self._options
        if options.starting_ns is not None:
            return self.at(logs, options.starting_ns)
        first, last = self.at(logs, "earliest"), self.at(logs, "latest")
        wanted = otherwise if options.starting is None else options.starting
        starts = _given(logs, wanted, first, last, otherwise=EARLIEST)
        for log, start in starts.items():
            if start < first[log]:
                if options.fail_on_data_loss:
                    raise OffsetOutOfRange(
                        f"startingOffsets: {log} begins at offset {first[log]}, behind {start}",
                        hint="begin there, or set failOnDataLoss to false to leave out what is gone",
                    )
                starts[log] = first[log]
            _check_end("startingOffsets", log, start, last[log])
        return starts

    def ends(self, logs: Sequence[LogId], *, may_come: bool = False) -> dict[LogId, int]:
        """Where options say that reading ends. Offsets that `may_come` can be beyond what there is now."""
        options = self._options
        if options.ending_ns is not None:
            return self.at(logs, options.ending_ns)
        last = self.at(logs, "latest")
        ends = _given(logs, options.ending, {}, last, otherwise=LATEST)
        if not may_come:
            for log, end in ends.items():
                _check_end("endingOffsets", log, end, last[log])
        return ends

    def commit(self, group: str, offsets: Mapping[LogId, int]) -> None:
        async def tell() -> None:
            link = Link(self._options.bootstrap)
            try:
                places = tuple(messages.PartitionOffset(*log, offset) for log, offset in offsets.items())
                await link.ask(Opcode.COMMIT_OFFSETS, messages.CommitOffsets(group, places), messages.Done)
            finally:
                await link.close()

        ask(tell, patience_s=self._patience_s)


def _check_partition(topic: str, number: int, count: int) -> None:
    if not 0 <= number < count:
        raise UnknownPartition(
            f"the topic {topic} has no partition {number}",
            hint=f"it has {count} partition{'s' if count > 1 else ''}, numbered from 0",
        )


def _given(
    logs: Iterable[LogId],
    wanted: int | Offsets,
    first: Mapping[LogId, int],
    last: Mapping[LogId, int],
    *,
    otherwise: int,
) -> dict[LogId, int]:
    """Offsets that were given as numbers, or as the beginning or the end."""

    def offset(log: LogId) -> int:
        chosen = wanted if isinstance(wanted, int) else wanted.get(log.topic, {}).get(log.partition, otherwise)
        if chosen == EARLIEST:
            return first[log]
        return last[log] if chosen == LATEST else chosen

    return {log: offset(log) for log in logs}


def _check_end(option: str, log: LogId, offset: int, end: int) -> None:
    if offset > end:
        raise OffsetOutOfRange(
            f"{option}: {log} ends at offset {end}, before {offset}", hint="give offsets that are there"
        )
