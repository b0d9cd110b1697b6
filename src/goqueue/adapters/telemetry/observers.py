"""Tell the operator, in the log and in the metrics, what storage and maintenance report."""

from collections import OrderedDict

from goqueue.adapters.telemetry.logs import Logger
from goqueue.adapters.telemetry.metrics import Metrics
from goqueue.engine.maintenance import JOBS
from goqueue.errors import GoQueueError
from goqueue.model.log import Damage, LogId

__all__ = ["MaintenanceReporter", "StorageReporter"]

REMEMBERED_DAMAGE = 10_000


class StorageReporter:
    """See `goqueue.engine.ports.StorageObserver`. A damaged range is met at every read over it, but told once."""

    def __init__(self, logger: Logger, metrics: Metrics) -> None:
        self._log = logger
        self._metrics = metrics
        self._told: OrderedDict[tuple[str, int], None] = OrderedDict()

    def damaged(self, damage: Damage) -> None:
        place = (damage.file, damage.position)
        if place in self._told:
            return
        self._told[place] = None
        if len(self._told) > REMEMBERED_DAMAGE:
            self._told.popitem(last=False)
        self._metrics.damaged_ranges.inc()
        self._metrics.damaged_bytes.inc(damage.length)
        self._log.error(
            "damaged range skipped",
            file=damage.file,
            position=damage.position,
            bytes=damage.length,
            first_offset=damage.first_offset,
            last_offset=damage.last_offset,
            reason=damage.reason,
            hint="run `goqueue storage verify` on the data folder",
        )

    def journal_damaged(self, description: str, entries: int) -> None:
        self._metrics.lost_journal_entries.inc(entries)
        self._log.error("journal damaged", what=description, entries=entries)

    def tail_dropped(self, where: str, size: int) -> None:
        self._metrics.dropped_tail_bytes.inc(size)
        self._log.warning("dropped writes that were never confirmed", where=where, bytes=size)

    def log_failed(self, log: LogId, failure: GoQueueError) -> None:
        self._metrics.failed_logs.inc()
        self._log.error("partition is read-only", log=str(log), reason=failure.message, hint=failure.hint)

    def storage_failed(self, failure: GoQueueError) -> None:
        self._metrics.storage_failed.set(1)
        self._log.critical("storage failed: all writes are refused", reason=failure.message, hint=failure.hint)


class MaintenanceReporter:
    """See `goqueue.engine.maintenance.MaintenanceObserver`."""

    def __init__(self, logger: Logger, metrics: Metrics) -> None:
        self._log = logger
        self._metrics = metrics
        for job in JOBS:
            # There is a 0 before anything fails, or the first failure would not be seen as a rise.
            metrics.failed_jobs.labels(job)

    def disk_full(self, used_share: float) -> None:
        self._metrics.disk_full.set(1)
        self._log.error("disk is full: writes are refused until there is room", used_share=round(used_share, 3))

    def disk_has_room(self, used_share: float) -> None:
        self._metrics.disk_full.set(0)
        self._log.info("disk has room again: writes are accepted", used_share=round(used_share, 3))

    def job_failed(self, job: str, failure: GoQueueError) -> None:
        self._metrics.failed_jobs.labels(job).inc()
        self._log.error("maintenance failed, it will be tried again", job=job, reason=failure.message)

    def segments_dropped(self, log: str, segments: int, size: int) -> None:
        self._metrics.dropped_segments.inc(segments)
        self._metrics.dropped_bytes.inc(size)
        self._log.info("retention dropped segments", log=log, segments=segments, bytes=size)

    def id_index_damaged(self, reason: str) -> None:
        self._log.error("the index of ids is built again; records with ids are refused meanwhile", reason=reason)

    def id_index_rebuilt(self, ids: int) -> None:
        self._metrics.id_index_rebuilds.inc()
        self._log.warning("the index of ids was built from the records of each topic's window", ids=ids)

    def group_paused(self, group: str, reason: str) -> None:
        self._metrics.tripped_breakers.inc()
        self._log.error(
            "group paused by its dead-letter breaker",
            group=group,
            reason=reason,
            hint=f"see `goqueue dlq stats`, then `goqueue group resume {group}`",
        )
