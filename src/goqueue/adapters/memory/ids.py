"""Index of record ids in memory: the twin of the one on disk, for tests."""

from collections.abc import Sequence

from goqueue.engine.ports import FoundId, IndexedIds

__all__ = ["MemoryIdIndex"]

DIGEST_BYTES = 16
NO_ID = bytes(DIGEST_BYTES)


class MemoryIdIndex:
    """See `goqueue.engine.ports.IdIndex`. The content survives `close` and `open`."""

    def __init__(self) -> None:
        self._number = 0
        self._places: dict[tuple[int, bytes], tuple[int, int, int]] = {}

    def open(self) -> int:
        return self._number

    def close(self) -> None:
        pass

    def find(self, space: int, digests: bytes) -> list[FoundId]:
        places = ((step, self._places.get((space, digest))) for step, digest in enumerate(_split(digests)))
        return [FoundId(step, *place) for step, place in places if place is not None]

    def add(self, ids: Sequence[IndexedIds], number: int) -> None:
        for space, partition, base_offset, timestamp_ns, digests in ids:
            for step, digest in enumerate(_split(digests)):
                if digest != NO_ID:
                    self._places[space, digest] = (partition, base_offset + step, timestamp_ns)
        self._number = number

    def forget(self, space: int, before_ns: int, after: bytes, most: int) -> bytes | None:
        behind = sorted(digest for there, digest in self._places if there == space and digest > after)
        for digest in behind[:most]:
            if self._places[space, digest][2] < before_ns:
                del self._places[space, digest]
        return behind[most - 1] if len(behind) >= most else None

    def spaces(self) -> list[int]:
        return sorted({space for space, _ in self._places})

    def reset(self) -> None:
        self._number = 0
        self._places.clear()


def _split(digests: bytes) -> list[bytes]:
    return [digests[at : at + DIGEST_BYTES] for at in range(0, len(digests), DIGEST_BYTES)]
