"""The eager protocol: everybody stops, everybody comes back, then everything is given out."""

import pytest

from goqueue.core.groups.state.lifecycle import GroupState, Reason
from goqueue.core.groups.state.members import Protocol
from goqueue.errors import MemberFenced, StaleGeneration, UnknownMember
from goqueue.model.log import LogId
from tests.unit.groups.scene import Scene, partitions

EAGER = {"protocol": Protocol.EAGER}


@pytest.fixture
def two():
    scene = Scene(orders=4)
    scene.join("first", **EAGER)
    scene.join("second", **EAGER)
    return scene


def test_the_first_member_has_every_partition_at_once():
    scene = Scene(orders=3)
    scene.join("first", **EAGER)
    assert scene.reads("first") == partitions("orders", 0, 1, 2)
    assert scene.group.state is GroupState.STABLE


def test_nothing_is_assigned_until_all_members_are_back(two):
    assert two.reads("first") == two.reads("second") == ()
    assert two.group.owners == {}
    assert two.group.state is GroupState.REBALANCING
    two.heartbeat("second")
    assert two.reads("second") == ()
    two.rejoin("first")
    assert two.reads("first") == partitions("orders", 0, 1)
    assert two.reads("second") == partitions("orders", 2, 3)
    assert two.group.state is GroupState.STABLE
    assert two.group.generation == 2


def test_the_old_generation_is_refused_everywhere(two):
    now = two.now()
    for request in (
        lambda: two.group.heartbeat("first", 1, now=now),
        lambda: two.group.check_poll("first", 1, now=now),
        lambda: two.group.confirm_revoked("first", 1, (), now=now),
        lambda: two.commit(5, LogId("orders", 0), member="first", generation=1),
    ):
        with pytest.raises(StaleGeneration) as refused:
            request()
        assert "join the group again" in refused.value.hint


def test_a_member_is_back_also_with_a_heartbeat_of_the_new_generation(two):
    two.told["first"] = 2
    two.heartbeat("first")
    assert two.group.state is GroupState.STABLE


def test_a_commit_while_nobody_owns_anything_is_fenced(two):
    with pytest.raises(MemberFenced):
        two.commit(5, LogId("orders", 0), member="second")
    assert two.group.offsets == {}


def test_a_member_that_does_not_come_back_is_removed_with_its_session_and_its_refused_heartbeats_do_not_help(two):
    for _ in range(11):
        two.pass_time(3)
        if "first" in two.group:
            with pytest.raises(StaleGeneration):
                two.group.heartbeat("first", 1, now=two.now())
        two.rejoin("second")
    assert "first" not in two.group
    assert two.group.state is GroupState.STABLE
    assert two.reads("second") == partitions("orders", 0, 1, 2, 3)
    with pytest.raises(UnknownMember):
        two.group.heartbeat("first", 1, now=two.now())


def test_a_member_with_a_long_session_has_sixty_seconds_to_come_back():
    scene = Scene(orders=2)
    scene.join("first", session_ms=600_000, **EAGER)
    scene.join("second", session_ms=600_000, **EAGER)
    scene.pass_time(59)
    assert scene.group.state is GroupState.REBALANCING
    scene.pass_time(2)
    assert scene.group.describe().stats.last_reason is Reason.REVOCATION_OVERDUE
    scene.rejoin("second")
    assert scene.reads("second") == partitions("orders", 0, 1)


def test_another_generation_does_not_prolong_the_time_to_come_back():
    scene = Scene(orders=2)
    scene.join("first", session_ms=600_000, **EAGER)
    scene.join("second", session_ms=600_000, **EAGER)
    scene.pass_time(50)
    scene.join("third", session_ms=600_000, **EAGER)
    scene.pass_time(11)
    assert "first" not in scene.group
    assert "second" in scene.group


def test_coming_back_starts_no_new_generation(two):
    two.rejoin("first")
    assert two.rejoin("first") == []
    assert two.rejoin("second") == []
    assert two.group.generation == 2


def test_a_change_of_topics_stops_everybody_too(two):
    two.rejoin("first")
    two.refresh(orders=6)
    assert two.group.owners == {}
    two.rejoin("first")
    two.rejoin("second")
    assert len(two.group.owners) == 6


def test_an_eager_group_assigns_ranges_unless_told_otherwise(two):
    assert two.group.describe().assignor == "range"
