"""Deduplication window: the record ids that a topic remembers, recent ones in memory and the others in the index."""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from goqueue.core.ids.batch import Division
from goqueue.core.ids.events import NO_ID, IdsWritten, Place
from goqueue.core.ids.recent import RecentIds
from goqueue.core.producers.originals import Original, pack_originals
from goqueue.engine.ports import FoundId, IdIndex, IdIndexDamaged
from goqueue.engine.state_log import Decision, StateLog
from goqueue.errors import DiskFull, StorageBusy

__all__ = ["IDS", "KnownPlaces", "RememberedIds", "UniqueBatch"]

IDS = "ids"
"""The stream of ids."""
MOST_RECENT = 250_000
"""Ids in memory; more are refused until the index has taken some."""


class KnownPlaces(NamedTuple):
    """The position of each known digest; `unsettled` is an event among them that may yet be refused."""

    places: list[Place | None]
    unsettled: int | None


class RememberedIds:
    """One for all topics, on the event loop."""

    def __init__(self, recent: RecentIds, index: IdIndex, state_log: StateLog) -> None:
        self.recent = recent
        self.index = index
        self.fault: str | None = None
        """Why the index must be rebuilt; until then it is unknown which ids are duplicates."""
        self.lacks_room = False
        """True if the index could not be opened because the disk is full; it may be intact."""
        self.state_log = state_log
        self._unsettled: dict[int, list[Callable[[], None]]] = {}

    def open(self) -> None:
        """Open the index and compare it with the recovered state."""
        self.fault, self.lacks_room = None, False
        try:
            number = self.index.open()
        except (IdIndexDamaged, DiskFull) as trouble:
            self.fault, self.lacks_room = str(trouble), isinstance(trouble, DiskFull)
            return
        # Ids dropped here are in the index, and ids in the index were durable here before.
        if not self.recent.indexed <= number <= self.recent.last_number:
            self.fault = f"the index of ids has {number} events, the journal {self.recent.last_number}"
            return
        self.recent.drop_indexed(number)

    def find(self, topic: str, digests: Sequence[bytes], horizon_ns: int) -> KnownPlaces:
        """Positions of ids that were written after the horizon."""
        if self.fault is not None:
            raise StorageBusy("the index of ids is being built again; records without ids are taken")
        if len(self.recent) + len(digests) > MOST_RECENT:
            raise StorageBusy(f"{len(self.recent)} ids wait for their index")
        places: list[Place | None] = [None] * len(digests)
        space = self.recent.space_of(topic)
        if space is None:
            return KnownPlaces(places, None)
        recent = self.recent.find(space, digests)
        unsettled = None
        elsewhere: Sequence[int] = range(len(digests))
        if any(recent):
            elsewhere = [step for step, event in enumerate(recent) if event is None]
            for step, event in enumerate(recent):
                if event is not None and event.timestamp_ns > horizon_ns:
                    places[step] = event.place(digests[step])
                    unsettled = event.number if event.number in self._unsettled else unsettled
        for number, *place in self._in_index(space, [digests[step] for step in elsewhere]):
            if place[2] > horizon_ns:
                places[elsewhere[number]] = Place(*place)
        return KnownPlaces(places, unsettled)

    def _in_index(self, space: int, digests: Sequence[bytes]) -> Sequence[FoundId]:
        try:
            return self.index.find(space, b"".join(digests)) if digests else ()
        except IdIndexDamaged as damage:
            self.fault = str(damage)
            raise StorageBusy("the index of ids is damaged and will be built again") from damage

    # Reservations.

    def begin(self, event: IdsWritten) -> None:
        """Reserve the ids until the event is written or refused."""
        self.recent.reserve(event)
        self._unsettled[event.number] = []

    def end(self, event: IdsWritten) -> None:
        self.recent.release(event)
        for waiting in self._unsettled.pop(event.number, ()):
            asyncio.get_running_loop().call_soon(waiting)

    def when_settled(self, number: int, action: Callable[[], None]) -> None:
        self._unsettled[number].append(action)


class UniqueBatch:
    """The ids of a batch's new records, and the positions of the others; see
    `goqueue.engine.staged_append.BatchIds`."""

    def __init__(self, ids: RememberedIds, topic: str, digests: Sequence[bytes], division: Division) -> None:
        self._ids = ids
        self._topic = topic
        self._digests = b"".join([digests[step] for step in division.new])
        self._repetitions = division.repetitions
        self._event: IdsWritten | None = None

    def join(self, partition: int, base_offset: int, timestamp_ns: int) -> tuple[bytes, Decision]:
        originals = [
            Original(step, partition, base_offset + place, timestamp_ns)
            if isinstance(place, int)
            else Original(step, *place)
            for step, place in self._repetitions
        ]
        if not self._digests.strip(NO_ID):
            return pack_originals(originals), ()
        recent = self._ids.recent
        self._event = recent.write(self._topic, partition, base_offset, timestamp_ns, self._digests)
        return pack_originals(originals), ((self._ids.state_log.owner(IDS), self._event),)

    def begin(self) -> None:
        if self._event is not None:
            self._ids.begin(self._event)

    def end(self) -> None:
        if self._event is not None:
            self._ids.end(self._event)
