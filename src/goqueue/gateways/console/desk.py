"""What the pages of the console work with: the broker, what was sampled of it, and the settings it runs with."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.placement import Placement
from goqueue.gateways.console.history import History
from goqueue.gateways.console.lane_history import LaneHistory

__all__ = ["Desk", "SettingRow"]

RECENT_NS = 1_900_000_000
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
        self._recent: OrderedDict[str, tuple[int, Any]] = OrderedDict()

    def recent(self, name: str, make: Callable[[], T]) -> T:
        """What was made under this name within the last two seconds, for all who watch, or made now."""
        now = self.broker.clock.now_ns()
        at, found = self._recent.get(name, (0, None))
        if not 0 <= now - at < RECENT_NS:
            found = make()
            self._recent[name] = (now, found)
            self._recent.move_to_end(name)
            if len(self._recent) > MOST_RECENT:
                self._recent.popitem(last=False)
        return cast(T, found)
