"""Questions of the driver to a broker: which partitions there are, where they begin and end, and when."""

import asyncio
import re
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Literal, Self, TypeVar

from goqueue.client.admin import Admin
from goqueue.client.link import Link
from goqueue.errors import BrokerUnreachable, GoQueueError, UnknownTopic
from goqueue.model.log import LogId
from goqueue.spark.options import EARLIEST, LATEST, Offsets, ReadOptions
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["RESTARTS_WITHIN_S", "Conversation", "Places", "ask"]

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

        async def look(admin: Admin) -> dict[str, int]:
            return {str(topic.name): topic.partitions for topic in await admin.topics()}

        return self.broker.ask(look, patience_s=self._patience_s)

    def at(self, partitions: Iterable[LogId], at: Literal["earliest", "latest"] | int) -> dict[LogId, int]:
        """Offsets of `earliest`, `latest`, or of a time in nanoseconds."""
        logs, isolation = list(partitions), self._options.isolation
        if not logs:
            return {}
        work = partial(Admin.offsets_at, partitions=logs, at=at, isolation=isolation)
        return self.broker.ask(work, patience_s=self._patience_s)

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
        places = tuple(messages.PartitionOffset(*log, offset) for log, offset in offsets.items())
        request = messages.CommitOffsets(group, places)
        work = partial(Link.ask, opcode=Opcode.COMMIT_OFFSETS, message=request, reply=messages.Done)
        self.broker.ask_link(work, patience_s=self._patience_s)
