"""Members of groups: joining, heartbeats and commits, request by request."""

import asyncio

import pytest

from goqueue.model.log import LogId
from tests.behaviour.path import Ability, Assignment, Out
from tests.behaviour.paths import over, refused

over_members = over(Ability.TOPICS, Ability.RECORDS, Ability.GROUPS, Ability.MEMBERS)


@pytest.fixture
async def topic(path, name):
    await path.create_topic(name, 4)
    await path.publish(name, [Out(b"value", partition=number % 4) for number in range(20)])
    return name


def logs(topic, *numbers):
    return frozenset(LogId(topic, number) for number in numbers)


async def settle(path, group, *members):
    """Everybody says what it works on, and gives up what it is asked for."""
    for _ in range(3):
        members = [await path.heartbeat(group, told, told.partitions - told.revoke) for told in members]
    return members


@over_members
async def test_the_first_member_has_every_partition_at_once(path, topic):
    member = await path.join(topic, [topic], client_id="worker")
    assert member.partitions == logs(topic, 0, 1, 2, 3)
    assert member.generation == 1
    assert member.member_id.startswith("worker-")
    facts = await path.group(topic)
    assert (facts.state, facts.members) == ("Stable", {member.member_id: member.partitions})


@over_members
async def test_the_second_member_gets_its_share_when_the_first_has_given_it_up(path, topic):
    first = await path.join(topic, [topic])
    second = await path.join(topic, [topic])
    assert second.partitions == frozenset()
    assert (await path.group(topic)).state == "Rebalancing"
    told = await path.heartbeat(topic, first, first.partitions)
    assert (len(told.partitions), len(told.revoke)) == (2, 2)
    second = await path.heartbeat(topic, second, frozenset())
    assert second.partitions == frozenset()
    told = await path.heartbeat(topic, told, told.partitions)
    second = await path.heartbeat(topic, second, frozenset())
    assert (second.partitions, told.revoke) == (logs(topic, 0, 1, 2, 3) - told.partitions, frozenset())
    assert (await path.group(topic)).state == "Stable"


@over_members
async def test_a_member_that_leaves_hands_its_partitions_on_and_is_known_no_more(path, topic):
    first = await path.join(topic, [topic])
    second = await path.join(topic, [topic])
    first, second = await settle(path, topic, first, second)
    await path.leave(topic, second.member_id)
    (first,) = await settle(path, topic, first)
    assert first.partitions == logs(topic, 0, 1, 2, 3)
    with refused("unknown_member"):
        await path.heartbeat(topic, second)
    with refused("unknown_member"):
        await path.commit(topic, {LogId(topic, 0): 1}, second)
    with refused("unknown_member"):
        await path.leave(topic, second.member_id)


@over_members
async def test_a_heartbeat_that_waits_is_answered_when_the_assignment_changes(path, topic):
    first = await path.join(topic, [topic])
    waiting = asyncio.create_task(path.heartbeat(topic, first, first.partitions, wait_ms=3000))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    second = await path.join(topic, [topic])
    async with asyncio.timeout(1):
        first = await waiting
    assert len(first.revoke) == 2
    waiting = asyncio.create_task(path.heartbeat(topic, second, frozenset(), wait_ms=3000))
    await asyncio.sleep(0.1)
    async with asyncio.timeout(1):
        await path.heartbeat(topic, first, first.partitions)
        second = await waiting
    assert second.partitions == logs(topic, 0, 1, 2, 3) - first.partitions


@over_members
async def test_a_heartbeat_with_news_does_not_wait_and_the_next_one_ends_the_one_before(path, topic):
    first = await path.join(topic, [topic])
    await path.join(topic, [topic])
    async with asyncio.timeout(1):
        told = await path.heartbeat(topic, first, first.partitions, wait_ms=3000)
    assert len(told.revoke) == 2
    (told, _) = await settle(path, topic, told, await path.join(topic, [topic]))
    waiting = asyncio.create_task(path.heartbeat(topic, told, told.partitions, wait_ms=3000))
    await asyncio.sleep(0.1)
    async with asyncio.timeout(1):
        again = await path.heartbeat(topic, told, told.partitions)
        assert await waiting == again


@over_members
async def test_an_old_generation_is_refused(path, topic):
    member = await path.join(topic, [topic])
    ahead = member._replace(generation=99)
    with refused("stale_generation"):
        await path.heartbeat(topic, ahead)
    with refused("stale_generation"):
        await path.commit(topic, {LogId(topic, 0): 1}, ahead)
    others = [await path.join(topic, [topic]) for _ in range(3)]
    await settle(path, topic, member, *others)
    with refused("stale_generation"):
        await path.heartbeat(topic, member._replace(generation=0))
    with refused("stale_generation"):
        await path.commit(topic, {LogId(topic, 0): 1}, member._replace(generation=0))
    assert await path.committed(topic) == {}


@over_members
async def test_a_poll_is_fenced_like_everything_else(path, topic):
    member = await path.join(topic, [topic])
    assert len(await path.poll(topic, member)) == 20
    with refused("stale_generation"):
        await path.poll(topic, member._replace(generation=99))
    with refused("unknown_member"):
        await path.poll(topic, member._replace(member_id="nobody"))
    with refused("unknown_group"):
        await path.poll(f"{topic}-more", member)


@over_members
async def test_a_member_gets_nothing_of_what_it_is_to_give_up(path, topic):
    first = await path.join(topic, [topic])
    await path.join(topic, [topic])
    found = await path.poll(topic, first)
    told = await path.heartbeat(topic, first, first.partitions)
    assert {one.partition for one in found} == {log.partition for log in told.partitions}


@over_members
async def test_a_member_gets_nothing_of_what_went_to_another_while_it_waited(path, name):
    await path.create_topic(name, 2)
    first = await path.join(name, [name])
    waiting = asyncio.create_task(path.poll(name, first, wait_ms=20_000))
    await asyncio.sleep(0.1)
    await path.join(name, [name])
    told = await path.heartbeat(name, first, first.partitions)
    (moving,) = told.revoke
    await path.publish(name, [Out(b"not for the first", partition=moving.partition)])
    assert await waiting == []


@over_members
async def test_a_commit_for_a_partition_of_another_member_is_fenced_and_changes_nothing(path, topic):
    members = await settle(path, topic, await path.join(topic, [topic]), await path.join(topic, [topic]))
    mine, theirs = (min(one.partitions) for one in members)
    with refused("member_fenced"):
        await path.commit(topic, {mine: 1, theirs: 1}, members[0])
    assert await path.committed(topic) == {}
    await path.commit(topic, {mine: 1}, members[0])
    assert await path.committed(topic) == {mine: 1}


@over_members
async def test_a_commit_is_checked_against_the_log(path, topic):
    member = await path.join(topic, [topic])
    with refused("offset_out_of_range"):
        await path.commit(topic, {LogId(topic, 0): 6}, member)
    with refused("unknown_partition"):
        await path.commit(topic, {LogId(topic, 4): 0}, member)
    with refused("unknown_topic"):
        await path.commit(topic, {LogId(f"{topic}-more", 0): 0}, member)
    await path.commit(topic, {LogId(topic, 0): 5}, member)
    assert await path.committed(topic) == {LogId(topic, 0): 5}


@over_members
async def test_only_members_commit_in_a_group_that_has_some(path, topic):
    await path.commit(topic, {LogId(topic, 1): 2})
    assert await path.committed(topic) == {LogId(topic, 1): 2}
    await path.join(topic, [topic])
    with refused("group_not_empty"):
        await path.commit(topic, {LogId(topic, 1): 3})


@over_members
async def test_what_is_not_there_is_called_unknown(path, topic):
    nobody = Assignment("nobody", 1, frozenset())
    with refused("unknown_group"):
        await path.heartbeat(topic, nobody)
    with refused("unknown_group"):
        await path.leave(topic, "nobody")
    await path.join(topic, [topic])
    with refused("unknown_member"):
        await path.heartbeat(topic, nobody)
    with refused("unknown_member"):
        await path.leave(topic, "nobody")


@over_members
async def test_members_must_agree_on_protocol_and_assignor(path, topic):
    await path.join(topic, [topic], protocol="eager", assignor="range")
    with refused("inconsistent_protocol"):
        await path.join(topic, [topic], protocol="cooperative")
    with refused("inconsistent_protocol"):
        await path.join(topic, [topic], protocol="eager", assignor="sticky")


@over_members
async def test_a_join_that_cannot_be_right_is_refused(path, topic):
    with refused("invalid_request"):
        await path.join("not a name", [topic])
    with refused("invalid_request"):
        await path.join(topic, [])
    for session_ms in (1, 10**9):
        with refused("invalid_request"):
            await path.join(topic, [topic], session_ms=session_ms)
    with refused("invalid_request"):
        await path.join(topic, [], pattern="(unclosed")
    assert topic not in await path.groups()


@over_members
async def test_in_an_eager_group_everybody_stops_until_everybody_is_back(path, topic):
    first = await path.join(topic, [topic], protocol="eager")
    second = await path.join(topic, [topic], protocol="eager")
    assert second.partitions == frozenset()
    with refused("stale_generation"):
        await path.heartbeat(topic, first)
    first = await path.join(topic, [topic], protocol="eager", member_id=first.member_id)
    second = await path.heartbeat(topic, second)
    assert first.partitions | second.partitions == logs(topic, 0, 1, 2, 3)
    assert len(first.partitions) == len(second.partitions) == 2


@over_members
async def test_a_static_member_that_restarts_keeps_its_partitions_and_fences_its_earlier_self(path, topic):
    await path.join(topic, [topic], instance_id="one")
    before = await path.join(topic, [topic], instance_id="two")
    first = await path.join(topic, [topic], instance_id="one")
    await settle(path, topic, first, before)
    await path.leave(topic, before.member_id)
    after = await path.join(topic, [topic], instance_id="two")
    assert after.partitions == (await path.group(topic)).members[after.member_id]
    assert len(after.partitions) == 2
    assert after.member_id != before.member_id
    with refused("member_fenced"):
        await path.heartbeat(topic, before)


@over_members
async def test_a_pattern_takes_in_topics_made_later(path, topic):
    member = await path.join(topic, [], pattern=f"{topic}(-more)?")
    assert member.partitions == logs(topic, 0, 1, 2, 3)
    await path.create_topic(f"{topic}-more", 2)
    (member,) = await settle(path, topic, member)
    assert member.partitions == logs(topic, 0, 1, 2, 3) | logs(f"{topic}-more", 0, 1)
    await path.delete_topic(f"{topic}-more")
    (member,) = await settle(path, topic, member)
    assert member.partitions == logs(topic, 0, 1, 2, 3)


@over_members
@pytest.mark.parametrize("option", ["client_id", "instance_id"])
async def test_a_name_that_is_too_long_is_refused_and_nobody_joins(path, topic, option):
    with refused("invalid_request"):
        await path.join(topic, [topic], **{option: "x" * 201})
    with refused("unknown_group"):
        await path.group(topic)
    member = await path.join(topic, [topic], **{option: "x" * 200})
    assert member.partitions == logs(topic, 0, 1, 2, 3)
