"""Ours against the best peer, round by round: how many times as much, and how far the rounds are apart."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from bench.peers.rounds import Sample, value_of
from bench.peers.targets import OURS, Promise, Target

__all__ = ["GOALS", "Ratio", "ratio_of", "ratios", "spread_of"]

Better = Literal["higher", "lower"]

MILLION = "million"
LOWER = {
    "latency_1k": ("p50_ms", "p99_ms", "p999_ms"),
    "latency_half": ("p50_ms", "p99_ms", "p999_ms"),
    MILLION: ("restart_s", "resident_mb", "cpu_s_per_million"),
}
MILLION_NAMES = {"restart_s": "restart", "resident_mb": "memory", "cpu_s_per_million": "cpu"}

GOALS: Mapping[str, float] = {
    "durable_batch100": 5,
    "durable_batch1000": 10,
    "durable_batch1_conn16": 1.5,
    "durable_batch1_conn1": 1,
    "default_batch100": 4,
    "durable_queue_cycle": 2,
    "durable_backlog": 1.5,
    "latency_p99_1k": 1,
    "restart_1m": 1,
    "memory_1m": 1,
}
"""At least so many times as much; of what is better when it is lower, at most."""


class Ratio(msgspec.Struct, frozen=True):
    """Ours divided by the best peer's; below 1 is good where lower is better."""

    median: float
    lowest: float
    highest: float
    better: Better
    best_peer: str
    ours: float
    peers: float
    """Both sides as medians, in the unit of the figure."""
    goal: float | None = None

    @property
    def holds(self) -> bool | None:
        if self.goal is None:
            return None
        return self.median >= self.goal if self.better == "higher" else self.median <= self.goal


def spread_of(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Round by round, as noise that hits both sides of a round cancels out."""
    return [mine / other for mine, other in zip(ours, theirs, strict=False)]


def ratio_of(
    ours: Sequence[float], peers: Mapping[str, Sequence[float]], better: Better, goal: float | None = None
) -> Ratio | None:
    """Against the peer whose median is best; None where one side has no figures."""
    medians = {name: statistics.median(found) for name, found in peers.items() if found}
    if not medians or not ours:
        return None
    best = (max if better == "higher" else min)(medians, key=lambda name: medians[name])
    spread = spread_of(ours, peers[best])
    return Ratio(
        statistics.median(spread),
        min(spread),
        max(spread),
        better,
        best,
        statistics.median(ours),
        medians[best],
        goal,
    )


def ratios(samples: Sequence[Sample], targets: Sequence[Target], ours: str = OURS) -> dict[str, Ratio]:
    """Under names that begin with what a confirmation means; figures of latency and of a million are of synced ones."""
    found: dict[str, Ratio] = {}
    workloads = list(dict.fromkeys(one.workload for one in samples))
    kept = _kept(samples)
    for promise in Promise:
        for workload in workloads:
            # A million records are in files in any case: there every broker is a peer.
            peers = [
                one.name for one in targets if not one.is_ours and (promise in one.promises or workload == MILLION)
            ]
            for figure in LOWER.get(workload, ("per_s",)):
                name = name_of(promise, workload, figure, kept)
                theirs = {peer: value_of(samples, peer, workload, figure) for peer in peers}
                mine = value_of(samples, ours, workload, figure)
                better: Better = "lower" if workload in LOWER else "higher"
                goal = GOALS.get(_goal_name(name)) if ours == OURS else None
                if (made := ratio_of(mine, theirs, better, goal)) is not None:
                    found[name] = made
    for name in list(found):
        # Sixteen connections are what a broker can do at most; that is the figure without a number of connections.
        if (short := _goal_name(name)) != name:
            found[short] = found[name]
    return found


def _kept(samples: Sequence[Sample]) -> str:
    """How many records there really were: a quick run keeps fewer, and what is true of those is not of a million."""
    records = max((one.figures.get("records", 0) for one in samples if one.workload == MILLION), default=0)
    return "1m" if records >= 990_000 else f"{round(records / 1000)}k"


def name_of(promise: Promise, workload: str, figure: str, kept: str) -> str:
    short = {"latency_1k": "1k", "latency_half": "half"}
    if workload in short:
        name = f"latency_{figure.removesuffix('_ms')}_{short[workload]}"
    elif workload == MILLION:
        return f"{MILLION_NAMES[figure]}_{kept}"
    else:
        return f"{promise}_{workload}"
    return name if promise is Promise.DURABLE else f"default_{name}"


def _goal_name(name: str) -> str:
    if name.endswith("_conn16") and "batch100" in name:
        return name.removesuffix("_conn16")
    return name
