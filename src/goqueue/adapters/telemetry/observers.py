"""Observers of storage and maintenance: reports go to the log and to the metrics."""

from collections import OrderedDict
from collections.abc import Sequence

from goqueue.adapters.telemetry.counts import Counts
from goqueue.adapters.telemetry.logs import Logger
from goqueue.engine.maintenance import JOBS
from goqueue.errors import GoQueueError
from goqueue.model.log import Damage, LogId

__all__ = ["MaintenanceReporter", "StorageReporter"]

REMEMBERED_DAMAGE = 10_000
NAMED = 20
"""Maximum of group names in one log line."""


class StorageReporter:
    """See `goqueue.engine.ports.StorageObserver`. A damaged range is reported at every read of it, but logged once."""

    def __init__(self, logger: Logger, counts: Counts) -> None:
        self._log = logger
        self._counts = counts
        self._told: OrderedDict[tuple[str, int], None] = OrderedDict()

    def damaged(self, damage: Damage) -> None:
        place = (damage.file, damage.position)
        if place in self._told:
            return
        self._told[place] = None
        if len(self._told) > REMEMBERED_DAMAGE:
            self._told.popitem(last=False)
        self._counts.damaged_ranges.add()
        self._counts.damaged_bytes.add(damage.length)
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

    def file_damaged(self, path: str, reason: str) -> None:
        self._counts.damaged_files.add()
        self._log.error(
            "damaged file: its other copy is used, or it is built again",
            file=path,
            reason=reason,
            hint="check the disk (dmesg, SMART); `goqueue storage repair` restores the copy in a folder at rest",
        )

    def read_failed(self, log: LogId) -> None:
        self._counts.failed_reads.add()

    def journal_damaged(self, description: str, entries: int) -> None:
        self._counts.lost_journal_entries.add(entries)
        self._log.error("journal damaged", what=description, entries=entries)

    def tail_dropped(self, where: str, size: int) -> None:
        self._counts.dropped_tail_bytes.add(size)
        self._log.warning("dropped writes that were never confirmed", where=where, bytes=size)

    def log_failed(self, log: LogId, failure: GoQueueError) -> None:
        self._counts.failed_logs.add()
        self._log.error("partition is read-only", log=str(log), reason=failure.message, hint=failure.hint)

    def storage_failed(self, failure: GoQueueError) -> None:
        self._counts.storage_failed.set(1)
        self._log.critical("storage failed: all writes are refused", reason=failure.message, hint=failure.hint)


class MaintenanceReporter:
    """See `goqueue.engine.maintenance.MaintenanceObserver`."""

    def __init__(self, logger: Logger, counts: Counts) -> None:
        self._log = logger
        self._counts = counts
        for job in JOBS:
            counts.failed_jobs.begin(job)

    def disk_full(self, used_share: float) -> None:
        self._counts.disk_full.set(1)
        self._log.error("disk is full: writes are refused until there is room", used_share=round(used_share, 3))

    def disk_has_room(self, used_share: float) -> None:
        self._counts.disk_full.set(0)
        self._log.info("disk has room again: writes are accepted", used_share=round(used_share, 3))

    def job_failed(self, job: str, failure: GoQueueError) -> None:
        self._counts.failed_jobs.add(1, job)
        self._log.error("maintenance failed, it will be tried again", job=job, reason=failure.message)

    def segments_dropped(self, log: str, segments: int, size: int) -> None:
        self._counts.dropped_segments.add(segments)
        self._counts.dropped_bytes.add(size)
        self._log.info("retention dropped segments", log=log, segments=segments, bytes=size)

    def id_index_damaged(self, reason: str) -> None:
        self._log.error("the index of ids is built again; records with ids are refused meanwhile", reason=reason)

    def id_index_rebuilt(self, ids: int) -> None:
        self._counts.id_index_rebuilds.add()
        self._log.warning("the index of ids was built from the records of each topic's window", ids=ids)

    def groups_expired(self, groups: Sequence[str]) -> None:
        self._counts.expired_groups.add(len(groups))
        more = {"more": len(groups) - NAMED} if len(groups) > NAMED else {}
        self._log.info("groups expired: they were empty for their retention", groups=list(groups[:NAMED]), **more)

    def producers_forgotten(self, producers: int, transactional_ids: int) -> None:
        self._counts.forgotten_producers.add(producers)
        self._counts.expired_transactional_ids.add(transactional_ids)
        self._log.info("silent producers forgotten", in_partitions=producers, transactional_ids=transactional_ids)

    def group_paused(self, group: str, reason: str) -> None:
        self._counts.tripped_breakers.add()
        self._log.error(
            "group paused by its dead-letter breaker",
            group=group,
            reason=reason,
            hint=f"see `goqueue dlq stats`, then `goqueue group resume {group}`",
        )
