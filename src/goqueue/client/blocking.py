"""What the blocking clients have in common: from the first call until they are closed they hold the event loop."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from goqueue.client.background import background
from goqueue.errors import ClientClosed

__all__ = ["Blocking"]

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Blocking(ABC):
    """A client of asyncio behind calls that block; any thread may call."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._turn = threading.Lock()
        self._background = background()
        self._holds_loop = False
        self._is_closed = False

    @abstractmethod
    def _abandon(self) -> None:
        """Close without waiting for what is still to be sent."""

    def _run(
        self, action: Callable[Given, Coroutine[Any, Any, Result]], *args: Given.args, **kwargs: Given.kwargs
    ) -> Result:
        self._hold_loop()
        return self._background.run(None, action, *args, **kwargs)

    def _call(self, action: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
        """For what does not wait, but is the event loop's business."""

        async def call() -> Result:
            return action(*args, **kwargs)

        return self._run(call)

    def _hold_loop(self) -> None:
        if self._holds_loop and not self._is_closed:
            return
        with self._turn:
            if self._is_closed:
                raise ClientClosed(f"this {self._what} is closed")
            if not self._holds_loop:
                self._background.enter(self._abandon)
                self._holds_loop = True

    def _close(
        self, action: Callable[Given, Coroutine[Any, Any, None]], *args: Given.args, **kwargs: Given.kwargs
    ) -> None:
        """Once; in a fork there is nothing to close."""
        with self._turn:
            has_work = self._holds_loop and not self._is_closed and not self._background.is_inherited
            self._is_closed = True
        if has_work:
            try:
                self._background.run(None, action, *args, **kwargs)
            finally:
                self._background.leave(self._abandon)
