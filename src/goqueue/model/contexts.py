"""The trace contexts of many records as one value: 33 bytes for each, where objects would take ten times as much.

A record is named by its distance from the first of them, so that nothing is written anew when the place of that one
becomes known. Entries stand in the order of their records. Spark reads the same, see `goqueue.spark.pipelines.spans`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from struct import Struct

from goqueue.model.trace import TraceContext

__all__ = ["context_at", "contexts_in", "count_of", "cut", "first_distance", "last_of", "pack", "spread"]

_ENTRY = Struct(">q16s8sB")
_DISTANCE = Struct(">q")


def pack(contexts: Iterable[tuple[int, TraceContext]]) -> bytes:
    """Of records by their distances."""
    return b"".join(
        _ENTRY.pack(distance, bytes.fromhex(one.trace_id), bytes.fromhex(one.span_id), one.flags)
        for distance, one in contexts
    )


def contexts_in(packed: bytes) -> Iterator[tuple[int, TraceContext]]:
    for distance, trace_id, span_id, flags in _ENTRY.iter_unpack(packed):
        yield distance, TraceContext(trace_id.hex(), span_id.hex(), flags)


def count_of(packed: bytes) -> int:
    return len(packed) // _ENTRY.size


def context_at(packed: bytes, distance: int) -> TraceContext | None:
    """Of the record that lies so far behind the first; None when it has none."""
    number = _find(packed, distance)
    if number == count_of(packed):
        return None
    at, trace_id, span_id, flags = _ENTRY.unpack_from(packed, number * _ENTRY.size)
    return TraceContext(trace_id.hex(), span_id.hex(), flags) if at == distance else None


def first_distance(packed: bytes) -> int:
    return _distance_at(packed, 0)


def cut(packed: bytes, distance: int) -> tuple[bytes, bytes]:
    """Those of records that lie less far behind the first, and the others; both by their distances from the same."""
    at = _find(packed, distance) * _ENTRY.size
    return packed[:at], packed[at:]


def last_of(packed: bytes, count: int) -> tuple[int, bytes]:
    """How far the first of the last ones lies behind the first of all, and those."""
    kept = packed[-count * _ENTRY.size :]
    first = _distance_at(kept, 0)
    return first, _moved(kept, lambda distance: distance - first)


def spread(packed: bytes, offsets: Sequence[int]) -> bytes:
    """For records that do not lie side by side: `offsets` are those of all, from the first that has a context on."""
    return _moved(packed, lambda distance: offsets[distance] - offsets[0])


def _find(packed: bytes, distance: int) -> int:
    """The number of the first entry that is as far, or further."""
    low, high = 0, count_of(packed)
    while low < high:
        middle = (low + high) // 2
        if _distance_at(packed, middle) < distance:
            low = middle + 1
        else:
            high = middle
    return low


def _distance_at(packed: bytes, number: int) -> int:
    found: int = _DISTANCE.unpack_from(packed, number * _ENTRY.size)[0]
    return found


def _moved(packed: bytes, move: Callable[[int], int]) -> bytes:
    return b"".join(_ENTRY.pack(move(distance), *rest) for distance, *rest in _ENTRY.iter_unpack(packed))
