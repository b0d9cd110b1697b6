"""Topics are the same whichever way they are made and looked at."""

import msgspec
import pytest

from goqueue.model.topic import TopicConfig, hash_ranges
from tests.behaviour.path import Ability, Out
from tests.behaviour.paths import between_paths, over, refused

DEFAULTS = msgspec.json.decode(msgspec.json.encode(TopicConfig()))
CHOSEN = {
    "durability": "memory",
    "cleanup": "compact",
    "retention_ms": 3_600_000,
    "retention_bytes": 1 << 30,
    "delete_retention_ms": 1000,
    "max_value_bytes": 4096,
}
BAD_NAMES = ["", ".", "..", "../../esc", "a/b", "a b", "ä", "x" * 250, "nul\0", "new\n", "a\\b", "%2e", "__own"]


@over(Ability.TOPICS)
async def test_a_topic_has_three_partitions_and_the_usual_settings_unless_told_otherwise(path, name):
    made = await path.create_topic(name)
    assert (made.name, made.partitions, made.epoch, made.config) == (name, 3, 1, DEFAULTS)
    assert made.ranges == tuple((one.start, one.stop) for one in hash_ranges(3))
    assert await path.topic(name) == made
    assert await path.ends(name) == [(0, 0)] * 3


@over(Ability.TOPICS)
async def test_a_topic_has_the_partitions_and_settings_it_was_made_with(path, name):
    made = await path.create_topic(name, 7, **CHOSEN)
    assert (made.partitions, made.config) == (7, DEFAULTS | CHOSEN)
    assert await path.topic(name) == made


@between_paths(Ability.TOPICS)
async def test_a_topic_made_on_one_path_looks_the_same_on_another(path, other, name):
    made = await path.create_topic(name, 5, **CHOSEN)
    assert await other.topic(name) == made
    assert name in await other.topics()


@over(Ability.TOPICS)
async def test_a_name_is_taken_once(path, topic):
    with refused("topic_exists"):
        await path.create_topic(topic)


@over(Ability.TOPICS)
async def test_an_unknown_topic_is_called_so(path, name):
    with refused("unknown_topic"):
        await path.topic(name)
    with refused("unknown_topic"):
        await path.alter_topic(name, retention_ms=1000)
    with refused("unknown_topic"):
        await path.delete_topic(name)
    assert name not in await path.topics()


@over(Ability.TOPICS)
@pytest.mark.parametrize("bad", BAD_NAMES, ids=ascii)
async def test_a_name_that_is_not_harmless_is_refused_and_touches_no_disk(path, shared_broker, bad):
    def folders():
        return sorted(one.name for one in shared_broker.folder.rglob("*") if one.is_dir())

    before = folders()
    with refused("invalid_request"):
        await path.create_topic(bad)
    assert folders() == before


@over(Ability.TOPICS)
async def test_the_longest_name_is_fine(path, name):
    longest = name.ljust(249, "x")
    assert (await path.create_topic(longest, 1)).name == longest


@over(Ability.TOPICS)
@pytest.mark.parametrize("partitions", [0, -1, 10_001])
async def test_a_number_of_partitions_that_cannot_be_is_refused(path, name, partitions):
    with refused("invalid_request"):
        await path.create_topic(name, partitions)


@over(Ability.TOPICS)
@pytest.mark.parametrize(
    "wrong",
    [
        {"max_value_bytes": 0},
        {"max_value_bytes": 16 * 1024 * 1024 + 1},
        {"retention_ms": -1},
        {"retention_bytes": 0},
        {"delete_retention_ms": -1},
    ],
    ids=str,
)
async def test_settings_that_cannot_be_are_refused(path, topic, name, wrong):
    with refused("invalid_request"):
        await path.create_topic(f"{name}-more", 3, **wrong)
    with refused("invalid_request"):
        await path.alter_topic(topic, **wrong)
    assert (await path.topic(topic)).config == DEFAULTS


@over(Ability.TOPICS)
async def test_altering_changes_what_is_named_and_the_epoch(path, topic):
    changed = await path.alter_topic(topic, retention_ms=None, max_value_bytes=100)
    assert changed.config == DEFAULTS | {"retention_ms": None, "max_value_bytes": 100}
    assert changed.epoch == 2
    assert await path.topic(topic) == changed


@over(Ability.TOPICS, Ability.RECORDS)
async def test_a_deleted_topic_is_gone_and_its_name_begins_anew(path, topic):
    await path.publish(topic, [Out(b"old", partition=0)])
    await path.delete_topic(topic)
    assert topic not in await path.topics()
    with refused("unknown_topic"):
        await path.publish(topic, [Out(b"late")])
    await path.create_topic(topic, 2)
    assert await path.ends(topic) == [(0, 0), (0, 0)]


@between_paths(Ability.TOPICS)
async def test_a_topic_that_was_created_again_is_told_from_the_one_before_by_its_time(path, other, topic):
    before = await path.topic(topic)
    assert (await path.alter_topic(topic, max_value_bytes=100)).created_ns == before.created_ns
    await path.delete_topic(topic)
    await path.create_topic(topic, before.partitions)
    after = await path.topic(topic)
    assert after.created_ns > before.created_ns
    assert (await other.topic(topic)).created_ns == after.created_ns
    assert await path.read(topic, 0) == []
