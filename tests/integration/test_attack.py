"""Clients of three protocols on a broker that is killed all along: no promise is broken."""

import pytest

from tests.behaviour.serving import running_server
from tests.workloads.attack import Attack


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_broker_that_is_killed_all_along_keeps_its_promises_to_clients_of_three_protocols(tmp_path):
    with running_server(tmp_path / "broker") as server:
        attack = Attack(server, seed=1)
        assert await attack.run(seconds=120) == []
    assert attack.counts["kills"] >= 5
    assert attack.counts["transactions ended"] >= 5
    assert attack.counts["dead letters"] >= 1
    assert attack.counts["records"] >= 100
