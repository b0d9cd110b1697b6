"""Workers of a queue as operators see them: from their first poll until they go."""

import pytest

from goqueue.core.groups.state.members import DEFAULT_SESSION_MS
from goqueue.engine.group_views import ShownState, group_summaries
from goqueue.engine.groups import JoinRequest, join_group
from goqueue.engine.queue.settle import acknowledge
from goqueue.engine.workers import MOST_OF_CLIENT
from tests.unit.engine.queue_scene import GROUP, lease, made_topic, take


@pytest.fixture
async def broker(open_broker):
    async with open_broker() as opened:
        await made_topic(opened, b"a", b"b", b"c")
        yield opened


def shown(broker, most=100):
    found = broker.workers.of(broker.groups.group(GROUP), most)
    return [(one.consumer, one.protocol, one.address, one.in_flight) for one in found]


async def state(broker):
    (found,) = [one async for one in group_summaries(broker)]
    return found.state, found.workers


async def test_a_worker_is_shown_until_its_connection_closes(broker):
    client = broker.workers.client("http", "10.0.0.1:5")
    (part,) = await take(broker, limit=2, client=client)
    assert shown(broker) == [("worker", "http", "10.0.0.1:5", 2)]
    assert await state(broker) == (ShownState.WORKING, 1)
    await acknowledge(broker, lease(part))
    assert shown(broker) == [("worker", "http", "10.0.0.1:5", 0)]
    client.close()
    assert shown(broker) == []
    assert await state(broker) == (ShownState.EMPTY, 0)


async def test_a_worker_whose_connection_closed_is_shown_while_it_holds_leases(broker):
    client = broker.workers.client("http", "10.0.0.1:5")
    (part,) = await take(broker, limit=2, client=client)
    client.close()
    assert shown(broker) == [("worker", "", "", 2)]
    assert await state(broker) == (ShownState.WORKING, 1)
    await acknowledge(broker, lease(part))
    assert shown(broker) == []


async def test_a_worker_that_says_nothing_for_the_session_time_is_not_shown_unless_it_holds_leases(broker, clock):
    client = broker.workers.client("native", "10.0.0.1:5")
    (part,) = await take(broker, client=client)
    clock.advance_ms(DEFAULT_SESSION_MS + 1)
    assert shown(broker) == [("worker", "native", "10.0.0.1:5", 3)]
    await acknowledge(broker, lease(part))
    assert shown(broker) == []
    await take(broker, client=client)
    assert shown(broker) == [("worker", "native", "10.0.0.1:5", 0)]


async def test_workers_that_share_a_name_are_told_apart_by_their_connections(broker):
    for port in (5, 6):
        await take(broker, limit=1, client=broker.workers.client("http", f"10.0.0.1:{port}"))
    assert shown(broker) == [("worker", "http", "10.0.0.1:5", None), ("worker", "http", "10.0.0.1:6", None)]
    assert shown(broker, most=1) == [("worker", "http", "10.0.0.1:5", None)]
    assert await state(broker) == (ShownState.WORKING, 2)


async def test_of_one_connection_only_so_many_workers_are_remembered(broker):
    client = broker.workers.client("grpc", "10.0.0.1:5")
    for number in range(MOST_OF_CLIENT + 20):
        await take(broker, limit=1, consumer=f"worker-{number:03}", client=client)
    connected = [consumer for consumer, protocol, *_ in shown(broker, most=1000) if protocol]
    assert connected == [f"worker-{number:03}" for number in range(20, MOST_OF_CLIENT + 20)]


async def test_members_are_no_workers(broker):
    client = broker.workers.client("native", "10.0.0.1:5")
    (part,) = await take(broker, client=client)
    await acknowledge(broker, lease(part))
    await join_group(broker, GROUP, JoinRequest("one", topics=["orders"]))
    assert shown(broker) == []
    assert await state(broker) == (ShownState.STABLE, 0)


async def test_a_poll_that_is_refused_makes_no_worker(broker):
    client = broker.workers.client("native", "10.0.0.1:5")
    with pytest.raises(Exception, match="there is no topic"):
        await take(broker, topics=("nowhere",), client=client)
    assert GROUP not in broker.groups
    assert len(broker.workers) == 0
