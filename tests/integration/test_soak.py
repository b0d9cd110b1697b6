"""Two minutes of churn: memory, descriptors, threads and disk end where they were."""

import pytest

from tests.behaviour.serving import running_server
from tests.workloads.soak import SETTINGS, Soak, Use, growth


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_topics_groups_members_producers_and_transactions_that_have_gone_cost_nothing(tmp_path):
    with running_server(tmp_path / "broker", SETTINGS) as server:
        soak = Soak(server, seed=1)
        grown = await soak.run(seconds=120)
    assert soak.counts["topics"] >= 20
    assert {name: times for name, times in grown.items() if times > 1.1} == {}


def test_growth_is_the_use_at_the_end_over_that_at_three_tenths():
    samples = [(float(second), Use(1000 + 10 * second, 50, 20, 7000 - second)) for second in range(100)]
    grown = growth(samples, 100.0)
    assert grown["rss"] == pytest.approx(1945 / 1345, rel=0.01)
    assert grown["descriptors"] == 1.0
    assert grown["disk"] < 1.0
