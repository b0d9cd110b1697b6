"""After a million records: what the server has used of the processor, what it holds in memory, how it comes back."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

import msgspec

from bench.peers.arena import Arena
from bench.peers.client import GROUP
from bench.peers.measuring import Figures, Measuring
from bench.peers.pool import ClientFailed, Pool
from bench.peers.port import Subject
from bench.peers.rounds import Sample
from bench.peers.servers.server import Server
from bench.peers.targets import Kind, Target
from bench.peers.work import Work
from bench.peers.workloads import Plan

__all__ = ["fill_and_restart"]

KEY = "million"
SETTLE_S = 1.0
PROBLEMS = (ClientFailed, RuntimeError, TimeoutError)


class Filled(NamedTuple):
    """A server that holds the records, and is stopped."""

    target: Target
    server: Server
    work: Work
    figures: Figures


def fill_and_restart(
    arena: Arena, pool: Pool, measuring: Measuring, plan: Plan, show: Callable[[str], None]
) -> list[Sample]:
    """A new server for each target, as old topics of other measurements would count as well; restarts take turns."""
    samples: list[Sample] = []
    filled: list[Filled] = []
    with ExitStack() as at_the_end:
        for target in arena.targets:
            if Kind.MILLION in target.kinds:
                show(f"{plan.million:,} records, {target.name}")
                server = arena.fresh(target.server)
                at_the_end.callback(server.end)
                try:
                    filled.append(_fill(server, target, pool, measuring, plan))
                except PROBLEMS as error:
                    samples.append(Sample(0, KEY, target.name, {}, str(error)))
        for number in range(plan.restarts):
            for one in filled:
                show(f"restart {number + 1} of {plan.restarts}, {one.target.name}")
                samples.append(_restart(number, one, pool))
    return samples


def _fill(server: Server, target: Target, pool: Pool, measuring: Measuring, plan: Plan) -> Filled:
    server.start()
    subject = Subject("million", (GROUP,))
    work = Work(adapter=target.adapter, address=target.where(server), subject=subject, batch=100, seconds=600.0)
    pool.do(msgspec.structs.replace(work, command="create"))
    empty_mb = server.tree.resident_mb()
    processes = measuring.processes_for(target, work.batch)
    filling = msgspec.structs.replace(work, most=plan.million // processes)
    figures = measuring.publish_over(processes, 16, filling, server.tree)
    # What it does in the background about so many records is part of their price.
    time.sleep(SETTLE_S)
    figures["resident_mb"] = server.tree.resident_mb()
    figures["empty_mb"] = empty_mb
    figures["cpu_s_per_million"] = figures["cpu_s"] * 1e6 / figures["records"]
    server.end()
    return Filled(target, server, work, figures)


def _restart(number: int, filled: Filled, pool: Pool) -> Sample:
    target, server, work, figures = filled
    began = time.monotonic()
    try:
        server.start()
        confirmed = pool.do(msgspec.structs.replace(work, command="probe"))
    except PROBLEMS as error:
        return Sample(number, KEY, target.name, figures, str(error))
    finally:
        server.end()
    return Sample(number, KEY, target.name, figures | {"restart_s": confirmed.ended - began})
