"""The cooperative protocol: only what moves is given up, and only then goes to its new owner."""

import pytest

from goqueue.core.groups.state.lifecycle import GroupState, Reason
from goqueue.errors import MemberFenced, StaleGeneration, UnknownMember
from goqueue.model.log import LogId
from tests.unit.groups.scene import Scene, partitions


@pytest.fixture
def scene():
    return Scene(orders=4)


@pytest.fixture
def two(scene):
    """Both joined, `first` not yet told that `second` shall have half."""
    scene.join("first")
    scene.join("second")
    return scene


def test_the_first_member_has_every_partition_at_once(scene):
    scene.join("first")
    answer = scene.group.assignment("first")
    assert (answer.generation, answer.state) == (1, GroupState.STABLE)
    assert answer.partitions == partitions("orders", 0, 1, 2, 3)
    assert answer.revoking == ()


def test_the_second_member_gets_its_share_and_the_group_becomes_stable(two):
    assert two.group.state is GroupState.REBALANCING
    assert two.group.awaited == {"first"}
    assert two.reads("second") == ()
    two.heartbeat("first")
    two.confirm("first")
    assert two.reads("first") == partitions("orders", 0, 1)
    assert two.reads("second") == partitions("orders", 2, 3)
    assert two.group.state is GroupState.STABLE


def test_a_partition_goes_to_its_new_owner_only_when_the_old_one_confirmed(two):
    two.heartbeat("first")
    two.heartbeat("second")
    assert two.reads("second") == ()
    two.confirm("first", partitions("orders", 3))
    assert two.reads("second") == partitions("orders", 3)
    assert two.group.state is GroupState.REBALANCING
    two.confirm("first", partitions("orders", 2))
    assert two.reads("second") == partitions("orders", 2, 3)


def test_partitions_that_do_not_move_are_read_on_through_the_whole_rebalance(two):
    staying = set(partitions("orders", 0, 1))
    seen = [set(two.reads("first"))]
    for step in (lambda: two.heartbeat("first"), lambda: two.confirm("first"), lambda: two.heartbeat("second")):
        step()
        seen.append(set(two.group.check_poll("first", two.told["first"], now=two.now())))
    assert all(staying <= each for each in seen)


def test_a_partition_that_shall_move_is_no_longer_delivered_to_its_old_owner_but_may_be_committed_by_it(two):
    assert two.group.check_poll("first", 1, now=two.now()) == partitions("orders", 0, 1)
    assert two.commit(7, LogId("orders", 3), member="first")
    assert two.group.offsets[LogId("orders", 3)].offset == 7


def test_a_heartbeat_that_no_longer_names_a_partition_gives_it_up(two):
    two.heartbeat("first")
    two.heartbeat("first", owned=partitions("orders", 0, 1, 2))
    assert two.reads("second") == partitions("orders", 3)


def test_a_heartbeat_sent_before_the_member_knew_of_the_question_does_not_answer_it(two):
    two.heartbeat("first", owned=())
    assert two.reads("second") == ()
    assert two.group.assignment("first").revoking == partitions("orders", 2, 3)
    two.heartbeat("first", owned=())
    assert two.reads("second") == partitions("orders", 2, 3)


def test_confirming_twice_or_what_nobody_asked_for_changes_nothing(two):
    two.heartbeat("first")
    two.confirm("first")
    assert two.confirm("first", partitions("orders", 0, 2, 3)) == []
    assert two.reads("first") == partitions("orders", 0, 1)


def test_a_member_that_never_confirms_is_removed_after_sixty_seconds_though_it_is_alive(two):
    for _ in range(19):
        two.heartbeat("first")
        two.heartbeat("second")
        two.pass_time(3)
    assert two.reads("second") == ()
    two.heartbeat("first")
    two.heartbeat("second")
    two.pass_time(3)
    assert two.reads("second") == partitions("orders", 0, 1, 2, 3)
    assert two.group.describe().stats.last_reason is Reason.REVOCATION_OVERDUE
    with pytest.raises(UnknownMember):
        two.heartbeat("first")


def test_a_question_asked_later_has_its_own_sixty_seconds(scene):
    scene.join("first", session_ms=600_000)
    scene.join("second", session_ms=600_000)
    scene.heartbeat("first")
    scene.pass_time(50)
    scene.confirm("first")
    scene.join("third", session_ms=600_000)
    scene.heartbeat("first")
    scene.heartbeat("second")
    assert scene.group.describe().awaited
    scene.pass_time(20)
    assert {"first", "second", "third"} <= {m.profile.member_id for m in scene.group.describe().members}
    scene.pass_time(41)
    assert scene.group.describe().stats.last_reason is Reason.REVOCATION_OVERDUE


def test_another_generation_does_not_prolong_the_sixty_seconds_of_an_earlier_question(scene):
    scene.join("first", session_ms=600_000)
    scene.join("second", session_ms=600_000)
    scene.heartbeat("first")
    scene.pass_time(50)
    scene.join("third", session_ms=600_000)
    scene.pass_time(11)
    assert "first" not in scene.group


def test_a_question_that_was_withdrawn_and_asked_again_has_sixty_seconds_anew(scene):
    scene.join("first", session_ms=600_000)
    scene.join("second", session_ms=600_000)
    scene.pass_time(50)
    scene.leave("second")
    scene.join("third", session_ms=600_000)
    scene.pass_time(50)
    assert "first" in scene.group


def test_what_a_removed_member_held_goes_to_those_who_waited_for_it(two):
    two.pass_time(20)
    two.heartbeat("second")
    two.pass_time(15)
    assert two.reads("second") == partitions("orders", 0, 1, 2, 3)
    assert two.group.state is GroupState.STABLE
    assert two.group.describe().stats.last_reason is Reason.SESSION_EXPIRED


def test_a_partition_whose_new_owner_dies_before_taking_it_stays_with_the_old_one(two):
    two.heartbeat("first")
    two.leave("second")
    assert two.reads("first") == partitions("orders", 0, 1, 2, 3)
    assert two.group.state is GroupState.STABLE


def test_a_member_may_lose_one_answer_but_not_two(two):
    two.do(lambda group: group.heartbeat("first", 1, now=two.now()))
    assert two.do(lambda group: group.heartbeat("first", 1, now=two.now())) == []
    two.join("third")
    two.do(lambda group: group.heartbeat("first", 1, now=two.now()))
    with pytest.raises(StaleGeneration):
        two.group.heartbeat("first", 1, now=two.now())
    with pytest.raises(StaleGeneration):
        two.group.check_poll("first", 1, now=two.now())
    with pytest.raises(StaleGeneration):
        two.commit(1, LogId("orders", 0), member="first", generation=1)


def test_a_generation_that_is_yet_to_come_is_refused(scene):
    scene.join("first")
    with pytest.raises(StaleGeneration):
        scene.group.heartbeat("first", 2, now=scene.now())
    with pytest.raises(StaleGeneration):
        scene.group.heartbeat("first", 0, now=scene.now())


def test_a_stale_member_joins_again_under_its_id_and_keeps_what_is_its_own(two):
    two.rejoin("first")
    assert two.reads("first") == partitions("orders", 0, 1)
    assert two.reads("second") == partitions("orders", 2, 3)
    assert two.group.generation == 2
    assert two.group.state is GroupState.STABLE


def test_a_commit_for_a_partition_that_went_to_another_member_is_fenced_and_changes_nothing(two):
    two.settle()
    before = two.group.snapshot()
    with pytest.raises(MemberFenced):
        two.commit(9, LogId("orders", 0), LogId("orders", 3), member="first")
    assert two.group.snapshot() == before


def test_a_heartbeat_that_changes_nothing_writes_nothing(two):
    two.settle()
    assert two.heartbeat("first") == []
    assert two.heartbeat("second", owned=partitions("orders", 2, 3)) == []


def test_members_beyond_the_number_of_partitions_wait_and_step_in():
    scene = Scene(orders=1)
    scene.join("first")
    scene.join("second")
    assert scene.group.state is GroupState.STABLE
    assert scene.reads("second") == ()
    scene.leave("first")
    assert scene.reads("second") == partitions("orders", 0)


def test_many_members_that_join_at_once_end_with_even_shares():
    scene = Scene(orders=10, payments=7)
    for number in range(5):
        scene.join(f"member-{number}")
    scene.settle()
    assert scene.group.state is GroupState.STABLE
    shares = [len(scene.reads(f"member-{number}")) for number in range(5)]
    assert sorted(shares) == [3, 3, 3, 4, 4]


def test_the_statistics_count_rebalances_their_duration_and_the_partitions_moved(two):
    two.clock.advance_ms(1500)
    two.heartbeat("first")
    assert two.group.describe().stats.last_duration_ms is None
    two.confirm("first")
    stats = two.group.describe().stats
    assert (stats.count, stats.last_reason, stats.last_duration_ms) == (2, Reason.MEMBER_JOINED, 1500)
    assert (stats.last_moved, stats.total_moved) == (2, 2)


def test_the_description_says_who_is_waited_for_and_what_is_promised_to_whom(two):
    view = two.group.describe()
    assert (view.leader_id, view.protocol, view.assignor) == ("first", "cooperative", "sticky")
    assert view.awaited == ("first",)
    first, second = view.members
    assert first.revoking == second.promised == partitions("orders", 2, 3)
    assert (first.epoch, second.epoch) == (1, 2)
