"""Streams of state machines: recovery replays their events, checkpoints take their snapshots.

A stream is named after its machine; a kind is a family of streams with a common prefix. Machines of which there is one
for each log or group are created on first use.

Snapshots of many small machines, or of one with many parts, are made in slices ahead of a checkpoint. When the
checkpoint begins, only the changes since then are snapshotted again. Streams of a bundled kind share the snapshots of
256 units, as 100,000 files would take minutes: a unit is named `bundle/KIND/NUMBER`, and its payload is a msgpack map
of the snapshots of its streams.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from itertools import chain, repeat
from sys import intern
from typing import Any, Protocol, cast, get_args
from zlib import crc32

import msgspec

from goqueue.engine.pieces import encode_pieces, joined
from goqueue.engine.ports import BUNDLE, Payload, StateEvent
from goqueue.errors import DataFolderDamaged

__all__ = ["Kind", "Machine", "Streams"]

UNITS = 256

_encode = msgspec.msgpack.Encoder().encode
_bundles = msgspec.msgpack.Decoder(dict[str, bytes])
_raw_parts = msgspec.msgpack.Decoder(list[msgspec.Raw])

Touched = tuple[str, Hashable]
"""A stream and, if its machine has parts, one of them."""


class Machine(Protocol):
    """The interface of state machines; `apply` is the only writer."""

    def apply(self, event: Any, /) -> object: ...
    def snapshot(self) -> Any: ...
    def restore(self, snapshot: Any, /) -> None: ...


class Parted(Machine, Protocol):
    """A machine whose snapshot is a sequence of snapshots of its parts, in any order."""

    def part_keys(self) -> list[Any]: ...
    def part(self, key: Any, /) -> Any:
        """None if the part no longer exists."""


def _always(_: Any) -> bool:
    return True


class Kind:
    """A family of machines: how they are created, and the types of their events and snapshots."""

    def __init__(
        self,
        prefix: str,
        events: Any,
        snapshots: Any,
        make: Callable[[str], Machine],
        *,
        is_bundled: bool = False,
        is_frozen: bool = False,
        part_of: Callable[[Any], Hashable] | None = None,
        needs_sync: Callable[[Any], bool] = _always,
    ) -> None:
        self.prefix = prefix
        self.events = msgspec.msgpack.Decoder[Any](events)
        self.snapshots = msgspec.msgpack.Decoder[Any](snapshots)
        self.parts = None if part_of is None else msgspec.msgpack.Decoder[Any](get_args(snapshots)[0])
        """Of one part of a snapshot, which is a sequence of them."""
        self.make = make
        """Creates the machine of a stream."""
        self.needs_sync = needs_sync
        """True for events acknowledged only after fsync; a power failure may take back the others."""
        self.is_bundled = is_bundled
        """There may be very many machines of this kind, each small."""
        self.is_frozen = is_frozen
        """The snapshot consists of immutable values and is quick to take, so it can be encoded later, in a thread."""
        self.part_of = part_of
        """The part of its machine that an event changes; then the machine is a `Parted`."""


class Streams:
    """All machines by stream; `goqueue.engine.ports.Recovery` describes how a restart restores them."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds = tuple(kinds)
        self._machines: dict[str, Machine] = {}
        self._changes: dict[str, int] = {}
        """Number of changes of each stream or unit since its last snapshot; a stream that is absent has none."""
        self._units: dict[str, str] = {}
        """The unit of each bundled stream."""
        self._alone: set[str] = set()
        """Bundled streams that have a snapshot of their own, from an older version. It is removed once their unit has
        them."""
        self._touched: set[Touched] | None = None
        """Changes since snapshots began to be made ahead."""
        self._ahead: dict[str, dict[str, bytes]] = {}
        """By unit."""
        self._parts_ahead: dict[str, dict[Hashable, bytes]] = {}

    def machine(self, stream: str) -> Machine:
        found = self._machines.get(stream)
        if found is None:
            kind = self.kind(stream)
            found = self._machines[stream] = kind.make(stream)
            if kind.is_bundled:
                self._units[stream] = _unit_of(kind, stream)
        return found

    def machines(self, prefix: str) -> list[tuple[str, Machine]]:
        """The machines of one kind, with their streams."""
        return [(stream, machine) for stream, machine in self._machines.items() if stream.startswith(prefix)]

    def event(self, stream: str, event: Any) -> StateEvent:
        """The event as storage takes it. The stream is part of the next checkpoint."""
        if stream not in self._machines:
            self.machine(stream)
        unit = self._units.get(stream, stream)
        self._changes[unit] = self._changes.get(unit, 0) + 1
        if self._touched is not None:
            part_of = self.kind(stream).part_of
            self._touched.add((stream, None if part_of is None else part_of(event)))
        return StateEvent(stream, _encode(event))

    def end(self, stream: str) -> StateEvent:
        """The event that ends a stream; a later stream of this name is a new one. Call `remove` once it is written."""
        self.changed(stream)
        return StateEvent(stream, b"")

    def remove(self, stream: str) -> None:
        """Forget a machine, and its snapshot with the next checkpoint."""
        if self._machines.pop(stream, None) is not None:
            self.changed(stream)
            self._units.pop(stream, None)

    def changed(self, stream: str) -> None:
        """Include the stream in the next checkpoint."""
        unit = self._units.get(stream, stream)
        self._changes[unit] = self._changes.get(unit, 0) + 1
        if self._touched is not None:
            self._touched.add((stream, None))

    def kind(self, stream: str) -> Kind:
        for kind in self._kinds:
            if stream.startswith(kind.prefix):
                return kind
        raise _of_another_version(f"there is state of {stream!r}, which is not known here")

    # Recovery.

    def restore(self, stream: str, snapshot: bytes) -> None:
        if stream.startswith(BUNDLE):
            for member, payload in _read(stream, _bundles, snapshot).items():
                self.machine(member).restore(_read(member, self.kind(member).snapshots, payload))
            return
        if self.kind(stream).is_bundled:
            self._alone.add(stream)
        self.machine(stream).restore(self._read_snapshot(stream, snapshot))

    def _read_snapshot(self, stream: str, snapshot: bytes) -> Any:
        """That of a parted machine is read part by part: many parts at once would leave holes in memory."""
        kind = self.kind(stream)
        if kind.parts is None:
            return _read(stream, kind.snapshots, snapshot)
        parts = kind.parts
        return (_read(stream, parts, part) for part in _read(stream, _raw_parts, snapshot))

    def apply(self, event: StateEvent) -> None:
        if not event.payload:
            self.remove(event.stream)
            return
        self.changed(event.stream)
        self.machine(event.stream).apply(_read(event.stream, self.kind(event.stream).events, event.payload))

    # Checkpoints.

    def begin_round(self, *, is_first: bool) -> tuple[int, Iterable[Touched]]:
        """Begin a round of `make_ahead`: returns the number of snapshots and what to make.

        Called between writes, so that all events so far are applied. The first round covers everything, later ones the
        changes since the round before.
        """
        if self._touched is not None and not is_first:
            again, self._touched = self._touched, set()
            return len(again), again
        self._touched, self._ahead, self._parts_ahead = set(), {}, {}
        streams = list(self._units)
        count, found = len(streams), [_with_each(streams)]
        for stream, machine in self._machines.items():
            if stream in self._changes and self.kind(stream).part_of is not None:
                keys = cast(Parted, machine).part_keys()
                self._parts_ahead[stream] = {}
                count += len(keys)
                found.append(zip(repeat(stream), keys))
        return count, chain.from_iterable(found)

    def make_ahead(self, what: Touched) -> None:
        stream, part = what
        machine, kind = self._machines.get(stream), self.kind(stream)
        if kind.part_of is not None:
            parts = self._parts_ahead.setdefault(stream, {})
            found = None if machine is None else cast(Parted, machine).part(part)
            if found is None:
                parts.pop(part, None)
            else:
                parts[part] = _encode(found)
        elif kind.is_bundled:
            members = self._ahead.setdefault(_unit_of(kind, stream), {})
            if machine is None:
                members.pop(stream, None)
            else:
                members[stream] = _encode(machine.snapshot())

    def begin_snapshots(self) -> tuple[dict[str, Payload | None], dict[str, int]]:
        """Snapshots of what changed, None for removed streams; and the change counts that they cover.

        Called between writes. Missing snapshots are made now; bundles are encoded when their payload is asked for.
        """
        for what in self.begin_round(is_first=self._touched is None)[1]:
            self.make_ahead(what)
        snapshots = {name: self._payload(name) for name in self._changes}
        for stream in self._alone:
            if self._units.get(stream, "") in self._changes or stream not in self._machines:
                snapshots[stream] = None
        self._touched, self._ahead, self._parts_ahead = None, {}, {}
        return snapshots, dict(self._changes)

    def _payload(self, name: str) -> Payload | None:
        if name.startswith(BUNDLE):
            members = self._ahead.get(name)
            return partial(_encode, members) if members else None
        machine = self._machines.get(name)
        if machine is None:
            return None
        if name in self._parts_ahead:
            return partial(joined, self._parts_ahead[name].values())
        if self.kind(name).is_frozen:
            return partial(encode_pieces, machine.snapshot())
        return _encode(machine.snapshot())

    def finish_snapshots(self, noted: dict[str, int]) -> None:
        """The snapshots are durable: only later changes need another one."""
        self._alone = {stream for stream in self._alone if self._units.get(stream, "") not in noted}
        for stream, changes in noted.items():
            if self._changes.get(stream) == changes:
                del self._changes[stream]


def _unit_of(kind: Kind, stream: str) -> str:
    return intern(f"{BUNDLE}{kind.prefix}{crc32(stream.encode()) % UNITS}")


def _with_each(streams: Iterable[str]) -> Iterator[Touched]:
    return zip(streams, repeat(None))


def _read(stream: str, decoder: msgspec.msgpack.Decoder[Any], content: bytes) -> Any:
    """Decode. Checksums were verified before, so a failure means that another version wrote the data."""
    try:
        return decoder.decode(content)
    except msgspec.MsgspecError as error:
        raise _of_another_version(f"the state of {stream!r} cannot be read: {error}") from error


def _of_another_version(what: str) -> DataFolderDamaged:
    return DataFolderDamaged(what, hint="start the version of GoQueue that wrote the folder; nothing was changed")
