"""A FIFO lock is handed on in the order of the requests, to tasks and to callbacks."""

import asyncio

from goqueue.engine.fifo_lock import FifoLock
from tests.unit.engine.queue_scene import steps


async def test_tasks_and_callbacks_get_the_lock_in_the_order_in_which_they_asked():
    lock, seen = FifoLock(), []

    async def wait(name):
        await lock.acquire()
        seen.append(name)

    await lock.acquire()
    waiting = [asyncio.ensure_future(wait("task"))]
    await steps(1)
    lock.ask(lambda: seen.append("called"))
    waiting.append(asyncio.ensure_future(wait("last")))
    await steps(1)
    for expected in (["task"], ["task", "called"], ["task", "called", "last"]):
        lock.release()
        await steps(3)
        assert seen == expected
    lock.release()
    assert not lock.locked()
    await asyncio.gather(*waiting)


async def test_a_callback_is_never_called_immediately():
    lock, seen = FifoLock(), []
    lock.ask(lambda: seen.append("called"))
    assert (seen, lock.locked()) == ([], True)
    await steps(1)
    assert seen == ["called"]


async def test_a_cancelled_task_does_not_keep_the_lock_from_the_next_one():
    for after in range(3):
        lock = FifoLock()
        await lock.acquire()
        gone = asyncio.ensure_future(lock.acquire())
        behind = asyncio.ensure_future(lock.acquire())
        await steps(1)
        if after:
            lock.release()
        if after == 2:
            await steps(1)
        is_given = gone.done()
        gone.cancel()
        await asyncio.wait([gone])
        if not after or is_given:
            lock.release()
        async with asyncio.timeout(1):
            await behind
