"""Wait for what blocks, such as a terminal or a pipe, without standing still, and stop when told to."""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["in_thread", "until_interrupted"]

Result = TypeVar("Result")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def in_thread(call: Callable[[], Result]) -> Result:
    """Run a call that may block for long in a thread that does not keep the program from ending.

    An executor's threads would: Python waits for them, and nothing can wake a read from a terminal.
    """
    outcome: Future[Result] = Future()
    # It cannot be called back any more, so giving up on it leaves it alone.
    outcome.set_running_or_notify_cancel()

    def work() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return await asyncio.wrap_future(outcome)


async def until_interrupted(work: Coroutine[Any, Any, None]) -> bool:
    """Run until it is done, or until Ctrl-C or SIGTERM cancels it; returns whether it was cancelled.

    Only the first signal is caught: whoever sends a second one does not want to wait for a clean end.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        interrupted = True
        _let_signals_through(loop)
        task.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, interrupt)
    try:
        await task
    except asyncio.CancelledError:
        if not interrupted:
            raise
    finally:
        _let_signals_through(loop)
    return interrupted


def _let_signals_through(loop: asyncio.AbstractEventLoop) -> None:
    for number in _SIGNALS:
        loop.remove_signal_handler(number)
