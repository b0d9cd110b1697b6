"""How the registry decides: in turn, and in a thread, since large schemas take long to parse and to compare."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from goqueue.core.schemas.parsing import ParseJob
from goqueue.core.schemas.registering import Registering
from goqueue.engine.broker import Broker
from goqueue.engine.schemas.parsing import Parsed, run_jobs
from goqueue.engine.shielded import shielded

__all__ = ["decide", "in_turn"]

Result = TypeVar("Result")


async def decide(
    broker: Broker,
    needed: Callable[[Registering], Sequence[ParseJob]],
    make: Callable[[Registering], Result],
    follow: Callable[[Result], Coroutine[Any, Any, None]],
) -> Result:
    """`needed` says what has to be parsed to `make` the decision; `follow` is done before anybody else's turn."""
    done: Parsed = []

    async def make_it() -> Result:
        # Others may have changed something since.
        await _parse(broker, needed, done)
        loop = asyncio.get_running_loop()
        made = await loop.run_in_executor(broker.parsers, make, broker.schemas.deciding(done))
        await follow(made)
        return made

    # Before it is one's turn, so that a schema that takes long to parse does not keep the others waiting.
    await _parse(broker, needed, done)
    return await in_turn(broker, make_it)


async def in_turn(broker: Broker, change: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """A caller who goes away does not stop it half-way."""

    async def take_turn() -> Result:
        async with broker.schemas_turn:
            return await change()

    return await shielded(take_turn())


async def _parse(broker: Broker, needed: Callable[[Registering], Sequence[ParseJob]], done: Parsed) -> None:
    """Until nothing more is needed: the registry may change while a thread is at it."""
    while jobs := needed(broker.schemas.deciding(done)):
        done += await run_jobs(broker, jobs)
