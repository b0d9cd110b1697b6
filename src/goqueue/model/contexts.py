"""Packed trace contexts of many records as one value: 33 bytes per record, where objects would take ten times as much.

A record is named by its distance from the first record of the value, so nothing is rewritten when the offset of that
first record becomes known. Entries are in record order. Spark reads the same layout, see
`goqueue.spark.pipelines.spans`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from struct import Struct

import msgspec

from goqueue.model.trace import TraceContext, parse_tracestate

__all__ = ["NO_CONTEXTS", "PackedContexts", "pack", "pack_states"]

_ENTRY = Struct(">q16s8sB")
_DISTANCE = Struct(">q")
_STATE = Struct(">qH")


class PackedContexts(msgspec.Struct, frozen=True):
    """Contexts of records by distance from the first record.

    Each of the `entries` is: distance (8), trace (16), span (8), flags (1). `states` holds the few records that carry a
    `tracestate`: distance (8), length (2), and the bytes as the record has them. Numbers are big-endian.
    """

    entries: bytes = b""
    states: bytes = b""

    def __len__(self) -> int:
        return len(self.entries) // _ENTRY.size

    def __iter__(self) -> Iterator[tuple[int, TraceContext]]:
        states = dict(_states_in(self.states))
        for distance, trace_id, span_id, flags in _ENTRY.iter_unpack(self.entries):
            state = parse_tracestate(states[distance]) if distance in states else ""
            yield distance, TraceContext(trace_id.hex(), span_id.hex(), flags, state)

    def at(self, distance: int) -> TraceContext | None:
        """Context of the record at this distance from the first; None when it has none."""
        number = self._find(distance)
        if number == len(self):
            return None
        at, trace_id, span_id, flags = _ENTRY.unpack_from(self.entries, number * _ENTRY.size)
        if at != distance:
            return None
        state = next((state for one, state in _states_in(self.states) if one == distance), b"")
        return TraceContext(trace_id.hex(), span_id.hex(), flags, parse_tracestate(state))

    @property
    def first_distance(self) -> int:
        return self._distance_at(0)

    def cut(self, distance: int) -> "tuple[PackedContexts, PackedContexts]":
        """Split into the records below this distance and the rest; distances stay as they are."""
        at, state_at = self._find(distance) * _ENTRY.size, _state_at(self.states, distance)
        return (
            PackedContexts(self.entries[:at], self.states[:state_at]),
            PackedContexts(self.entries[at:], self.states[state_at:]),
        )

    def last(self, count: int) -> "tuple[int, PackedContexts]":
        """Distance of the first of the last `count` entries, and these entries."""
        first = self._distance_at(len(self) - count)
        return first, self.cut(first)[1]._moved(lambda distance: distance - first)

    def spread(self, offsets: Sequence[int]) -> "PackedContexts":
        """Contexts for records that are not contiguous: `offsets` are all, from the first with a context on."""
        return self._moved(lambda distance: offsets[distance] - offsets[0])

    def _find(self, distance: int) -> int:
        """Index of the first entry at this distance or beyond."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._distance_at(middle) < distance:
                low = middle + 1
            else:
                high = middle
        return low

    def _distance_at(self, number: int) -> int:
        found: int = _DISTANCE.unpack_from(self.entries, number * _ENTRY.size)[0]
        return found

    def _moved(self, move: Callable[[int], int]) -> "PackedContexts":
        return PackedContexts(
            b"".join(_ENTRY.pack(move(distance), *rest) for distance, *rest in _ENTRY.iter_unpack(self.entries)),
            pack_states((move(distance), state) for distance, state in _states_in(self.states)),
        )


NO_CONTEXTS = PackedContexts()


def pack(contexts: Iterable[tuple[int, TraceContext]]) -> PackedContexts:
    """Pack contexts given with the distances of their records."""
    given = list(contexts)
    return PackedContexts(
        b"".join(
            _ENTRY.pack(distance, bytes.fromhex(one.trace_id), bytes.fromhex(one.span_id), one.flags)
            for distance, one in given
        ),
        pack_states((distance, one.state.encode()) for distance, one in given if one.state),
    )


def pack_states(states: Iterable[tuple[int, bytes]]) -> bytes:
    """Pack `tracestate` values given with the distances of their records."""
    return b"".join(_STATE.pack(distance, len(state)) + state for distance, state in states)


def _states_in(packed: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(packed):
        distance, size = _STATE.unpack_from(packed, at)
        at += _STATE.size + size
        yield distance, packed[at - size : at]


def _state_at(packed: bytes, distance: int) -> int:
    """Position of the first state at this distance or beyond."""
    at = 0
    while at < len(packed):
        one, size = _STATE.unpack_from(packed, at)
        if one >= distance:
            break
        at += _STATE.size + size
    return at
