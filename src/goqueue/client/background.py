"""The event loop behind the blocking clients: one thread, started with the first client and ended with the last."""

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from goqueue.errors import ClientClosed, RequestTimeout

__all__ = ["Background", "background"]

FINISH_WITHIN_S = 10.0

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Background:
    """Called from any thread. It does not survive a fork: the child has neither the thread nor the connections.

    A client that enters says how it is closed when the process ends before it has left.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._clients: set[Callable[[], None]] = set()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event

    @property
    def is_inherited(self) -> bool:
        """Whether it belongs to the process that this one was forked from."""
        return os.getpid() != self._process

    def check_process(self) -> None:
        if self.is_inherited:
            raise ClientClosed(
                f"this client belongs to process {self._process}, and this is its fork {os.getpid()}",
                hint="make the client after the fork, one for each process",
            )

    def enter(self, abandon: Callable[[], None]) -> None:
        self.check_process()
        with self._turn:
            if self._thread is None:
                self._start()
            self._clients.add(abandon)

    def leave(self, abandon: Callable[[], None]) -> None:
        with self._turn:
            self._clients.discard(abandon)
            if not self._clients and self._thread is not None:
                thread, self._thread = self._thread, None
                self._loop.call_soon_threadsafe(self._stop.set)
                thread.join()

    def call_soon(self, action: Callable[[], None]) -> None:
        """On the loop, after what was asked of it before."""
        self.check_process()
        with self._turn:
            if self._thread is None:
                raise ClientClosed("the client was closed")
            self._loop.call_soon_threadsafe(action)

    def call_from_signal(self, action: Callable[[], None]) -> None:
        """As `call_soon`, without a lock: the code that the signal has interrupted may hold it."""
        self._loop.call_soon_threadsafe(action)

    def run(
        self,
        timeout: float | None,
        action: Callable[Given, Coroutine[Any, Any, Result]],
        *args: Given.args,
        **kwargs: Given.kwargs,
    ) -> Result:
        """What the coroutine returns. A caller that is interrupted, or out of time, takes it back."""
        self.check_process()
        with self._turn:
            if self._thread is None:
                raise ClientClosed("the client was closed")
            future = asyncio.run_coroutine_threadsafe(action(*args, **kwargs), self._loop)
        try:
            return future.result(timeout)
        except TimeoutError:
            if future.done():
                raise
            future.cancel()
            raise RequestTimeout(f"no answer within {timeout:g} s") from None
        except asyncio.CancelledError:
            raise ClientClosed("the client was closed") from None
        except BaseException:
            future.cancel()
            raise

    def close_all(self) -> None:
        """At the end of the process, for clients that nobody closed."""
        for abandon in tuple(self._clients):
            with contextlib.suppress(Exception):
                abandon()

    # The thread.

    def _start(self) -> None:
        serving = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(serving,), name="goqueue-client", daemon=True)
        self._thread.start()
        serving.wait()

    def _serve(self, serving: threading.Event) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._live(serving))

    async def _live(self, serving: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        serving.set()
        await self._stop.wait()
        # A client whose caller was interrupted while closing it is still on its way.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=FINISH_WITHIN_S)


_current = Background()


def background() -> Background:
    """The one of this process."""
    return _current


def _after_fork() -> None:
    global _current  # noqa: PLW0603  # the child starts afresh
    _current = Background()


def _at_exit() -> None:
    if not _current.is_inherited:
        _current.close_all()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
