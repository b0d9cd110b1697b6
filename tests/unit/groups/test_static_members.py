"""Static membership: a restart within the session moves nothing, and the twin left behind is fenced."""

import pytest

from goqueue.core.groups.state.lifecycle import GroupState
from goqueue.core.groups.state.members import Protocol
from goqueue.errors import InconsistentProtocol, InvalidRequest, MemberFenced, StaleGeneration, UnknownMember
from goqueue.model.log import LogId
from tests.unit.groups.scene import Scene, partitions


@pytest.fixture
def scene():
    scene = Scene(orders=4)
    scene.join("one-a", instance_id="one")
    scene.join("two-a", instance_id="two")
    scene.settle()
    return scene


def test_a_restarted_static_member_takes_over_its_partitions_without_a_new_generation(scene):
    before = scene.group.generation, scene.reads("one-a"), scene.reads("two-a")
    scene.pass_time(20)
    scene.join("one-b", instance_id="one")
    assert (scene.group.generation, scene.reads("one-b"), scene.reads("two-a")) == before
    assert scene.group.state is GroupState.STABLE
    assert scene.group.check_poll("one-b", scene.told["one-b"], now=scene.now()) == before[1]


def test_the_id_before_the_restart_is_fenced_and_cannot_join_again(scene):
    scene.join("one-b", instance_id="one")
    now, generation = scene.now(), scene.told["one-a"]
    for request in (
        lambda: scene.group.heartbeat("one-a", generation, now=now),
        lambda: scene.group.check_poll("one-a", generation, now=now),
        lambda: scene.commit(3, LogId("orders", 0), member="one-a"),
        lambda: scene.join("one-a", instance_id="one"),
        lambda: scene.group.leave("one-a", now=now),
    ):
        with pytest.raises(MemberFenced, match="one-b took the place of one-a"):
            request()


def test_only_the_last_id_before_a_restart_is_remembered(scene):
    scene.join("one-b", instance_id="one")
    scene.join("one-c", instance_id="one")
    with pytest.raises(MemberFenced):
        scene.heartbeat("one-b")
    with pytest.raises(UnknownMember):
        scene.heartbeat("one-a")


def test_the_new_process_cannot_use_generations_that_only_the_old_one_was_told(scene):
    scene.join("third")
    scene.join("one-b", instance_id="one")
    assert scene.told["one-b"] > scene.told["one-a"]
    with pytest.raises(StaleGeneration):
        scene.group.heartbeat("one-b", scene.told["one-a"], now=scene.now())


def test_leaving_does_not_take_a_static_members_partitions_until_its_session_ends(scene):
    assert scene.leave("one-a") == []
    for _ in range(9):
        scene.pass_time(3)
        scene.heartbeat("two-a")
    assert scene.reads("two-a") == partitions("orders", 2, 3)
    scene.pass_time(4)
    assert scene.reads("two-a") == partitions("orders", 0, 1, 2, 3)


def test_after_its_session_a_static_member_joins_like_any_other(scene):
    for _ in range(11):
        scene.pass_time(3)
        scene.heartbeat("two-a")
    with pytest.raises(UnknownMember):
        scene.heartbeat("one-a")
    scene.join("one-b", instance_id="one")
    scene.settle(["two-a", "one-b"])
    assert len(scene.reads("one-b")) == 2


def test_a_restart_during_a_rebalance_gives_up_what_the_old_process_was_asked_for(scene):
    scene.refresh(orders=6)
    scene.join("third")
    scene.heartbeat("two-a")
    scene.confirm("two-a")
    assert scene.group.describe().awaited == ("one-a",)
    scene.join("one-b", instance_id="one")
    assert scene.group.state is GroupState.STABLE
    assert [len(scene.reads(member)) for member in ("one-b", "two-a", "third")] == [2, 2, 2]


def test_a_restart_with_another_subscription_starts_a_generation(scene):
    scene.available = {"orders": 4, "payments": 2}
    scene.join("one-b", instance_id="one", topics=["payments"])
    scene.settle(["one-b", "two-a"])
    assert scene.reads("one-b") == partitions("payments", 0, 1)
    assert scene.reads("two-a") == partitions("orders", 0, 1, 2, 3)


def test_an_eager_static_member_comes_back_without_stopping_the_others():
    scene = Scene(orders=4)
    for member in ("one-a", "two-a"):
        scene.join(member, instance_id=member[:3], protocol=Protocol.EAGER)
    scene.rejoin("one-a")
    assert scene.group.state is GroupState.STABLE
    scene.join("two-b", instance_id="two", protocol=Protocol.EAGER)
    assert scene.group.state is GroupState.STABLE
    assert scene.reads("two-b") == partitions("orders", 2, 3)


def test_an_eager_static_member_that_restarts_counts_as_back():
    scene = Scene(orders=4)
    for member in ("one-a", "two-a"):
        scene.join(member, instance_id=member[:3], protocol=Protocol.EAGER)
    scene.join("one-b", instance_id="one", protocol=Protocol.EAGER)
    assert scene.group.state is GroupState.STABLE
    assert scene.reads("one-b") == partitions("orders", 0, 1)


def test_the_range_of_a_static_member_does_not_change_with_its_id():
    scene = Scene(orders=6)
    for member in ("one-z", "two-z", "six-z"):
        scene.join(member, instance_id=member[:3], assignor="range")
    scene.settle()
    before = scene.reads("two-z")
    scene.join("two-a", instance_id="two", assignor="range")
    scene.refresh(orders=6, payments=3)
    scene.settle(["one-z", "two-a", "six-z"])
    assert scene.reads("two-a") == before


def test_only_the_only_member_may_come_back_with_another_protocol(scene):
    with pytest.raises(InconsistentProtocol):
        scene.join("one-b", instance_id="one", protocol=Protocol.EAGER)
    lonely = Scene(orders=2)
    lonely.join("one-a", instance_id="one", protocol=Protocol.EAGER)
    lonely.join("one-b", instance_id="one")
    assert lonely.reads("one-b") == partitions("orders", 0, 1)
    lonely.join("one-c", instance_id="one", protocol=Protocol.EAGER)
    assert lonely.reads("one-c") == partitions("orders", 0, 1)
    assert lonely.group.state is GroupState.STABLE


def test_a_member_cannot_change_its_instance_id(scene):
    with pytest.raises(InvalidRequest):
        scene.join("one-a", instance_id="other")
    with pytest.raises(InvalidRequest):
        scene.join("one-a")
