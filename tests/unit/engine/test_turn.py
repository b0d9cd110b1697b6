"""A turn goes to one after the other, whether a task waits for it or somebody is called."""

import asyncio

from goqueue.engine.queue.turn import Turn
from tests.unit.engine.queue_scene import steps


async def test_those_who_ask_get_it_in_the_order_in_which_they_came():
    turn, seen = Turn(), []

    async def wait(name):
        await turn.acquire()
        seen.append(name)

    await turn.acquire()
    waiting = [asyncio.ensure_future(wait("task"))]
    await steps(1)
    turn.ask(lambda: seen.append("called"))
    waiting.append(asyncio.ensure_future(wait("last")))
    await steps(1)
    for expected in (["task"], ["task", "called"], ["task", "called", "last"]):
        turn.release()
        await steps(3)
        assert seen == expected
    turn.release()
    assert not turn.locked()
    await asyncio.gather(*waiting)


async def test_whoever_is_called_is_never_called_at_once():
    turn, seen = Turn(), []
    turn.ask(lambda: seen.append("called"))
    assert (seen, turn.locked()) == ([], True)
    await steps(1)
    assert seen == ["called"]


async def test_a_task_that_gives_up_does_not_keep_the_turn_from_others():
    for after in range(3):
        turn = Turn()
        await turn.acquire()
        gone = asyncio.ensure_future(turn.acquire())
        behind = asyncio.ensure_future(turn.acquire())
        await steps(1)
        if after:
            turn.release()
        if after == 2:
            await steps(1)
        is_given = gone.done()
        gone.cancel()
        await asyncio.wait([gone])
        if not after or is_given:
            turn.release()
        async with asyncio.timeout(1):
            await behind
