"""One small round of everything, with a real GoQueue and, where it is installed, a real Redis."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench.peers.arena import Arena
from bench.peers.measuring import Measuring
from bench.peers.pool import Pool
from bench.peers.rounds import Sample, run_rounds
from bench.peers.targets import Kind, named
from bench.peers.workloads import TINY, workloads

KINDS = (Kind.PUBLISH, Kind.QUEUE, Kind.FANOUT, Kind.LATENCY)


def _round(folder: Path, names: tuple[str, ...]) -> list[Sample]:
    arena = Arena(folder, lambda _: None)
    pool = Pool(folder)
    try:
        arena.start([one for one in named(names) if one.name in names])
        measuring = Measuring(arena, pool, TINY)
        return run_rounds(measuring, arena, workloads(TINY, KINDS), TINY, lambda _: None)
    finally:
        pool.close()
        arena.end()


def _check(samples: list[Sample], target: str) -> None:
    mine = {one.workload: one for one in samples if one.target == target}
    assert set(mine) == {one.key for one in workloads(TINY, KINDS)}
    assert not [one.problem for one in mine.values() if one.problem]
    assert all(one.figures["per_s"] > 0 for one in mine.values())
    assert mine["queue_cycle"].figures["records"] == TINY.cycle_records
    assert mine["fanout4"].figures["records"] == 4 * TINY.fanout_records
    assert mine["latency_1k"].figures["p99_ms"] >= mine["latency_1k"].figures["p50_ms"] > 0


def test_a_round_measures_every_workload_with_our_own_client(tmp_path):
    _check(_round(tmp_path, ("goqueue",)), "goqueue")


@pytest.mark.skipif(
    shutil.which("redis-server") is None or find_spec("redis") is None, reason="needs redis-server and redis-py"
)
def test_a_round_measures_every_workload_with_redis(tmp_path):
    _check(_round(tmp_path, ("redis-safe",)), "redis-safe")


def test_a_broker_that_is_not_installed_is_left_out_with_a_word(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    said: list[str] = []
    arena = Arena(tmp_path, said.append)
    arena.start([one for one in named(("redis-default",)) if one.name == "redis-default"])
    assert not arena.targets
    assert len(said) == 1
    assert "redis-default" in said[0]
