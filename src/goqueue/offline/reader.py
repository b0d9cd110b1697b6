"""Reader of a data folder without a broker: the folder is recovered in memory, as at a start, and never changed.

Records that are only in the journal are included. Visibility follows the rule of `goqueue.engine.visibility`.
"""

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.core.catalog.catalog import Catalog
from goqueue.core.catalog.events import CatalogEvent
from goqueue.core.delay.delays import Delays
from goqueue.core.delay.events import DelayEvent, KeptDelays
from goqueue.core.transactions.outcomes import KeptOutcomes, OutcomeEvent, Outcomes
from goqueue.engine.partition import delays_stream, outcomes_stream
from goqueue.engine.stream_names import CATALOG
from goqueue.engine.streams import Kind, Streams
from goqueue.errors import DataFolderDamaged, DataFolderInUse, GoQueueError
from goqueue.model.log import Chunk, Damage, LogId
from goqueue.model.runs import Runs, runs_of
from goqueue.model.topic import Topic
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.overlay_files import OverlayFileSystem
from goqueue.offline.read_only_files import is_locked

__all__ = ["OfflineFolder"]


class OfflineFolder:
    """Content of a data folder at the time of construction; no broker may have the folder open."""

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
                Kind("", msgspec.Raw, msgspec.Raw, lambda _: _SkippedState()),
            )
        )
        self._store = DiskStore(folder.path, files, _NoEntropy(), _DamageErrors(), StoreSettings())
        self._store.open(self._streams)

    def topics(self) -> Iterator[Topic]:
        return iter(self._catalog)

    def start(self, log: LogId) -> int:
        return self._store.log(log).start_offset

    def end(self, log: LogId, *, committed: bool) -> int:
        """End offset for readers: the last stable offset if `committed`, else the end of the log."""
        end = self._store.log(log).next_offset
        return self._outcomes(log).stable(end) if committed else end

    def offset_at(self, log: LogId, timestamp_ns: int, *, committed: bool) -> int:
        """First offset whose record is not older than the timestamp, or the end."""
        end = self.end(log, committed=committed)
        found = self._store.log(log).offset_at(timestamp_ns, end)
        return end if found is None else found

    def hidden(self, log: LogId, first: int, end: int, *, committed: bool) -> Runs:
        """Offsets that readers must skip."""
        delays, outcomes = cast(Delays, self._streams.machine(delays_stream(log))), self._outcomes(log)
        found = delays.hidden(first, end)
        found |= outcomes.hidden(first, end) if committed else outcomes.markers(first, end)
        return runs_of(found) if found else ()

    def read(self, log: LogId, offset: int, max_bytes: int, end: int) -> Chunk:
        return self._store.log(log).read(offset, max_bytes, end)

    def _outcomes(self, log: LogId) -> Outcomes:
        outcomes = cast(Outcomes, self._streams.machine(outcomes_stream(log)))
        # After a repair the log may end earlier than the outcomes say.
        outcomes.forget_from(self._store.log(log).next_offset)
        return outcomes


class _NoEntropy:
    """Entropy of zeros: the files that need it stay in memory and are discarded."""

    def token_bytes(self, length: int) -> bytes:
        return bytes(length)


class _SkippedState:
    """State that readers do not need; its events are skipped."""

    def apply(self, event: Any, /) -> None:
        pass

    def snapshot(self) -> None:
        return None

    def restore(self, snapshot: Any, /) -> None:
        pass


class _DamageErrors:
    """Observer that raises on damage, so that a reader does not take it for the end of a log."""

    def damaged(self, damage: Damage) -> None:
        raise _damage(f"{damage}")

    def file_damaged(self, path: str, reason: str) -> None:
        pass

    def read_failed(self, log: LogId) -> None:
        pass

    def journal_damaged(self, description: str, entries: int) -> None:
        raise _damage(f"the journal: {description}")

    def tail_dropped(self, where: str, size: int) -> None:
        """Not an error: half a write at the end of a file was never confirmed."""

    def log_failed(self, log: LogId, failure: GoQueueError) -> None:
        raise failure

    def storage_failed(self, failure: GoQueueError) -> None:
        raise failure


def _damage(what: str) -> DataFolderDamaged:
    return DataFolderDamaged(
        f"the data folder is damaged: {what}", hint="copy it, and run `goqueue storage repair` on the copy"
    )
