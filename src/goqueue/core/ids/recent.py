"""The ids written most recently, of all topics; older ones are in an index on disk.

Ids gather in a generation. When there are enough, the generation is put aside, the index takes it over, and only
then is it let go. What is told from both together is therefore complete at every moment, and after a restart:
events that the index has already are dropped when its number is known.
"""

from collections.abc import Callable, Iterable, Sequence

from goqueue.core.ids.events import DIGEST_BYTES, NO_ID, IdEvent, IdsForgotten, IdsWritten, KnownIds

__all__ = ["RecentIds"]


class _Generation:
    """Events in order. They are entered for looking up when that is first asked for: recovery never asks."""

    def __init__(self, written: Iterable[IdsWritten] = ()) -> None:
        self.written = list(written)
        self.ids = sum(len(event.digests) for event in self.written) // DIGEST_BYTES
        self._entered = 0
        self._by_space: dict[int, dict[bytes, IdsWritten]] = {}

    def add(self, event: IdsWritten) -> None:
        self.written.append(event)
        self.ids += len(event.digests) // DIGEST_BYTES

    def remove(self, event: IdsWritten) -> None:
        # Looked for from the end: what is taken back has just been added.
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
    """Deciding returns an event and changes nothing; `apply` is the only writer of what survives a restart."""

    def __init__(self) -> None:
        self._last_number = 0
        self._last_space = 0
        self._spaces: dict[str, int] = {}
        self._young = _Generation()
        self._old = _Generation()
        self._reserved = _Generation()
        """Of batches that are being written. Never in a snapshot."""
        self.indexed = 0
        """Ids up to the event of this number were let go here: the index must have them."""

    def __len__(self) -> int:
        return self._young.ids + self._old.ids

    @property
    def last_number(self) -> int:
        return self._last_number

    @property
    def spaces(self) -> dict[str, int]:
        """The spaces in use, by topic."""
        return self._spaces

    # Deciding.

    def find(self, space: int, digests: Sequence[bytes]) -> list[IdsWritten | None]:
        """The newest event of each digest, None where there is none."""
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

    # Applying.

    def apply(self, event: IdEvent) -> None:
        match event:
            case IdsWritten():
                self._young.add(event)
                self._spaces[event.topic] = event.space
                self._last_space = max(self._last_space, event.space)
                self._last_number = max(self._last_number, event.number)
            case IdsForgotten(topic):
                self._spaces.pop(topic, None)

    # Reserving.

    def reserve(self, event: IdsWritten) -> None:
        """Its batch is being written: ids must not be used twice meanwhile."""
        self._reserved.add(event)

    def release(self, event: IdsWritten) -> None:
        """The batch was written and the event applied, or it never will be."""
        self._reserved.remove(event)

    # Handing over to the index.

    def put_aside(self) -> Sequence[IdsWritten]:
        """What the index is to take over next: all there is, or what was put aside before and not yet let go."""
        if not self._old.written:
            self._old, self._young = self._young, _Generation()
        return self._old.written

    def let_go(self) -> None:
        """The index has what was put aside, durably."""
        if self._old.written:
            self.indexed = self._old.written[-1].number
            self._old = _Generation()

    def drop_indexed(self, number: int) -> None:
        """The index says up to which event it has everything."""
        kept = [event for event in (*self._old.written, *self._young.written) if event.number > number]
        self._old, self._young = _Generation(), _Generation(kept)
        self.indexed = max(self.indexed, number)

    # Surviving a restart.

    def snapshot(self) -> KnownIds:
        recent = (*self._old.written, *self._young.written)
        return KnownIds(self._last_number, self._last_space, self.indexed, dict(self._spaces), recent)

    def restore(self, known: KnownIds) -> None:
        self._last_number, self._last_space = known.last_number, known.last_space
        self._spaces, self.indexed = dict(known.spaces), known.indexed
        self._old, self._young = _Generation(), _Generation(known.recent)
