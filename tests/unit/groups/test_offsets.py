"""Offsets: who may commit, what is kept, and what an operator can do with a group."""

import pytest

from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.core.groups.state.lifecycle import GroupState
from goqueue.errors import GroupNotEmpty, InvalidRequest, MemberFenced
from goqueue.model.log import LogId
from tests.unit.groups.scene import Scene, partitions

FIRST = LogId("orders", 0)


@pytest.fixture
def scene():
    return Scene(orders=2)


def test_a_commit_is_kept_with_its_metadata_and_time(scene):
    scene.join("first")
    scene.clock.advance_ms(5)
    scene.commit(42, FIRST, member="first", metadata="half of the file")
    kept = scene.group.offsets[FIRST]
    assert (kept.offset, kept.metadata, kept.committed_at) == (42, "half of the file", scene.now())


def test_a_commit_of_what_is_committed_already_writes_nothing(scene):
    scene.join("first")
    scene.commit(42, FIRST, member="first")
    assert scene.commit(42, FIRST, member="first") == []
    assert scene.commit(42, FIRST, member="first", metadata="x") != []
    assert scene.do(lambda group: group.commit({}, member_id="first", generation=1, now=scene.now())) == []


def test_a_member_may_commit_backwards(scene):
    scene.join("first")
    scene.commit(42, FIRST, member="first")
    scene.commit(7, FIRST, member="first")
    assert scene.group.offsets[FIRST].offset == 7


def test_without_members_anybody_may_commit_and_with_members_only_they(scene):
    scene.commit(3, FIRST)
    assert scene.group.offsets[FIRST].offset == 3
    assert scene.group.state is GroupState.EMPTY
    scene.join("first")
    with pytest.raises(GroupNotEmpty):
        scene.commit(4, FIRST)
    assert scene.group.offsets[FIRST].offset == 3


def test_a_member_commits_nothing_it_does_not_own_not_even_the_rest(scene):
    scene.join("first")
    with pytest.raises(MemberFenced, match="orders/7"):
        scene.commit(4, FIRST, LogId("orders", 7), member="first")
    assert scene.group.offsets == {}


def test_a_member_that_commits_names_its_generation(scene):
    scene.join("first")
    with pytest.raises(InvalidRequest):
        scene.group.commit({FIRST: OffsetAndMetadata(1)}, member_id="first", now=scene.now())


@pytest.mark.parametrize("wanted", [OffsetAndMetadata(-1), OffsetAndMetadata(1, "m" * 4097)])
def test_an_offset_that_cannot_be_right_is_refused(scene, wanted):
    with pytest.raises(InvalidRequest):
        scene.group.commit({FIRST: wanted}, now=scene.now())


def test_offsets_outlive_the_members(scene):
    scene.join("first")
    scene.commit(9, FIRST, member="first")
    scene.leave("first")
    scene.join("second")
    assert scene.group.offsets[FIRST].offset == 9


def test_offsets_are_reset_only_when_nobody_reads(scene):
    scene.join("first")
    with pytest.raises(GroupNotEmpty):
        scene.group.reset({FIRST: OffsetAndMetadata(0)}, now=scene.now())
    scene.leave("first")
    scene.do(lambda group: group.reset({FIRST: OffsetAndMetadata(0)}, now=scene.now()))
    assert scene.group.offsets[FIRST].offset == 0


def test_a_group_with_members_cannot_be_deleted(scene):
    scene.join("first")
    with pytest.raises(GroupNotEmpty):
        scene.group.delete(now=scene.now())


def test_a_paused_group_reads_nothing_but_keeps_its_partitions_and_commits(scene):
    scene.join("first")
    scene.do(lambda group: group.pause(now=scene.now()))
    assert scene.group.check_poll("first", 1, now=scene.now()) == ()
    assert scene.reads("first") == partitions("orders", 0, 1)
    assert scene.commit(1, FIRST, member="first")
    assert scene.do(lambda group: group.pause(now=scene.now())) == []
    scene.restart()
    assert scene.group.is_paused
    scene.do(lambda group: group.resume(now=scene.now()))
    assert scene.group.check_poll("first", 1, now=scene.now()) == partitions("orders", 0, 1)
    assert scene.do(lambda group: group.resume(now=scene.now())) == []


def test_offsets_of_topics_that_are_gone_are_forgotten_also_without_members(scene):
    scene.commit(3, FIRST, LogId("other", 1))
    scene.refresh(orders=2)
    assert set(scene.group.offsets) == {FIRST}
