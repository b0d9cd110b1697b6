"""Read a data folder without a broker, as its readers would: recovered as at a start, in memory, and never changed.

What only the journal has is there too. The same rule as in `goqueue.engine.visibility` says what may be seen.
"""

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.adapters.disk.tools.layout import DataFolder
from goqueue.adapters.disk.tools.overlay import OverlayFileSystem
from goqueue.adapters.disk.tools.read_only import is_locked
from goqueue.core.catalog.catalog import Catalog
from goqueue.core.catalog.events import CatalogEvent
from goqueue.core.delay.delays import Delays
from goqueue.core.delay.events import DelayEvent, KeptDelays
from goqueue.core.transactions.outcomes import KeptOutcomes, OutcomeEvent, Outcomes
from goqueue.engine.kinds import CATALOG
from goqueue.engine.partition import delays_stream, outcomes_stream
from goqueue.engine.streams import Kind, Streams
from goqueue.errors import DataFolderDamaged, DataFolderInUse, GoQueueError
from goqueue.model.log import Chunk, Damage, LogId
from goqueue.model.runs import Runs, runs_of
from goqueue.model.topic import Topic

__all__ = ["OfflineFolder"]


class OfflineFolder:
    """A folder as it was when this was made; a broker must not have it open."""

    def __init__(self, path: str) -> None:
        files = OverlayFileSystem()
        folder = DataFolder(files, path)
        folder.check()
        if is_locked(folder.lock_path):
            raise DataFolderInUse(
                f"a broker has the data folder {path} open", hint="ask the broker itself: give bootstrap, not path"
            )
        self._catalog = Catalog()
        self._streams = Streams(
            (
                Kind(CATALOG, CatalogEvent, tuple[Topic, ...], lambda _: self._catalog),
                Kind(delays_stream(), DelayEvent, KeptDelays, lambda _: Delays()),
                Kind(outcomes_stream(), OutcomeEvent, KeptOutcomes, lambda _: Outcomes()),
                Kind("", msgspec.Raw, msgspec.Raw, lambda _: _Passed()),
            )
        )
        self._store = DiskStore(folder.path, files, _NoEntropy(), _Complaints(), StoreSettings())
        self._store.open(self._streams)

    def topics(self) -> Iterator[Topic]:
        return iter(self._catalog)

    def start(self, log: LogId) -> int:
        return self._store.log(log).start_offset

    def end(self, log: LogId, *, committed: bool) -> int:
        """Up to where records may be read."""
        end = self._store.log(log).next_offset
        return self._outcomes(log).stable(end) if committed else end

    def offset_at(self, log: LogId, timestamp_ns: int, *, committed: bool) -> int:
        """The first offset whose record is not older, or the end."""
        end = self.end(log, committed=committed)
        found = self._store.log(log).offset_at(timestamp_ns, end)
        return end if found is None else found

    def hidden(self, log: LogId, first: int, end: int, *, committed: bool) -> Runs:
        """Records that must not be seen."""
        delays, outcomes = cast(Delays, self._streams.machine(delays_stream(log))), self._outcomes(log)
        found = delays.hidden(first, end)
        found |= outcomes.hidden(first, end) if committed else outcomes.markers(first, end)
        return runs_of(found) if found else ()

    def read(self, log: LogId, offset: int, max_bytes: int, end: int) -> Chunk:
        return self._store.log(log).read(offset, max_bytes, end)

    def _outcomes(self, log: LogId) -> Outcomes:
        outcomes = cast(Outcomes, self._streams.machine(outcomes_stream(log)))
        # A log that was mended may end earlier than it did.
        outcomes.forget_from(self._store.log(log).next_offset)
        return outcomes


class _NoEntropy:
    """What is written here is read by nobody."""

    def token_bytes(self, length: int) -> bytes:
        return bytes(length)


class _Passed:
    """State that readers do not need."""

    def apply(self, event: Any, /) -> None:
        pass

    def snapshot(self) -> None:
        return None

    def restore(self, snapshot: Any, /) -> None:
        pass


class _Complaints:
    """Damage stops whoever reads: it must not be taken for an end."""

    def damaged(self, damage: Damage) -> None:
        raise _damage(f"{damage}")

    def file_damaged(self, path: str, reason: str) -> None:
        pass

    def read_failed(self, log: LogId) -> None:
        pass

    def journal_damaged(self, description: str, entries: int) -> None:
        raise _damage(f"the journal: {description}")

    def tail_dropped(self, where: str, size: int) -> None:
        """Half a write at the end of a file was never confirmed to anybody."""

    def log_failed(self, log: LogId, failure: GoQueueError) -> None:
        raise failure

    def storage_failed(self, failure: GoQueueError) -> None:
        raise failure


def _damage(what: str) -> DataFolderDamaged:
    return DataFolderDamaged(
        f"the data folder is damaged: {what}", hint="copy it, and run `goqueue storage repair` on the copy"
    )
