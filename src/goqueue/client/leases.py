"""Leases of a worker: the jobs that it was given, which of them it still has, and how a request names them."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from goqueue import codec
from goqueue.client.message import Message
from goqueue.model.log import LogId
from goqueue.model.runs import runs_of
from goqueue.wire.native import messages
from goqueue.wire.native.packed_offsets import packed_offsets

__all__ = ["Grant", "HeldLeases", "Job", "lease_of", "leases_of", "offsets_by_grant"]

CLOCKS_DIFFER_BY_NS = 60_000_000_000
"""A lease is over by the clock of the broker, which need not be that of this machine."""

_OFFSET = Message._fields.index("offset")


class Grant(NamedTuple):
    """Records of one partition that the broker gave at once, and the worker that has them."""

    log: LogId
    number: int
    token: str
    group: str = ""
    knows_packed: bool = False
    """Whether the broker that gave it knows packed offsets."""
    holder: "HeldLeases | None" = None


class Job(NamedTuple):
    """A record that is this worker's until `deadline_ns`, unless it is settled or extended.

    `deliveries` counts how often it was delivered, with this time; `failures` counts how often it failed before.

    Example:

        from goqueue import Worker

        with Worker("orders", group="billing") as worker:
            for job in worker.take(10):
                print(job.key, job.json(), job.deliveries)
                worker.ack(job)
    """

    message: Message
    deliveries: int
    failures: int
    deadline_ns: int
    grant: Grant

    @property
    def value(self) -> bytes | None:
        """The bytes of the record; None for a tombstone.

        Example:

            from goqueue import Worker

            with Worker("orders", group="billing") as worker:
                for job in worker.take(1):
                    print(job.value)
                    worker.ack(job)
        """
        return self.message.value

    @property
    def text(self) -> str | None:
        """The value as text; None for a tombstone.

        Example:

            from goqueue import Worker

            with Worker("orders", group="billing") as worker:
                for job in worker.take(1):
                    print(job.text)
                    worker.ack(job)
        """
        return self.message.text

    def json(self) -> Any:
        """What the JSON of the value says; None for a tombstone.

        Example:

            from goqueue import Worker

            with Worker("orders", group="billing") as worker:
                for job in worker.take(1):
                    print(job.json())
                    worker.ack(job)
        """
        return self.message.json()

    @property
    def key(self) -> bytes | None:
        """The key of the record; None for a record without one.

        Example:

            from goqueue import Worker

            with Worker("orders", group="billing") as worker:
                for job in worker.take(1):
                    print(job.key)
                    worker.ack(job)
        """
        return self.message.key

    @property
    def carrier(self) -> dict[str, str]:
        """The headers that are text, as `Message.carrier` has them.

        Example:

            from goqueue import Worker

            with Worker("orders", group="billing") as worker:
                for job in worker.take(1):
                    print(job.carrier.get("traceparent"))
                    worker.ack(job)
        """
        return self.message.carrier


class HeldLeases:
    """Jobs that were taken and not settled. What is taken and settled together costs no step for each job."""

    def __init__(self) -> None:
        self._given: dict[Grant, _Given] = {}

    def add(self, grant: Grant, jobs: Sequence[Job], deadline_ns: int) -> None:
        self._given[grant] = _Given(jobs, deadline_ns)

    def forget_overdue(self) -> None:
        """The broker has taken them back, or will: those of a worker that never settles would fill the memory."""
        over = time.time_ns() - CLOCKS_DIFFER_BY_NS
        while self._given:
            grant, given = next(iter(self._given.items()))
            if given.deadline_ns >= over:
                return
            del self._given[grant]

    def settled(self, grant: Grant, offsets: Sequence[int], *, differ: bool = False) -> None:
        """These are held no more; `differ` when it is known that none is named twice."""
        given = self._given.get(grant)
        if given is None:
            return
        if not (differ and len(offsets) == len(given.jobs)):
            given.settled.update(offsets)
            if len(given.settled) < len(given.jobs):
                return
        del self._given[grant]

    def restored(self, jobs: Iterable[Job]) -> None:
        """Held again: the transaction that was to settle them is aborted."""
        for job in jobs:
            given = self._given.get(job.grant)
            if given is None:
                self._given[job.grant] = _Given([job], job.deadline_ns)
            elif job.message.offset in given.settled:
                given.settled.discard(job.message.offset)
            elif job not in given.jobs:
                given.jobs = [*given.jobs, job]

    def extended(self, grant: Grant, deadline_ns: int) -> None:
        given = self._given.pop(grant, None)
        if given is not None:
            given.deadline_ns = max(given.deadline_ns, deadline_ns)
            self._given[grant] = given

    def has(self, job: Job) -> bool:
        given = self._given.get(job.grant)
        return given is not None and job.message.offset not in given.settled

    def jobs(self) -> list[Job]:
        """All that is held."""
        return [job for given in self._given.values() for job in given.left()]


class _Given:
    """What was given at once; `settled` has the offsets of the jobs that are not held any more."""

    __slots__ = ("deadline_ns", "jobs", "settled")

    def __init__(self, jobs: Sequence[Job], deadline_ns: int) -> None:
        self.jobs = jobs
        self.deadline_ns = deadline_ns
        self.settled: set[int] = set()

    def left(self) -> Iterator[Job]:
        return (job for job in self.jobs if job.message.offset not in self.settled)


def offsets_by_grant(jobs: Iterable[Job]) -> Mapping[Grant, list[int]]:
    found: dict[Grant, list[int]] = codec.grouped(jobs, _OFFSET)
    return found


def leases_of(jobs: Iterable[Job]) -> tuple[messages.LeasedRecords, ...]:
    return tuple([lease_of(grant, offsets) for grant, offsets in offsets_by_grant(jobs).items()])


def lease_of(grant: Grant, offsets: list[int]) -> messages.LeasedRecords:
    """Of offsets in any order; a job may be named twice."""
    offsets.sort()
    first, count = offsets[0], len(offsets)
    if offsets[-1] - first + 1 == count == len(set(offsets)):
        return messages.LeasedRecords(*grant.log, grant.number, grant.token, ((first, count),))
    if grant.knows_packed:
        return messages.LeasedRecords(*grant.log, grant.number, grant.token, (), packed_offsets(offsets))
    return messages.LeasedRecords(*grant.log, grant.number, grant.token, runs_of(sorted(set(offsets))))
