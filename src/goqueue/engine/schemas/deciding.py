"""Decisions of the registry are made in a thread, since large schemas take long to parse and to compare."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from goqueue.core.schemas.events import Registered
from goqueue.core.schemas.parsing import ParseJob
from goqueue.core.schemas.registering import Registering
from goqueue.engine.broker import Broker
from goqueue.engine.kinds import SCHEMAS
from goqueue.engine.schemas.parsing import Parsed, run_jobs
from goqueue.engine.shielded import shielded

__all__ = ["decide"]

Result = TypeVar("Result")


async def decide(
    broker: Broker,
    needed: Callable[[Registering], Sequence[ParseJob]],
    make: Callable[[Registering], Result],
) -> Result:
    """What `make` decides or finds, durable if it was registered. `needed` says what has to be parsed before."""
    done: Parsed = []
    owner = broker.state_log.owner(SCHEMAS)

    async def make_it() -> Result:
        await owner.lock.acquire()
        try:
            # Others may have changed something since.
            await _parse(broker, needed, done)
            loop = asyncio.get_running_loop()
            made = await loop.run_in_executor(broker.parsers, make, broker.schemas.deciding(done))
        except BaseException:
            owner.lock.release()
            raise
        registered = [made] if isinstance(made, Registered) else []
        await broker.state_log.change_locked(owner, lambda: registered)
        return made

    # Before it takes the lock, so that a schema that takes long to parse does not keep others waiting.
    await _parse(broker, needed, done)
    # The thread looks at the registry, which must not change meanwhile, even if the caller goes away.
    made = await shielded(make_it())
    await broker.state_log.settled(owner)
    return made


async def _parse(broker: Broker, needed: Callable[[Registering], Sequence[ParseJob]], done: Parsed) -> None:
    """Until nothing more is needed: the registry may change while a thread is at it."""
    while jobs := needed(broker.schemas.deciding(done)):
        done += await run_jobs(broker, jobs)
