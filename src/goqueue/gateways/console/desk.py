"""Desk of the console: the broker, what was sampled of it, and the settings it runs with."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.placement import Placement
from goqueue.engine.ports import Clock
from goqueue.engine.shielded import shielded, unattended
from goqueue.gateways.console.history import History
from goqueue.gateways.console.lane_history import LaneHistory

__all__ = ["Desk", "SettingRow"]

RECENT_NS = 1_900_000_000
IDLE_FACTOR = 10
"""What took long to make is shown for ten times as long: an open page costs a tenth of a core at most."""
MOST_RECENT = 100

T = TypeVar("T")


class SettingRow(msgspec.Struct, frozen=True):
    """A setting by its dotted name, its value as text, and where that came from: empty for the default."""

    name: str
    value: str
    origin: str


class Desk:
    """One for the console."""

    def __init__(self, broker: Broker, settings: tuple[SettingRow, ...]) -> None:
        self.broker = broker
        self.settings = settings
        self.placement = Placement()
        self.history = History(broker)
        self.lanes = LaneHistory(broker)
        self.started_ns = broker.clock.now_ns()
        self._recent: OrderedDict[str, _Made] = OrderedDict()

    async def recent(self, name: str, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What was made under this name within the last two seconds, for all who watch, or is made now."""
        found = self._recent.get(name)
        if found is None or not found.is_fresh(self.broker.clock.now_ns()):
            found = self._recent[name] = _Made(unattended(make()), self.broker.clock)
            self._recent.move_to_end(name)
            if len(self._recent) > MOST_RECENT:
                self._recent.popitem(last=False)
        return cast(T, await shielded(found.result))


class _Made:
    """Something that is shown for a while; `result` is not there until it has been made."""

    __slots__ = ("_began_ns", "_clock", "_until_ns", "result")

    def __init__(self, result: asyncio.Future[Any], clock: Clock) -> None:
        self.result = result
        self._clock = clock
        self._began_ns = clock.now_ns()
        self._until_ns: int = self._began_ns
        result.add_done_callback(self._done)

    def is_fresh(self, now: int) -> bool:
        if not self.result.done():
            return True
        failed = self.result.cancelled() or self.result.exception() is not None
        return not failed and self._began_ns <= now < self._until_ns

    def _done(self, _: asyncio.Future[Any]) -> None:
        now = self._clock.now_ns()
        self._until_ns = now + max(RECENT_NS, IDLE_FACTOR * (now - self._began_ns))
