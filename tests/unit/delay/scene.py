"""A partition with delays on a clock that the test sets, and everything that was written down."""

import msgspec

from goqueue.core.delay.delays import Delays
from goqueue.core.delay.events import Delayed, DelayEvent, KeptDelays
from goqueue.core.delay.packing import unpack

MS = 1_000_000
SECOND = 1_000 * MS
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

START = 1_754_000_000 * SECOND + 123_456_789


class Scene:
    def __init__(self, now: int = START) -> None:
        self.now = now
        self.delays = Delays()
        self.history: list[DelayEvent] = []
        self.delays.fire(now=now)

    def do(self, event: DelayEvent | None) -> None:
        """As through the journal."""
        if event is not None:
            event = msgspec.msgpack.decode(msgspec.msgpack.encode(event), type=DelayEvent)
            self.history.append(event)
            self.delays.apply(event)

    def delay(self, waits: dict[int, int]) -> Delayed | None:
        event = self.delays.schedule(list(waits), [self.now + wait for wait in waits.values()], now=self.now)
        self.do(event)
        return event

    def pass_time(self, duration: int) -> list[int]:
        """What fires because of it, in order."""
        self.now += duration
        return self.fire()

    def fire(self) -> list[int]:
        fired: list[int] = []
        while (event := self.delays.fire(now=self.now)) is not None:
            assert set(fired).isdisjoint(unpack(event.offsets)), "fired twice"
            self.do(event)
            fired += unpack(event.offsets)
        return fired

    def restart(self) -> None:
        self.delays = restored(self.delays.snapshot())

    def replayed(self) -> Delays:
        delays = Delays()
        for event in self.history:
            delays.apply(event)
        return delays


def restored(kept: KeptDelays) -> Delays:
    """As through a checkpoint."""
    delays = Delays()
    delays.restore(msgspec.msgpack.decode(msgspec.msgpack.encode(kept), type=KeptDelays))
    return delays
