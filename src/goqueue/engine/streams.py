"""State machines and their streams of events: recovery feeds them, checkpoints take their snapshots.

A stream is named after its machine; a kind is a family of streams with a common prefix whose machines are made
when they are first spoken of.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Protocol

import msgspec

from goqueue.engine.ports import StateEvent
from goqueue.errors import DataFolderDamaged

__all__ = ["Kind", "Machine", "Streams"]

_encode = msgspec.msgpack.Encoder().encode


class Machine(Protocol):
    """What a state machine offers here; `apply` is its only writer."""

    def apply(self, event: Any, /) -> object: ...
    def snapshot(self) -> Any: ...
    def restore(self, snapshot: Any, /) -> None: ...


class Kind:
    """How a family of machines is made and how its events and snapshots are read: as values of the types given.

    Which types these are is asked when there is something to read, as is what reads them made then: for all kinds
    together that takes several milliseconds.
    """

    def __init__(self, prefix: str, types: Callable[[], tuple[Any, Any]], make: Callable[[str], Machine]) -> None:
        self.prefix = prefix
        self.make = make
        self._types = types

    @cached_property
    def events(self) -> msgspec.msgpack.Decoder[Any]:
        return msgspec.msgpack.Decoder(self._types()[0])

    @cached_property
    def snapshots(self) -> msgspec.msgpack.Decoder[Any]:
        return msgspec.msgpack.Decoder(self._types()[1])


class Streams:
    """All machines by stream; see `goqueue.engine.ports.Recovery` for how they come back after a restart."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds = tuple(kinds)
        self._machines: dict[str, Machine] = {}
        self._changes: dict[str, int] = {}
        """How often each stream changed since its last snapshot; those not in here need none."""

    def machine(self, stream: str) -> Machine:
        found = self._machines.get(stream)
        if found is None:
            kind = self._kind(stream)
            found = self._machines[stream] = kind.make(stream.removeprefix(kind.prefix))
        return found

    def has(self, stream: str) -> bool:
        """Whether anything was ever written to it, or asked of its machine."""
        return stream in self._machines

    def machines(self, prefix: str) -> list[tuple[str, Machine]]:
        """Those there are of one kind, with their streams."""
        return [(stream, machine) for stream, machine in self._machines.items() if stream.startswith(prefix)]

    def event(self, stream: str, event: Any) -> StateEvent:
        """The event as storage takes it; the stream will be in the next checkpoint."""
        if stream not in self._machines:
            self.machine(stream)
        self._changes[stream] = self._changes.get(stream, 0) + 1
        # As the class does it, in one step less for each event.
        return tuple.__new__(StateEvent, (stream, _encode(event)))

    def end(self, stream: str) -> StateEvent:
        """The event of a stream that ends; what comes under its name later is another one's. Once written, `remove`."""
        self.changed(stream)
        return StateEvent(stream, b"")

    def remove(self, stream: str) -> None:
        """Forget a machine, and its snapshot with the next checkpoint."""
        if self._machines.pop(stream, None) is not None:
            self.changed(stream)

    def changed(self, stream: str) -> None:
        """It will be in the next checkpoint."""
        self._changes[stream] = self._changes.get(stream, 0) + 1

    def _kind(self, stream: str) -> Kind:
        for kind in self._kinds:
            if stream.startswith(kind.prefix):
                return kind
        raise _of_another_version(f"there is state of {stream!r}, which is not known here")

    # Recovery.

    def restore(self, stream: str, snapshot: bytes) -> None:
        self.machine(stream).restore(_read(stream, self._kind(stream).snapshots, snapshot))

    def apply(self, event: StateEvent) -> None:
        if not event.payload:
            self.remove(event.stream)
            return
        self.changed(event.stream)
        self.machine(event.stream).apply(_read(event.stream, self._kind(event.stream).events, event.payload))

    # Checkpoints.

    def begin_snapshots(self) -> tuple[dict[str, bytes | None], dict[str, int]]:
        """Snapshots of what changed, None for what is gone; and a note of how far they go."""
        snapshots = {
            stream: _encode(self._machines[stream].snapshot()) if stream in self._machines else None
            for stream in self._changes
        }
        return snapshots, dict(self._changes)

    def finish_snapshots(self, noted: dict[str, int]) -> None:
        """The snapshots are durable: only what changed after them needs another."""
        for stream, changes in noted.items():
            if self._changes.get(stream) == changes:
                del self._changes[stream]


def _read(stream: str, decoder: msgspec.msgpack.Decoder[Any], content: bytes) -> Any:
    """Checksums have been compared before, so what cannot be read was written differently."""
    try:
        return decoder.decode(content)
    except msgspec.MsgspecError as error:
        raise _of_another_version(f"the state of {stream!r} cannot be read: {error}") from error


def _of_another_version(what: str) -> DataFolderDamaged:
    return DataFolderDamaged(what, hint="start the version of GoQueue that wrote the folder; nothing was changed")
