"""What was confirmed on any path is there, on every path, after the broker was killed and after it was restarted."""

import asyncio

import pytest

from goqueue.model.log import LogId
from tests.behaviour.path import Ability, Out
from tests.behaviour.paths import PATHS, able, refused
from tests.behaviour.serving import running_server

CHOSEN = {"cleanup": "compact,delete", "retention_ms": 3_600_000, "max_value_bytes": 4096}
DURABILITIES = ("memory", "fsync")


async def live(path, name):
    """Make topics, publish, join and commit; returns everything that can be seen of it."""
    try:
        await path.create_topic(name, 2, **CHOSEN)
        await path.alter_topic(name, retention_ms=5000)
        await path.create_topic(f"{name}-gone")
        await path.delete_topic(f"{name}-gone")
        for durability in DURABILITIES:
            topic = f"{name}-{durability}"
            # What is asked for in the request counts, not what the topic is set to.
            await path.create_topic(topic, 2, durability="memory" if durability == "fsync" else "fsync")
            for number in range(0, 40, 8):
                records = [Out(b"%d" % step, b"key", (("h", b"v"),), 4, step % 2) for step in range(number, number + 8)]
                await path.publish(topic, records, durability=durability)
        members = await gather(path, name) if Ability.MEMBERS in path.abilities else []
        return await seen(path, name), members
    finally:
        await path.close()


async def gather(path, name):
    """Two members that have settled, with a commit each."""
    members = [await path.join(name, [f"{name}-fsync"]) for _ in range(2)]
    for _ in range(3):
        members = [await path.heartbeat(name, one, one.partitions - one.revoke) for one in members]
    for one in members:
        await path.commit(name, dict.fromkeys(one.partitions, 7), one)
    return members


async def seen(path, name):
    return {
        "topics": [one for one in await path.topics() if one.startswith(name)],
        "facts": [await path.topic(name), *[await path.topic(f"{name}-{one}") for one in DURABILITIES]],
        "records": [await path.read(f"{name}-{one}", number) for one in DURABILITIES for number in range(2)],
        "ends": [await path.ends(f"{name}-{one}") for one in DURABILITIES],
        "committed": await path.committed(name),
    }


@pytest.fixture(scope="module")
def survived(tmp_path_factory):
    """The broker, and what every path saw before it was killed and then stopped."""
    with running_server(tmp_path_factory.mktemp("survival") / "broker") as server:
        lives = {name: asyncio.run(live(kind(server), name)) for name, kind in PATHS.items()}
        server.crash_and_restart()
        server.restart()
        yield server, lives


@pytest.fixture
async def path(request, survived):
    made = PATHS[request.param](survived[0])
    yield made
    await made.close()


over_all = pytest.mark.parametrize("path", able(Ability.TOPICS, Ability.RECORDS, Ability.GROUPS), indirect=True)
over_members = pytest.mark.parametrize("path", able(Ability.MEMBERS), indirect=True)


@over_all
@pytest.mark.parametrize("life", PATHS)
async def test_topics_records_and_offsets_are_as_they_were(path, survived, life):
    before, _ = survived[1][life]
    assert await seen(path, life) == before
    assert before["topics"] == sorted([life, *(f"{life}-{one}" for one in DURABILITIES)])
    assert [one.value for one in before["records"][0]] == [b"%d" % number for number in range(0, 40, 2)]
    assert before["ends"] == [[(0, 20)] * 2] * 2


@over_all
async def test_offsets_go_on_where_they_ended(path, survived, request):
    name = f"{request.node.callspec.params['path']}-memory"
    end = (await path.ends(name))[1][1]
    assert await path.publish(name, [Out(b"next", partition=1)]) == [(1, end)]


@over_members
async def test_members_and_generations_are_as_they_were(path, survived, request):
    name = request.node.callspec.params["path"]
    _, members = survived[1][name]
    assert [await path.heartbeat(name, one, one.partitions) for one in members] == members
    assert await path.committed(name) == {LogId(f"{name}-fsync", number): 7 for number in range(2)}
    for wrong in (members[0].generation + 1, members[0].generation - 2):
        with refused("stale_generation"):
            await path.heartbeat(name, members[0]._replace(generation=wrong))
    with refused("stale_generation"):
        await path.commit(name, {min(members[0].partitions): 8}, members[0]._replace(generation=99))
