import pytest

from bench.peers.board import Board
from bench.peers.offering import offered, percentiles
from bench.peers.page import write_page
from bench.peers.ratios import ratio_of, ratios
from bench.peers.report import document_of
from bench.peers.rounds import Sample, half_of_slowest
from bench.peers.targets import TARGETS
from bench.peers.work import Offer


def test_the_best_peer_is_the_one_with_the_best_median():
    peers = {"steady": [100.0, 110.0, 120.0], "one lucky round": [10.0, 20.0, 900.0]}
    found = ratio_of([220.0, 330.0, 120.0], peers, "higher")
    assert found is not None
    assert (found.best_peer, found.ours, found.peers) == ("steady", 220.0, 110.0)


def test_a_ratio_is_made_round_by_round_so_that_noise_of_a_round_cancels_out():
    found = ratio_of([200.0, 20.0, 210.0], {"peer": [100.0, 10.0, 70.0]}, "higher")
    assert found is not None
    assert (found.median, found.lowest, found.highest) == (2.0, 2.0, 3.0)


def test_where_lower_is_better_the_best_peer_has_the_lowest_median_and_the_goal_is_a_ceiling():
    peers = {"quick": [2.0, 2.0], "slow": [9.0, 9.0]}
    found = ratio_of([1.0, 3.0], peers, "lower", goal=1.0)
    assert found is not None
    assert (found.best_peer, found.median, found.holds) == ("quick", 1.0, True)
    worse = ratio_of([3.0, 3.0], peers, "lower", goal=1.0)
    assert worse is not None
    assert worse.holds is False


def test_a_figure_that_nobody_else_has_makes_no_ratio():
    assert ratio_of([1.0], {"peer": []}, "higher") is None
    assert ratio_of([], {"peer": [1.0]}, "higher") is None


def _samples(per_s: dict[str, float]) -> list[Sample]:
    return [Sample(0, "batch100_conn16", name, {"per_s": value}) for name, value in per_s.items()]


def test_only_peers_that_sync_count_in_durable_ratios():
    samples = _samples({"goqueue": 1000.0, "redis-safe": 100.0, "redis-default": 500.0, "rabbitmq-quorum": 50.0})
    found = ratios(samples, TARGETS)
    assert (found["durable_batch100"].best_peer, found["durable_batch100"].median) == ("redis-safe", 10.0)
    assert (found["default_batch100"].best_peer, found["default_batch100"].median) == ("redis-default", 2.0)
    assert found["durable_batch100_conn16"] == found["durable_batch100"]
    assert [found["durable_batch100"].holds, found["default_batch100"].holds] == [True, False]


def test_figures_of_waiting_and_of_a_million_records_have_names_of_their_own():
    waits = {"p50_ms": 1.0, "p99_ms": 2.0, "p999_ms": 3.0}
    million = {"restart_s": 4.0, "resident_mb": 50.0, "cpu_s_per_million": 6.0, "records": 1e6}
    samples = [
        Sample(0, workload, target, figures)
        for workload, figures in (("latency_1k", waits), ("million", million))
        for target in ("goqueue", "redis-safe", "nats-default")
    ]
    names = set(ratios(samples, TARGETS))
    assert {"latency_p99_1k", "latency_p999_1k", "restart_1m", "memory_1m", "cpu_1m"} <= names
    assert "default_latency_p99_1k" in names


def test_a_run_that_kept_fewer_records_does_not_call_them_a_million():
    million = {"restart_s": 4.0, "resident_mb": 50.0, "cpu_s_per_million": 6.0, "records": 50_000.0}
    found = ratios([Sample(0, "million", target, million) for target in ("goqueue", "redis-safe")], TARGETS)
    assert set(found) == {"restart_50k", "memory_50k", "cpu_50k"}
    assert found["memory_50k"].goal is None


def test_the_second_rate_is_half_of_what_the_slowest_synced_peer_can_do():
    samples = _samples({"goqueue": 10.0, "redis-safe": 80_000.0, "nats-safe": 3000.0, "nats-default": 1000.0})
    assert half_of_slowest(samples, TARGETS) == 1500.0


def test_the_document_and_the_page_say_where_a_peer_is_ahead(tmp_path):
    samples = _samples({"goqueue": 50.0, "redis-safe": 100.0})
    machine = {"cores": 2, "cpu": "some", "memory_gib": 4, "kernel": "6", "python": "3.11", "disk": "/dev/one"}
    document = document_of(
        [*samples, Sample(0, "backlog", "redis-safe", {}, "no answer")],
        TARGETS,
        machine={**machine, "fdatasync_ms": {"p50_ms": 1, "p99_ms": 2}},
        versions={"servers": {"Redis": "7"}, "clients": {}},
        about={
            "command": "x",
            "plan": {"million": 5, "rounds": 3},
            "client_processes": {},
            "left_out": ["nats"],
            "half_rate": 1,
        },
    )
    assert document["ratios"]["durable_batch100"]["median"] == 0.5
    assert document["problems"] == ["backlog, redis-safe: no answer"]
    write_page(document, tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert "Where a peer is ahead of GoQueue: " in page
    assert "`durable_batch100` (0.50, redis-safe)" in page
    assert "Left out: nats." in page


def test_percentiles_of_a_hundred_waits():
    found = percentiles([number / 1000 for number in range(1, 101)])
    assert (found["p50_ms"], found["p99_ms"], found["max_ms"]) == (51.0, 100.0, 100.0)


class Stalling:
    """A publisher that stands still once."""

    def __init__(self, stall_s: float) -> None:
        self._stall_s = stall_s
        self.published = 0

    async def publish(self, values):
        import asyncio

        self.published += len(values)
        stall_s, self._stall_s = self._stall_s, 0.0
        await asyncio.sleep(stall_s)

    async def close(self):
        pass


async def test_records_that_were_due_during_a_stall_have_waited_for_it():
    publisher = Stalling(0.3)
    found = await offered([publisher], Offer(rate=200.0, seconds=0.5), 10)
    assert publisher.published == 100
    # Sixty of a hundred were due while nothing moved: half of them waited for more than half of it.
    assert found["max_ms"] >= 300
    assert found["p99_ms"] >= 250


def test_processes_see_on_the_board_what_the_others_have_done(tmp_path):
    with Board(tmp_path / "board", 2, 0) as one, Board(tmp_path / "board", 2, 1) as other:
        one.publishing(1)
        one.published(70)
        other.published(30)
        other.acknowledged(40)
        assert (other.total_published(), one.total_acknowledged(), other.is_publishing()) == (100, 40, True)
        one.publishing(-1)
        assert not other.is_publishing()
        one.clear()
        assert other.total_published() == 0


@pytest.mark.parametrize("target", TARGETS, ids=lambda one: one.name)
def test_every_target_says_in_which_setting_and_with_which_client(target):
    assert target.setting and target.client and target.promises
