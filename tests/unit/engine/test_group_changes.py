"""Changes of one group that wait for each other."""

import asyncio

from goqueue.engine.groups import JoinRequest, delete_group, expire_members, join_group, leave_group, refresh_groups
from goqueue.engine.stream_names import GROUPS
from goqueue.engine.topics import create_topic
from goqueue.model.topic import TopicConfig
from tests.unit.engine.queue_scene import TOPIC, steps


async def test_a_group_that_is_deleted_while_topics_change_holds_up_nothing(open_broker):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, TopicConfig())
        await join_group(broker, "a", JoinRequest("client", topics=[TOPIC], member_id="one"))
        await leave_group(broker, "a", "one")
        await join_group(broker, "b", JoinRequest("client", topics=[TOPIC], member_id="two"))
        async with broker.state_log.owner(GROUPS, "a").lock:
            changes = [asyncio.ensure_future(delete_group(broker, "a")), asyncio.ensure_future(refresh_groups(broker))]
            await steps(5)
            assert not any(one.done() for one in changes)
        await asyncio.gather(*changes)
        assert "a" not in broker.groups
        assert "b" in broker.groups


async def test_members_expire_also_when_a_group_is_deleted_meanwhile(open_broker, clock):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 1, TopicConfig())
        for name in ("a", "b"):
            await join_group(broker, name, JoinRequest("client", topics=[TOPIC], member_id="one"))
        clock.advance_ms(3_600_000)
        async with broker.state_log.owner(GROUPS, "a").lock:
            leaving = asyncio.ensure_future(leave_group(broker, "a", "one"))
            deleting = asyncio.ensure_future(delete_group(broker, "a"))
            await steps(5)
            expiring = asyncio.ensure_future(expire_members(broker))
            await steps(5)
        await asyncio.gather(leaving, deleting, expiring)
        assert not broker.groups.has_members
