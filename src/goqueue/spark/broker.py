"""Questions of the driver to a broker: which partitions there are, where they begin and end, and when."""

import asyncio
import re
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Literal, NamedTuple, Self, TypeVar

from goqueue.client.admin import Admin
from goqueue.client.link import Link
from goqueue.errors import BrokerUnreachable, GoQueueError, OffsetOutOfRange, UnknownPartition, UnknownTopic
from goqueue.model.log import LogId
from goqueue.spark.options import EARLIEST, LATEST, Offsets, ReadOptions
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["RESTARTS_WITHIN_S", "Conversation", "Places", "TopicShape", "ask"]

RESTARTS_WITHIN_S = 60.0
"""So long a stream waits for a broker that is away."""
PAUSE_S = 0.5

Result = TypeVar("Result")


def ask(work: Callable[[], Coroutine[Any, Any, Result]], *, patience_s: float = 0.0) -> Result:
    """In an event loop of its own: Spark calls from threads that have none, and has no use for one.

    With patience it is tried again while the broker cannot be reached, which may be restarting.
    """

    return asyncio.run(_patiently(work, patience_s))


async def _patiently(work: Callable[[], Coroutine[Any, Any, Result]], patience_s: float) -> Result:
    loop = asyncio.get_running_loop()
    until = loop.time() + patience_s
    while True:
        try:
            return await work()
        except BrokerUnreachable:
            if loop.time() >= until:
                raise
        await asyncio.sleep(PAUSE_S)


class Conversation:
    """One connection to a broker, kept from one question to the next, which several threads may ask.

    It is made for the first question, and again after a loss. A copy, as tasks get one, makes its own.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._admin: Admin | None = None

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self._bootstrap,)

    def ask(self, work: Callable[[Admin], Coroutine[Any, Any, Result]], *, patience_s: float = 0.0) -> Result:
        """With patience it is tried again while the broker cannot be reached."""
        loop, admin = self._started()
        return asyncio.run_coroutine_threadsafe(_patiently(partial(work, admin), patience_s), loop).result()

    def ask_link(self, work: Callable[[Link], Coroutine[Any, Any, Result]], *, patience_s: float = 0.0) -> Result:
        """For questions that no `Admin` has."""
        return self.ask(lambda admin: work(admin._link), patience_s=patience_s)

    def close(self) -> None:
        """The next question would make another connection."""
        with self._starting:
            loop, thread, admin = self._loop, self._thread, self._admin
            self._loop = self._thread = self._admin = None
        if loop is None or thread is None or admin is None:
            return
        with suppress(GoQueueError):
            asyncio.run_coroutine_threadsafe(admin.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def _started(self) -> tuple[asyncio.AbstractEventLoop, Admin]:
        with self._starting:
            if self._loop is None or self._admin is None:
                self._loop, self._admin = asyncio.new_event_loop(), Admin(self._bootstrap)
                self._thread = threading.Thread(target=self._loop.run_forever, name="goqueue-broker", daemon=True)
                self._thread.start()
            return self._loop, self._admin


class TopicShape(NamedTuple):
    """A topic, as far as reading is concerned."""

    partitions: int
    created_ns: int
    """Tells it from one that was deleted and created again under its name."""


class Places:
    """Partitions and offsets as options speak of them. Use as a context manager, or close it: it keeps a connection."""

    def __init__(self, options: ReadOptions, *, patience_s: float = 0.0) -> None:
        self._options = options
        self._patience_s = patience_s
        self.broker = Conversation(options.bootstrap)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.broker.close()

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
        async def look(admin: Admin) -> dict[str, TopicShape]:
            return {one.name: TopicShape(one.partitions, one.created_ns) for one in await admin.topics()}

        return self.broker.ask(look, patience_s=self._patience_s)

    def at(self, partitions: Iterable[LogId], at: Literal["earliest", "latest"] | int) -> dict[LogId, int]:
        """Offsets of `earliest`, `latest`, or of a time in nanoseconds."""
        logs, isolation = list(partitions), self._options.isolation
        if not logs:
            return {}
        work = partial(Admin.offsets_at, partitions=logs, at=at, isolation=isolation)
        return self.broker.ask(work, patience_s=self._patience_s)

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
        places = tuple(messages.PartitionOffset(*log, offset) for log, offset in offsets.items())
        request = messages.CommitOffsets(group, places)
        work = partial(Link.ask, opcode=Opcode.COMMIT_OFFSETS, message=request, reply=messages.Done)
        self.broker.ask_link(work, patience_s=self._patience_s)


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
