"""A bank on a real broker, with real processes that are killed: the books are right at every read."""

from tests.workloads.bank import Bank
from tests.workloads.nursery import nursery_server


async def test_no_money_is_lost_or_made_though_tellers_crash_and_the_broker_is_killed(tmp_path):
    with nursery_server(tmp_path / "broker") as server:
        counts = await Bank(server, seed=1).run(seconds=20)
    assert counts["broker killed"] >= 1
    assert counts["tellers crashed"] >= 1
    assert counts["transfers"] >= 5
    assert counts["checks of the books"] >= 1
