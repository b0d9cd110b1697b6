"""Read topics as a queue: a batch is a set of leases, which are acknowledged when Spark has committed the batch.

The leases stand in the offset that Spark keeps in its checkpoint. So a query that is started again replays the very
records of an unfinished batch, still leased if it comes back in time, and acknowledges those of a finished one. When
leases have run out before they could be acknowledged, their records are noted as done: the broker delivers them again,
and they are acknowledged then without being given to Spark a second time.
"""

import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from goqueue.errors import GoQueueError
from goqueue.model.log import LogId
from goqueue.model.runs import offsets_of, runs_of
from goqueue.spark.broker import Places
from goqueue.spark.failures import plainly
from goqueue.spark.lease_guard import LeaseGuard
from goqueue.spark.leased_rows import LeasedPiece, cut_leases, read_leased
from goqueue.spark.leases import Done, Lease, QueueOffset, Wish, settle, take
from goqueue.spark.options import LATEST, ReadOptions

__all__ = ["QueueReader"]

WAIT_MS = 100
"""So long a trigger without records waits for some, instead of asking all the time."""
MOST_DONE = 10_000
EXTEND_AFTER = 1 / 3
"""Of the time that a lease lasts."""


class QueueReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lives in a process of Spark's own as long as the query; `read` runs in tasks."""

    def __init__(self, options: ReadOptions, schema: pa.Schema) -> None:
        assert options.queue is not None
        self._options = options
        self._schema = schema
        start: Literal["earliest", "latest"] = "latest" if options.starting == LATEST else "earliest"
        self._wish = Wish(options.bootstrap, options.queue, options.visibility_ms, start)
        self._places = Places(options)
        self._broker = self._places.broker
        self._consumer = f"spark-{secrets.token_hex(8)}"
        self._held: tuple[Lease, ...] = ()
        """All that is leased now: kept alive until it is acknowledged or released."""
        self._known: QueueOffset | None = None
        """The batch that was planned last."""
        self._finished: QueueOffset | None = None
        """The batch whose leases were acknowledged last, with what was found out then."""
        self._target: dict[LogId, int] | None = None
        """With `availableNow`: where everything ended when the query began."""
        self._keeping: _Keeping | None = None
        self._guard: LeaseGuard | None = None

    # What comes next.

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return QueueOffset().kept()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._options.queue_batch)

    @plainly
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self._places.at(self._places.partitions(), "latest")

    @plainly
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Spark asks when it has committed all up to `start`, and only then."""
        begun = QueueOffset.of(start)
        if self._known is not None and self._known.batch == begun.batch + 1:
            return self._known.kept()
        self._finish(begun)
        assert self._finished is not None
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self._options.queue_batch
        leases = self._take(begun.batch + 1, most)
        if not leases:
            return start
        self._known = QueueOffset(begun.batch + 1, leases, self._finished.done)
        self._hold(leases)
        return self._known.kept()

    def _take(self, batch: int, most: int) -> tuple[Lease, ...]:
        wait_ms = 0 if self._target is not None else WAIT_MS
        leases: tuple[Lease, ...] = ()
        while not leases:
            taken = take(self._broker, self._wish, f"{self._consumer}-{batch}", self._topics(), most, wait_ms)
            if not taken:
                return ()
            leases = tuple(self._without_done(taken))
        if self._target is not None and all(_is_behind(lease, self._target) for lease in leases):
            # They came after the query had begun.
            settle(self._broker, self._wish, "release", leases)
            return ()
        return leases

    def _topics(self) -> tuple[str, ...]:
        if self._options.pattern is None:
            return self._options.topics
        return tuple(sorted({log.topic for log in self._places.partitions()}))

    def _without_done(self, taken: Sequence[Lease]) -> Iterator[Lease]:
        """What Spark has committed before is acknowledged now, under its new lease."""
        assert self._finished is not None
        done = self._finished.done_offsets()
        again: list[Lease] = []
        for lease in taken:
            known = done.get(lease.log, set()).intersection(offsets_of(lease.runs)) if done else set()
            if not known:
                yield lease
                continue
            again.append(_part_of(lease, known))
            left = set(offsets_of(lease.runs)) - known
            if left:
                yield _part_of(lease, left)
        settle(self._broker, self._wish, "ack", again)

    # What is done.

    def _finish(self, offset: QueueOffset) -> None:
        """Acknowledge a batch, once; those of its leases that have run out are noted."""
        if self._finished is not None and self._finished.batch >= offset.batch:
            return
        settled = settle(self._broker, self._wish, "ack", offset.leases)
        done = offset.done_offsets()
        for lease in settled.lost:
            done.setdefault(lease.log, set()).update(offsets_of(lease.runs))
        self._finished = QueueOffset(offset.batch, (), _noted(done, settled.floors))
        self._hold(())

    @plainly
    def commit(self, end: dict[str, Any]) -> None:
        self._finish(QueueOffset.of(end))

    # Reading.

    @plainly
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        planned = QueueOffset.of(end)
        if planned.batch == QueueOffset.of(start).batch:
            return []
        if self._known is None or self._known.batch != planned.batch:
            # Of a run before this one: what is still leased is held from here on.
            self._known = planned
            settle(self._broker, self._wish, "extend", planned.leases)
            self._hold(planned.leases)
        return cut_leases(planned.leases, self._options.min_partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, LeasedPiece)
        return read_leased(self._options, partition, self._schema)

    # Holding.

    def _hold(self, leases: tuple[Lease, ...]) -> None:
        self._held = leases
        if leases and self._keeping is None:
            self._keeping, self._guard = _Keeping(self), LeaseGuard(self._wish)
        if self._guard is not None:
            self._guard.watch(leases)

    def extend(self) -> None:
        """From a thread of its own, now and then."""
        with suppress(GoQueueError):
            settle(self._broker, self._wish, "extend", self._held)

    @property
    def extend_every_s(self) -> float:
        return self._wish.visibility_ms / 1000 * EXTEND_AFTER

    def stop(self) -> None:
        """What no batch has done goes back at once. Spark may kill this process first: then the guard does it."""
        if self._keeping is not None:
            self._keeping.end()
        with suppress(GoQueueError):
            settle(self._broker, self._wish, "release", self._held)
        if self._guard is not None:
            self._guard.end()
        self._places.close()


class _Keeping:
    """Keeps a reader's leases alive for as long as the query works on them."""

    def __init__(self, reader: QueueReader) -> None:
        self._ended = threading.Event()
        self._reader = reader
        threading.Thread(target=self._run, name="goqueue-leases", daemon=True).start()

    def _run(self) -> None:
        while not self._ended.wait(self._reader.extend_every_s):
            self._reader.extend()

    def end(self) -> None:
        self._ended.set()


def _part_of(lease: Lease, offsets: set[int]) -> Lease:
    again = tuple(one for one in lease.deliveries if one[0] in offsets)
    return Lease(lease.topic, lease.partition, lease.grant, lease.token, runs_of(sorted(offsets)), again)


def _is_behind(lease: Lease, ends: dict[LogId, int]) -> bool:
    return lease.runs[0][0] >= ends.get(lease.log, 0)


def _noted(done: dict[LogId, set[int]], floors: dict[LogId, int]) -> tuple[Done, ...]:
    """Without those that are settled for good; of very many the latest."""
    found = []
    for log, offsets in sorted(done.items()):
        left = sorted(offset for offset in offsets if offset >= floors.get(log, 0))[-MOST_DONE:]
        if left:
            found.append(Done(*log, runs_of(left)))
    return tuple(found)
