"""Recent business ids of all topics; older ones are in an index on disk.

Ids are collected in a generation. When it is full, the generation is put aside, the index takes it over, and only then
is it dropped. A lookup in both is therefore complete at every moment, and after a restart: events that the index
already has are dropped when its number is known.
"""

from collections.abc import Callable, Iterable, Sequence

from goqueue.core.ids.events import DIGEST_BYTES, NO_ID, IdEvent, IdsForgotten, IdsWritten, KnownIds

__all__ = ["RecentIds"]


class _Generation:
    """Events in order. They are indexed for lookup at the first lookup: recovery needs none."""

    def __init__(self, written: Iterable[IdsWritten] = ()) -> None:
        self.written = list(written)
        self.ids = sum(len(event.digests) for event in self.written) // DIGEST_BYTES
        self._entered = 0
        self._by_space: dict[int, dict[bytes, IdsWritten]] = {}

    def add(self, event: IdsWritten) -> None:
        self.written.append(event)
        self.ids += len(event.digests) // DIGEST_BYTES

    def remove(self, event: IdsWritten) -> None:
        # Searched from the end: a withdrawn event has just been added.
        for at in range(len(self.written) - 1, -1, -1):
            if self.written[at] is event:
                break
        else:
            return
        del self.written[at]
        self.ids -= len(event.digests) // DIGEST_BYTES
        if at < self._entered:
            self._entered -= 1
            known = self._by_space[event.space]
            for digest in _split(event.digests):
                if known.get(digest) is event:
                    del known[digest]

    def lookup(self, space: int) -> Callable[[bytes], IdsWritten | None]:
        for event in self.written[self._entered :]:
            known = self._by_space.setdefault(event.space, {})
            known.update(dict.fromkeys(_split(event.digests), event))
            known.pop(NO_ID, None)
        self._entered = len(self.written)
        return self._by_space.get(space, {}).get


def _split(digests: bytes) -> list[bytes]:
    return [digests[at : at + DIGEST_BYTES] for at in range(0, len(digests), DIGEST_BYTES)]


class RecentIds:
    """Commands return an event and change nothing; `apply` is the only writer of state that survives a restart."""

    def __init__(self) -> None:
        self._last_number = 0
        self._last_space = 0
        self._spaces: dict[str, int] = {}
        self._young = _Generation()
        self._old = _Generation()
        self._reserved = _Generation()
        """Events of batches being written. Never in a snapshot."""
        self.indexed = 0
        """Events up to this number were dropped here: the index must have them."""

    def __len__(self) -> int:
        return self._young.ids + self._old.ids

    @property
    def last_number(self) -> int:
        return self._last_number

    @property
    def spaces(self) -> dict[str, int]:
        """The spaces in use, by topic."""
        return self._spaces

    # Commands.

    def find(self, space: int, digests: Sequence[bytes]) -> list[IdsWritten | None]:
        """The newest event for each digest, None without one."""
        lookups = [some.lookup(space) for some in (self._reserved, self._young, self._old) if some.written]
        if len(lookups) == 1:
            return list(map(lookups[0], digests))
        return [next(filter(None, (known(digest) for known in lookups)), None) for digest in digests]

    def space_of(self, topic: str) -> int | None:
        """None for a topic without ids."""
        known = self._spaces.get(topic)
        if known is None and self._reserved.written:
            return next((event.space for event in self._reserved.written if event.topic == topic), None)
        return known

    def write(self, topic: str, partition: int, base_offset: int, timestamp_ns: int, digests: bytes) -> IdsWritten:
        last_number, last_space, space = self._last_number, self._last_space, self.space_of(topic)
        if self._reserved.written:
            last_number = max(last_number, self._reserved.written[-1].number)
            last_space = max(last_space, *(event.space for event in self._reserved.written))
        if space is None:
            space = last_space + 1
        return IdsWritten(last_number + 1, space, topic, partition, base_offset, timestamp_ns, digests)

    def forget(self, topic: str) -> IdsForgotten | None:
        return IdsForgotten(topic) if topic in self._spaces else None

    # Events.

    def apply(self, event: IdEvent) -> None:
        match event:
            case IdsWritten():
                self._young.add(event)
                self._spaces[event.topic] = event.space
                self._last_space = max(self._last_space, event.space)
                self._last_number = max(self._last_number, event.number)
            case IdsForgotten(topic):
                self._spaces.pop(topic, None)

    # Reservations.

    def reserve(self, event: IdsWritten) -> None:
        """Reserve the ids of a batch being written: they must not be used twice meanwhile."""
        self._reserved.add(event)

    def release(self, event: IdsWritten) -> None:
        """Called when the batch was written and the event applied, or when it never will be."""
        self._reserved.remove(event)

    # Handover to the index.

    def put_aside(self) -> Sequence[IdsWritten]:
        """The events that the index takes over next: all there are, or those put aside before and not yet dropped."""
        if not self._old.written:
            self._old, self._young = self._young, _Generation()
        return self._old.written

    def let_go(self) -> None:
        """Called when the index has the events put aside, durably."""
        if self._old.written:
            self.indexed = self._old.written[-1].number
            self._old = _Generation()

    def drop_indexed(self, number: int) -> None:
        """Drop the events up to this number, which the index has."""
        kept = [event for event in (*self._old.written, *self._young.written) if event.number > number]
        self._old, self._young = _Generation(), _Generation(kept)
        self.indexed = max(self.indexed, number)

    # Snapshots.

    def snapshot(self) -> KnownIds:
        recent = (*self._old.written, *self._young.written)
        return KnownIds(self._last_number, self._last_space, self.indexed, dict(self._spaces), recent)

    def restore(self, known: KnownIds) -> None:
        self._last_number, self._last_space = known.last_number, known.last_space
        self._spaces, self.indexed = dict(known.spaces), known.indexed
        self._old, self._young = _Generation(), _Generation(known.recent)
