"""Real queries that are killed under way; `make kill-spark` does it for longer."""

import pytest

from tests.spark.faults import kill_again_and_again


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_record_arrives_once_and_in_order_whatever_is_killed(server_of_its_own, tmp_path):
    found = kill_again_and_again(server_of_its_own, tmp_path, rounds=2, seed=3)
    assert found["killed drivers"] == 2
    assert found["records"] > 100
