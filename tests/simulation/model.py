"""What storage ought to hold after each entry, in plain tuples and dicts."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from goqueue import codec
from goqueue.engine.ports import AppendRecords, CreateLog, DeleteLog, DropSegments, Entry, StateEvent
from goqueue.model.log import LogId, SegmentInfo
from goqueue.model.record import Record

FIRST_TIMESTAMP = 1_700_000_000_000_000_000


class Kept(NamedTuple):
    """One record and its bytes."""

    offset: int
    timestamp_ns: int
    key: bytes | None
    is_tombstone: bool
    data: bytes


class LogState(NamedTuple):
    records: tuple[Kept, ...] = ()
    start: int = 0
    end: int = 0


class State(NamedTuple):
    """Never changed, only replaced."""

    logs: Mapping[LogId, LogState] = {}
    streams: Mapping[str, tuple[bytes, ...]] = {}

    def with_log(self, log: LogId, state: LogState) -> "State":
        return self._replace(logs={**self.logs, log: state})

    def snapshots(self) -> dict[str, bytes]:
        return {stream: msgspec.msgpack.encode(list(events)) for stream, events in self.streams.items()}


def batch(log: LogId, state: LogState, values: Sequence[Record]) -> AppendRecords:
    """Records stamped for the end of a log; record n of a log has a time of its own."""
    records = bytearray(codec.encode(values))
    codec.stamp(records, state.end, FIRST_TIMESTAMP + state.end * 1000)
    return AppendRecords(log, bytes(records), state.end + len(values))


def split(records: bytes | memoryview) -> list[Kept]:
    """Take records apart, keeping the bytes of each."""
    data = bytes(records)
    found = []
    at = 0
    for record in codec.decode(data):
        end, _ = codec.seek(data, record.offset + 1, at)
        found.append(Kept(record.offset, record.timestamp_ns, record.key, record.value is None, data[at:end]))
        at = end
    return found


def after(state: State, entry: Entry, segments: Mapping[LogId, Sequence[SegmentInfo]]) -> State:
    """The state once the entry has happened; `segments` are those the logs had before it."""
    for operation in entry:
        match operation:
            case AppendRecords(log, records, next_offset):
                old = state.logs[log]
                state = state.with_log(log, LogState((*old.records, *split(records)), old.start, next_offset))
            case StateEvent(stream, payload):
                events = (*state.streams.get(stream, ()), payload)
                state = state._replace(streams={**state.streams, stream: events})
            case CreateLog(log):
                state = state.with_log(log, LogState())
            case DeleteLog(log):
                state = state._replace(logs={name: kept for name, kept in state.logs.items() if name != log})
            case DropSegments(log, bases):
                state = state.with_log(log, _without(state.logs[log], segments[log], set(bases)))
    return state


def _without(state: LogState, segments: Sequence[SegmentInfo], bases: set[int]) -> LogState:
    # The newest segment, when empty, is where the end of the log is remembered: it cannot be dropped.
    gone = [s for s in segments if s.base_offset in bases and s.next_offset > s.base_offset]
    kept = tuple(r for r in state.records if not any(s.base_offset <= r.offset < s.next_offset for s in gone))
    left = [s.base_offset for s in segments if s not in gone]
    return LogState(kept, min(left, default=state.end), state.end)


def compacted(state: LogState, covered: range, rewritten: range, drop_tombstones_before_ns: int) -> LogState:
    """Keep the newest record of each key within `covered`, in the part that was rewritten."""
    latest = {r.key: r.offset for r in state.records if r.offset in covered and r.key is not None}

    def stays(record: Kept) -> bool:
        if record.offset not in rewritten or record.key is None:
            return True
        expired = record.is_tombstone and record.timestamp_ns < drop_tombstones_before_ns
        return record.offset == latest[record.key] and not expired

    return state._replace(records=tuple(filter(stays, state.records)))


class RecoveredStreams:
    """A `Recovery` that gathers what it is given."""

    def __init__(self) -> None:
        self.streams: dict[str, tuple[bytes, ...]] = {}
        self._applied = False

    def restore(self, stream: str, snapshot: bytes) -> None:
        assert not self._applied, "a snapshot came after an event"
        assert stream not in self.streams, "a snapshot came twice"
        self.streams[stream] = tuple(msgspec.msgpack.decode(snapshot, type=list[bytes]))

    def apply(self, event: StateEvent) -> None:
        self._applied = True
        self.streams[event.stream] = (*self.streams.get(event.stream, ()), event.payload)
