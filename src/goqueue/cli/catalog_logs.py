"""Which partitions the broker's own catalog says there are, for a repair that has lost the list of logs."""

from collections.abc import Collection

import msgspec

from goqueue.core.catalog.catalog import Catalog
from goqueue.core.catalog.events import CatalogEvent
from goqueue.engine.ports import StateEvent
from goqueue.engine.stream_names import CATALOG
from goqueue.model.log import LogId
from goqueue.model.topic import Topic

__all__ = ["CatalogLogs"]

_snapshots = msgspec.msgpack.Decoder(tuple[Topic, ...])
_events: msgspec.msgpack.Decoder[CatalogEvent] = msgspec.msgpack.Decoder(CatalogEvent)


class CatalogLogs:
    """See `goqueue.offline.repair.salvage.KnownLogs`. What cannot be understood is passed over."""

    def __init__(self) -> None:
        self._catalog = Catalog()
        self._has_spoken = False

    def restore(self, stream: str, snapshot: bytes) -> None:
        if stream == CATALOG:
            try:
                self._catalog.restore(_snapshots.decode(snapshot))
                self._has_spoken = True
            except msgspec.DecodeError:
                return

    def apply(self, event: StateEvent) -> None:
        if event.stream == CATALOG:
            try:
                self._catalog.apply(_events.decode(event.payload))
                self._has_spoken = True
            except (msgspec.DecodeError, KeyError):
                # An event about a topic whose own beginning is among what was lost.
                return

    def logs(self) -> Collection[LogId] | None:
        if not self._has_spoken:
            return None
        return {LogId(topic.name, number) for topic in self._catalog for number in range(topic.partitions)}
