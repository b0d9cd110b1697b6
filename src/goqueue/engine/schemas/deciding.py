"""Decisions of the schema registry, made in a thread, since large schemas take long to parse and to compare."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from goqueue.core.schemas.events import Registered
from goqueue.core.schemas.parsing import ParseJob
from goqueue.core.schemas.registering import Registering
from goqueue.engine.broker import Broker
from goqueue.engine.schemas.parsing import Parsed, run_jobs
from goqueue.engine.shielded import shielded
from goqueue.engine.stream_names import SCHEMAS

__all__ = ["decide"]

Result = TypeVar("Result")


async def decide(
    broker: Broker,
    needed: Callable[[Registering], Sequence[ParseJob]],
    make: Callable[[Registering], Result],
) -> Result:
    """Returns what `make` decides or finds, durable if it was registered. `needed` lists what must be parsed first."""
    done: Parsed = []
    owner = broker.state_log.owner(SCHEMAS)

    async def make_it() -> Result:
        await owner.lock.acquire()
        try:
            # Another caller may have changed the registry since.
            await _parse(broker, needed, done)
            loop = asyncio.get_running_loop()
            made = await loop.run_in_executor(broker.parsers, make, broker.schemas.deciding(done))
        except BaseException:
            owner.lock.release()
            raise
        registered = [made] if isinstance(made, Registered) else []
        await broker.state_log.change_locked(owner, lambda: registered)
        return made

    # Parse before taking the lock, so that a slow schema does not delay other callers.
    await _parse(broker, needed, done)
    # The thread reads the registry, which must not change meanwhile, even if the caller is cancelled.
    made = await shielded(make_it())
    await broker.state_log.settled(owner)
    return made


async def _parse(broker: Broker, needed: Callable[[Registering], Sequence[ParseJob]], done: Parsed) -> None:
    """Repeat until nothing more is needed, as the registry may change while a thread parses."""
    while jobs := needed(broker.schemas.deciding(done)):
        done += await run_jobs(broker, jobs)
