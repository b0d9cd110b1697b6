"""Transactions of real clients while a real broker is killed with −9: all or nothing, as they were told."""

import pytest

from tests.integration.transaction_kills import kill_again_and_again
from tests.integration.transaction_steps import HOW, KINDS, deaths
from tests.workloads.nursery import nursery_server


async def test_every_transaction_is_there_as_a_whole_or_not_at_all_whatever_is_killed(tmp_path):
    with nursery_server(tmp_path / "broker") as server:
        counts = await kill_again_and_again(server, kills=6, seed=1)
    assert counts["kills"] >= 6
    assert counts["committed"] >= 3
    assert counts["checks"] >= 1
    assert counts["passes of the reader"] >= 1


async def test_a_broker_killed_at_any_write_of_a_commit_leaves_all_of_it_or_nothing(tmp_path):
    assert await deaths(tmp_path / "broker", "commit", "torn", stride=4) >= 2


@pytest.mark.slow
@pytest.mark.parametrize(("number", "kind"), list(enumerate(KINDS, start=1)))
@pytest.mark.parametrize("how", HOW)
async def test_a_broker_killed_at_a_write_of_any_kind_leaves_all_of_it_or_nothing(tmp_path, number, kind, how):
    """At every fourth, each kind from another one on: `make kill-transactions` goes through all."""
    assert await deaths(tmp_path / "broker", kind, how, first=number, stride=4) >= 2
