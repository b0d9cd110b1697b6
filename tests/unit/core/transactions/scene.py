"""A coordinator on a clock that the test sets, with everything that was written down."""

import msgspec

from goqueue.core.transactions.coordinator import Coordinator
from goqueue.core.transactions.events import CoordinatorEvent, KeptCoordinator
from goqueue.core.transactions.outcomes import KeptOutcomes, OutcomeEvent, Outcomes
from goqueue.core.transactions.transaction import Pledge

MS = 1_000_000
SECOND = 1_000 * MS
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

START = 1_754_000_000 * SECOND


class Scene:
    """Events go through the journal: encoded, decoded, applied."""

    def __init__(self) -> None:
        self.now = START
        self.coordinator = Coordinator()
        self.history: list[CoordinatorEvent] = []

    def do(self, *events):
        for event in events:
            if event is not None:
                event = msgspec.msgpack.decode(msgspec.msgpack.encode(event), type=CoordinatorEvent)
                self.history.append(event)
                self.coordinator.apply(event)
        return events[0] if events else None

    def enlist(self, name="app", producer_id=7, epoch=0, timeout_ms=60_000):
        return self.do(self.coordinator.enlist(name, producer_id, epoch, timeout_ms, self.now))

    def begin(self, producer_id=7, epoch=0):
        return self.do(self.coordinator.begin(producer_id, epoch, self.now)).number

    def begin_part(self, key="batch-1", producer_id=9, timeout_ms=60_000):
        return self.do(self.coordinator.begin_part(key, producer_id, timeout_ms, self.now)).number

    def prepared_part(self, key="batch-1", producer_id=9):
        number = self.begin_part(key, producer_id)
        self.do(self.coordinator.prepare(number, self.now))
        return number

    def end(self, number, *, committed, why=""):
        return self.do(self.coordinator.end(number, committed=committed, why=why, now=self.now))

    def decide(self, key, *numbers):
        decision = self.coordinator.decide(key, numbers, self.now)
        self.do(*decision.events)
        return decision

    def restart(self):
        self.coordinator = restored(self.coordinator.snapshot())


def restored(kept: KeptCoordinator) -> Coordinator:
    """As through a checkpoint on disk."""
    coordinator = Coordinator()
    coordinator.restore(msgspec.msgpack.decode(msgspec.msgpack.encode(kept), type=KeptCoordinator))
    return coordinator


def replayed(events) -> Coordinator:
    coordinator = Coordinator()
    for event in events:
        coordinator.apply(event)
    return coordinator


def restored_outcomes(kept: KeptOutcomes) -> Outcomes:
    outcomes = Outcomes()
    outcomes.restore(msgspec.msgpack.decode(msgspec.msgpack.encode(kept), type=KeptOutcomes))
    return outcomes


def replayed_outcomes(events) -> Outcomes:
    outcomes = Outcomes()
    for event in events:
        outcomes.apply(msgspec.msgpack.decode(msgspec.msgpack.encode(event), type=OutcomeEvent))
    return outcomes


def pledge(*runs, group="g", topic="t", partition=0, action="ack") -> Pledge:
    return Pledge(group, topic, partition, 1, runs, action, 0)
