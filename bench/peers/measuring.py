"""One measurement: a workload at one broker, done by as many client processes as suit it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from bench.peers.arena import Arena
from bench.peers.client import GROUP
from bench.peers.pool import Pool
from bench.peers.port import Subject
from bench.peers.processes import ProcessTree
from bench.peers.targets import Kind, Target
from bench.peers.work import Done, Offer, Work
from bench.peers.workloads import GROUPS, Plan, Workload

__all__ = ["Figures", "Measuring"]

Figures = dict[str, float]
LARGE_BATCH = 100


class Measuring:
    """`processes` has what tries have found: over how many processes the connections of a target are spread."""

    def __init__(self, arena: Arena, pool: Pool, plan: Plan) -> None:
        self._arena = arena
        self._pool = pool
        self._plan = plan
        self._numbers = 0
        self.processes: dict[tuple[str, bool], int] = {}
        self.half_rate = 0.0

    def processes_for(self, target: Target, batch: int) -> int:
        """Small batches cost time between processes, large ones time within them."""
        is_large = batch >= LARGE_BATCH
        return self.processes.get((target.name, is_large), target.processes[is_large])

    def __call__(self, target: Target, workload: Workload) -> Figures:
        groups = GROUPS if workload.kind is Kind.FANOUT else (GROUP,)
        self._numbers += 1
        subject = Subject(f"bench{self._numbers}", groups)
        with self._arena.turn(target) as server:
            work = Work(
                adapter=target.adapter,
                address=target.where(server),
                subject=subject,
                batch=workload.batch,
                size=workload.size,
                seconds=self._plan.try_seconds if workload.is_try else self._plan.seconds,
                is_warmed_up=workload.kind in (Kind.PUBLISH, Kind.LATENCY),
            )
            self._pool.do(msgspec.structs.replace(work, command="create"))
            try:
                return self._measure(target, workload, work, server.tree)
            finally:
                self._pool.do(msgspec.structs.replace(work, command="drop"))

    def _measure(self, target: Target, workload: Workload, work: Work, tree: ProcessTree) -> Figures:
        if workload.kind is Kind.PUBLISH:
            return self._publish(target, workload, work, tree)
        if workload.kind is Kind.LATENCY:
            return self._offer(workload, work)
        if workload.kind is Kind.FANOUT:
            return self._fan_out(target, work, tree)
        if workload.key == "backlog":
            return self._backlog(target, work, tree)
        return self._cycle(target, work, tree)

    # Publishing.

    def _publish(self, target: Target, workload: Workload, work: Work, tree: ProcessTree) -> Figures:
        processes = 1 if workload.connections == 1 else self.processes_for(target, workload.batch)
        return self.publish_over(processes, workload.connections, work, tree)

    def publish_over(self, processes: int, connections: int, work: Work, tree: ProcessTree) -> Figures:
        """Against any server; for a number of records instead of a time where `most` is given for each process."""
        each = msgspec.structs.replace(work, publishers=connections // processes)
        cpu = tree.cpu_seconds()
        began, done = self._pool.measure([each] * processes)
        records = sum(one.published for one in done)
        return _rate(records, began, done) | {"cpu_s": tree.cpu_seconds() - cpu}

    def _offer(self, workload: Workload, work: Work) -> Figures:
        rate = workload.rate or self.half_rate
        offer = Offer(rate, self._plan.offer_seconds)
        _, done = self._pool.measure([msgspec.structs.replace(work, publishers=workload.connections, offer=offer)])
        assert done[0].latencies_ms is not None
        return {**done[0].latencies_ms, "rate": rate}

    # Publishing and taking.

    def _cycle(self, target: Target, work: Work, tree: ProcessTree) -> Figures:
        """Eight connections publish, eight take and acknowledge, until everything is acknowledged."""
        return self._together(self._publishing_and(target, work, {"workers": 8}, 8), self._plan.cycle_records, tree)

    def _publishing_and(self, target: Target, work: Work, taking: dict[str, Any], publishers: int) -> list[Work]:
        """In processes of their own, or all in one where that is what suits the client."""
        replace = msgspec.structs.replace
        processes = self.processes_for(target, work.batch)
        work = replace(work, seconds=self._plan.queue_seconds)
        if processes == 1:
            return [replace(work, publishers=publishers, **taking)]
        halves = min(processes // 2, publishers)
        each = {name: many // halves for name, many in taking.items()}
        return [replace(work, publishers=publishers // halves)] * halves + [replace(work, **each)] * halves

    def _together(self, works: Sequence[Work], records: int, tree: ProcessTree, copies: int = 1) -> Figures:
        replace = msgspec.structs.replace
        publishing = sum(work.publishers > 0 for work in works)
        quota = records // publishing
        works = [replace(one, copies=copies, most=quota if one.publishers else None) for one in works]
        cpu = tree.cpu_seconds()
        began, done = self._pool.measure(works)
        wanted = sum(one.published for one in done) * copies
        return _acknowledged(wanted, began, done) | {"cpu_s": tree.cpu_seconds() - cpu}

    def _backlog(self, target: Target, work: Work, tree: ProcessTree) -> Figures:
        """Sixteen connections take and acknowledge what was published before."""
        replace = msgspec.structs.replace
        processes = self.processes_for(target, work.batch)
        quota = self._plan.backlog_records // processes
        filling = replace(work, most=quota, seconds=self._plan.queue_seconds, publishers=16 // processes)
        _, filled = self._pool.measure([filling] * processes)
        expected = sum(one.published for one in filled)
        cpu = tree.cpu_seconds()
        began, done = self._pool.measure([replace(work, workers=16 // processes, expected=expected)] * processes)
        return _acknowledged(expected, began, done) | {"cpu_s": tree.cpu_seconds() - cpu}

    def _fan_out(self, target: Target, work: Work, tree: ProcessTree) -> Figures:
        """Four connections publish, and each of four groups takes everything."""
        replace = msgspec.structs.replace
        processes = self.processes_for(target, work.batch)
        work = replace(work, seconds=self._plan.queue_seconds)
        if processes == 1:
            works = [replace(work, publishers=4, followers=GROUPS)]
        else:
            halves = 2 if processes < len(GROUPS) * 2 else 4
            readers = [GROUPS[start::halves] for start in range(halves)]
            works = [replace(work, publishers=4 // halves)] * halves
            works += [replace(work, followers=some) for some in readers]
        return self._together(works, self._plan.fanout_records, tree, copies=len(GROUPS))


def _rate(records: int, began: float, done: Sequence[Done]) -> Figures:
    took = max(one.ended for one in done) - began
    return {"records": records, "seconds": took, "per_s": records / took}


def _acknowledged(wanted: int, began: float, done: Sequence[Done]) -> Figures:
    """A broker may deliver a record again; none may be missing."""
    taken = sum(one.acknowledged for one in done)
    if taken < wanted:
        raise RuntimeError(f"only {taken} of {wanted} records were acknowledged")
    return _rate(wanted, began, done)
