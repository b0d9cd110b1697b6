"""Rounds: every workload at every broker in turn, again and again, so that a noisy minute falls on all alike."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from bench.peers.arena import Arena
from bench.peers.measuring import Figures, Measuring
from bench.peers.pool import ClientFailed
from bench.peers.targets import Kind, Promise, Target
from bench.peers.workloads import Plan, Workload, key_of_publishing

__all__ = ["Sample", "Show", "find_processes", "run_rounds", "value_of"]

LEAST_RATE, MOST_RATE = 500.0, 20_000.0
SLOWEST_BY = key_of_publishing(100, 16, 100)

Show = Callable[[str], None]


class Sample(msgspec.Struct, frozen=True):
    """One raw measurement; `problem` says why there are no figures."""

    round: int
    workload: str
    target: str
    figures: dict[str, float]
    problem: str = ""


def find_processes(measuring: Measuring, targets: Sequence[Target], plan: Plan, show: Show) -> dict[str, Any]:
    """Over how many client processes 16 connections of each broker are quickest, for single records and for batches."""
    tries: dict[str, Any] = {}
    for is_large, batch in ((False, 1), (True, 100)) if plan.processes else ():
        workload = Workload(f"try{batch}", Kind.PUBLISH, batch=batch, is_try=True)
        for target in targets:
            found: dict[int, list[float]] = {processes: [] for processes in plan.processes}
            for processes in plan.processes * plan.tries:
                measuring.processes[target.name, is_large] = processes
                show(f"how many client processes suit {target.name}, batches of {batch}: {processes}")
                found[processes].append(_one(measuring, target, workload).figures.get("per_s", 0.0))
            rates = {processes: statistics.median(per_s) for processes, per_s in found.items()}
            best = max(rates, key=lambda processes: rates[processes])
            measuring.processes[target.name, is_large] = best
            tries.setdefault(target.name, {})[f"batch{batch}"] = {"best": best, "per_s": rates}
    return tries


def run_rounds(
    measuring: Measuring, arena: Arena, workloads: Sequence[Workload], plan: Plan, show: Show
) -> list[Sample]:
    """As many as the time allows, and at least one."""
    samples: list[Sample] = []
    begun = time.monotonic()
    total = plan.rounds * sum(one.kind in target.kinds for one in workloads for target in arena.targets)
    for number in range(plan.rounds):
        took = time.monotonic() - begun
        if number and took + took / number > plan.within_s:
            show(f"no time for round {number + 1}")
            break
        for workload in workloads:
            if workload.kind is Kind.LATENCY and workload.rate is None:
                measuring.half_rate = half_of_slowest(samples, arena.targets)
            # Another one begins each time: nobody always comes after the same neighbour.
            turns = arena.targets[number:] + arena.targets[:number]
            for target in turns:
                if workload.kind in target.kinds:
                    show(f"[{len(samples) + 1}/{total}] round {number + 1}: {workload.key}, {target.name}")
                    samples.append(_one(measuring, target, workload, number))
    return samples


def _one(measuring: Measuring, target: Target, workload: Workload, number: int = 0) -> Sample:
    """What goes wrong with one broker is written down, and the others go on."""
    try:
        figures: Figures = measuring(target, workload)
        return Sample(number, workload.key, target.name, figures)
    except (ClientFailed, RuntimeError, TimeoutError) as error:
        return Sample(number, workload.key, target.name, {}, f"{time.strftime('%H:%M:%S')} {error}")


def value_of(samples: Sequence[Sample], target: str, workload: str, figure: str) -> list[float]:
    """One value for each round in which there was one."""
    return [
        one.figures[figure]
        for one in samples
        if one.target == target and one.workload == workload and figure in one.figures
    ]


def half_of_slowest(samples: Sequence[Sample], targets: Sequence[Target]) -> float:
    """Half of what the slowest peer confirmed after a sync, with 16 connections and batches of 100."""
    reached = [
        statistics.median(found)
        for target in targets
        if not target.is_ours
        and Promise.DURABLE in target.promises
        and (found := value_of(samples, target.name, SLOWEST_BY, "per_s"))
    ]
    return min(max(min(reached, default=2 * LEAST_RATE) / 2, LEAST_RATE), MOST_RATE)
