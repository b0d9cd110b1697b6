"""When groups expire, and lists of very many of them, over HTTP."""

import asyncio

from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.engine.groups import commit_offsets
from goqueue.engine.health import broker_stats
from goqueue.model.log import LogId
from goqueue.model.topic import topic_name
from tests.unit.engine.test_expiry import loop_passes_during

MANY = 2000


async def test_an_empty_group_says_when_it_expires_and_one_in_use_does_not(http, clock):
    await http.post("/topics", json={"name": "orders", "num_partitions": 1, "offsets_retention_ms": 3_600_000})
    await http.post("/groups/g/offsets", json={"offsets": {"orders": {"0": 0}}})
    described = (await http.get("/groups/g")).json()
    assert described["expires_at"] == "2023-11-14T23:13:20.000000000Z"
    await http.put("/groups/g/policy", json={"offsets_retention_ms": 7_200_000})
    assert (await http.get("/groups/g")).json()["expires_at"] == "2023-11-15T00:13:20.000000000Z"
    await http.post("/groups/g/join", json={"client_id": "c", "topics": ["orders"]})
    assert (await http.get("/groups/g")).json()["expires_at"] is None


async def test_a_retention_below_a_minute_is_refused(http):
    await http.post("/topics", json={"name": "orders", "num_partitions": 1})
    assert (await http.patch("/topics/orders", json={"offsets_retention_ms": 59_999})).status_code == 400
    assert (await http.put("/groups/g/policy", json={"offsets_retention_ms": 59_999})).status_code == 400


async def test_a_long_list_is_made_while_others_have_their_turn(http, broker):
    """For every hundred groups at most, the event loop goes round at least once."""
    await http.post("/topics", json={"name": topic_name("orders"), "num_partitions": 1})
    one = {LogId("orders", 0): OffsetAndMetadata(0)}
    for first in range(0, MANY, 500):
        commits = (commit_offsets(broker, f"g{first + number:05}", one, None, None) for number in range(500))
        await asyncio.gather(*commits)
    for path in ("/groups", "/rebalance/stats"):
        found = {}

        async def ask(path=path, found=found):
            found.update((await http.get(path)).json())

        assert await loop_passes_during(ask()) >= MANY // 100
        assert [group["group"] for group in found["groups"]] == [f"g{number:05}" for number in range(MANY)]
    assert (await broker_stats(broker)).partitions == 1
