"""Joining, sessions, limits, topics and patterns."""

import pytest

from goqueue.core.groups.assignment.pattern import TopicPattern
from goqueue.core.groups.state import members as members_module
from goqueue.core.groups.state.lifecycle import TRANSITIONS, GroupState, Lifecycle, Reason, Step
from goqueue.core.groups.state.members import Protocol
from goqueue.errors import GroupFull, InconsistentProtocol, InvalidRequest, UnknownGroup, UnknownMember
from goqueue.model.ids import InstantNs
from tests.unit.groups.scene import Scene, partitions


@pytest.fixture
def scene():
    return Scene(orders=4)


def test_a_stranger_is_unknown(scene):
    scene.join("first")
    for request in (
        lambda: scene.group.heartbeat("stranger", 1, now=scene.now()),
        lambda: scene.group.check_poll("stranger", 1, now=scene.now()),
        lambda: scene.group.leave("stranger", now=scene.now()),
        lambda: scene.group.assignment("stranger"),
        lambda: scene.group.readable("stranger"),
    ):
        with pytest.raises(UnknownMember):
            request()


def test_a_silent_member_is_removed_when_its_session_ends_and_not_before(scene):
    scene.join("first", session_ms=10_000)
    assert scene.group.next_deadline() == scene.now() + 10_000_000_000
    scene.clock.advance_ms(9_999)
    assert scene.expire() == []
    scene.clock.advance_ms(1)
    scene.expire()
    assert scene.group.state is GroupState.EMPTY
    assert scene.group.next_deadline() is None


@pytest.mark.parametrize(
    "sign",
    [
        lambda s: s.heartbeat("first"),
        lambda s: s.group.check_poll("first", 1, now=s.now()),
        lambda s: s.commit(1, *partitions("orders", 0), member="first"),
        lambda s: s.rejoin("first"),
    ],
    ids=["heartbeat", "poll", "commit", "join"],
)
def test_heartbeats_polls_commits_and_joins_keep_a_member_alive(scene, sign):
    scene.join("first", session_ms=10_000)
    for _ in range(3):
        scene.pass_time(8)
        sign(scene)
    assert "first" in scene.group
    assert scene.group.next_deadline() == scene.now() + 10_000_000_000


def test_the_earliest_deadline_is_that_of_the_member_seen_longest_ago(scene):
    scene.join("first", session_ms=30_000)
    scene.join("second", session_ms=20_000)
    scene.settle()
    scene.pass_time(15)
    scene.heartbeat("second")
    assert scene.group.next_deadline() == scene.now() + 15_000_000_000


def test_a_shorter_session_on_joining_again_counts_at_once(scene):
    scene.join("first", session_ms=30_000)
    scene.join("first", session_ms=1_000)
    assert scene.group.next_deadline() == scene.now() + 1_000_000_000
    assert scene.group.generation == 1


def test_a_clock_that_is_set_back_neither_ends_nor_prolongs_a_session(scene):
    scene.join("first")
    scene.clock.advance_ms(-3_600_000)
    scene.heartbeat("first")
    assert scene.expire() == []
    assert scene.group.next_deadline() == scene.now() + 30_000_000_000


def test_after_a_restart_every_session_starts_anew(scene):
    scene.join("first")
    scene.join("second")
    scene.clock.advance_ms(3_600_000)
    scene.restart()
    assert scene.expire() == []
    assert scene.group.next_deadline() == scene.now() + 30_000_000_000
    scene.settle()
    assert scene.reads("second") == partitions("orders", 2, 3)


def test_after_a_restart_a_member_has_its_sixty_seconds_again(scene):
    scene.join("first", session_ms=900_000)
    scene.join("second", session_ms=900_000)
    scene.clock.advance_ms(3_600_000)
    scene.restart()
    assert scene.group.next_deadline() == scene.now() + 60_000_000_000


def test_all_who_are_overdue_leave_in_one_generation(scene):
    for member in ("first", "second", "third"):
        scene.join(member)
    scene.pass_time(20)
    scene.heartbeat("third")
    scene.clock.advance_ms(15_000)
    generation = scene.group.generation
    scene.expire()
    assert scene.group.generation == generation + 1
    assert scene.reads("third") == partitions("orders", 0, 1, 2, 3)


def test_members_agree_on_protocol_and_assignor(scene):
    scene.join("first")
    with pytest.raises(InconsistentProtocol):
        scene.join("second", protocol=Protocol.EAGER)
    with pytest.raises(InconsistentProtocol):
        scene.join("second", assignor="range")
    scene.leave("first")
    scene.join("second", protocol=Protocol.EAGER)
    assert scene.group.describe().protocol is Protocol.EAGER


def test_a_member_that_names_no_assignor_uses_that_of_the_others(scene):
    scene.join("first", assignor="round_robin")
    scene.join("second")
    assert scene.group.describe().assignor == "round_robin"


def test_a_full_group_takes_nobody_new(scene, monkeypatch):
    monkeypatch.setattr("goqueue.core.groups.decisions.joining.MOST_MEMBERS", 2)
    scene.join("first")
    scene.join("second")
    with pytest.raises(GroupFull):
        scene.join("third")
    scene.rejoin("first")
    assert members_module.MOST_MEMBERS == 10_000


@pytest.mark.parametrize(
    "options",
    [
        {"topics": ()},
        {"topics": [f"t{n}" for n in range(1001)]},
        {"session_ms": 99},
        {"session_ms": 1_800_001},
        {"client_id": ""},
        {"client_id": "c" * 250},
        {"instance_id": ""},
        {"pattern": "("},
        {"pattern": "a" * 251},
    ],
)
def test_a_join_that_cannot_be_right_is_refused(scene, options):
    with pytest.raises(InvalidRequest):
        scene.join("first", **options)


def test_topics_of_several_names_and_a_pattern_are_all_read():
    scene = Scene(**{"orders": 1, "orders.dlq": 1, "payments": 2, "__internal": 1, "other": 1})
    scene.join("first", topics=["payments", "absent"], pattern=r"orders(\..*)?")
    assert {p.topic for p in scene.reads("first")} == {"payments", "orders", "orders.dlq"}


def test_a_pattern_leaves_internal_topics_alone_but_a_name_does_not():
    scene = Scene(__internal=1, plain=1)
    scene.join("first", topics=(), pattern=".*")
    assert {p.topic for p in scene.reads("first")} == {"plain"}
    scene.join("first", topics=["__internal"])
    scene.settle()
    assert {p.topic for p in scene.reads("first")} == {"__internal"}


def test_members_of_one_group_may_read_different_topics():
    scene = Scene(a=2, b=2)
    scene.join("first", topics=["a"])
    scene.join("second", topics=["a", "b"])
    scene.settle()
    assert scene.reads("first") == partitions("a", 0, 1)
    assert scene.reads("second") == partitions("b", 0, 1)


def test_a_topic_that_appears_later_is_read_from_then_on(scene):
    scene.join("first", topics=["orders", "later"], pattern="logs-.*")
    scene.refresh(orders=4, later=1, unrelated=5)
    assert len(scene.reads("first")) == 5
    scene.refresh(**{"orders": 4, "later": 1, "logs-1": 1})
    assert len(scene.reads("first")) == 6
    assert scene.group.describe().stats.last_reason is Reason.TOPICS_CHANGED


def test_new_partitions_are_shared_out_and_move_nothing(scene):
    scene.join("first")
    scene.join("second")
    scene.settle()
    scene.refresh(orders=8)
    assert scene.group.state is GroupState.STABLE
    assert set(partitions("orders", 0, 1)) < set(scene.reads("first"))
    assert len(scene.reads("first")) == len(scene.reads("second")) == 4


def test_a_change_of_topics_nobody_reads_changes_nothing(scene):
    scene.join("first")
    assert scene.refresh(orders=4, unrelated=9) == []


def test_a_topic_only_the_leaver_read_is_no_longer_the_groups(scene):
    scene.available = {"orders": 4, "extra": 2}
    scene.join("first", topics=["orders"])
    scene.join("second", topics=["extra"])
    scene.leave("second")
    assert scene.group.describe().topics == {"orders": 4}
    assert scene.refresh(orders=4, extra=3) == []


def test_the_partitions_of_a_deleted_topic_are_given_up_and_its_offsets_forgotten():
    scene = Scene(orders=2, gone=2)
    scene.join("first")
    scene.commit(5, *partitions("gone", 0), *partitions("orders", 0), member="first")
    scene.refresh(orders=2)
    assert set(scene.group.offsets) == set(partitions("orders", 0))
    assert scene.group.assignment("first").revoking == partitions("gone", 0, 1)
    scene.settle()
    assert scene.reads("first") == partitions("orders", 0, 1)
    assert scene.group.state is GroupState.STABLE


def test_another_subscription_of_a_member_starts_a_generation(scene):
    scene.available = {"orders": 4, "extra": 2}
    scene.join("first", topics=["orders"])
    scene.join("first", topics=["extra"])
    assert scene.group.generation == 2
    scene.settle()
    assert scene.reads("first") == partitions("extra", 0, 1)


def test_every_state_is_reached_and_left_only_by_the_table():
    reached = {GroupState.EMPTY} | set(TRANSITIONS.values())
    assert reached == set(GroupState)
    assert not [state for state, _ in TRANSITIONS if state is GroupState.DEAD]
    with pytest.raises(AssertionError):
        Lifecycle(GroupState.STABLE).die()
    assert {step for _, step in TRANSITIONS} == set(Step)


def test_a_deleted_group_answers_nobody(scene):
    scene.join("first")
    scene.leave("first")
    scene.do(lambda group: group.delete(now=scene.now()))
    assert scene.group.state is GroupState.DEAD
    for request in (
        lambda: scene.join("second"),
        lambda: scene.commit(1, *partitions("orders", 0)),
        lambda: scene.group.refresh({}, now=scene.now()),
        lambda: scene.group.pause(now=scene.now()),
        lambda: scene.group.delete(now=scene.now()),
    ):
        with pytest.raises(UnknownGroup):
            request()
    assert scene.group.expire(now=InstantNs(2**62)) == []


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("(a+)+b", "a" * 249),
        ("(a|a)*b", "a" * 249),
        ("(.*)(.*)(.*)(.*)(.*)b", "a" * 249),
        ("(a?){100}a{100}", "a" * 99),
    ],
)
def test_a_pattern_that_makes_backtracking_explode_is_answered_at_once(pattern, name):
    assert not TopicPattern(pattern).matches(name)


@pytest.mark.parametrize("pattern", ["a{300}", "(a{20}){20}", "(" * 30 + "a" + ")" * 30])
def test_a_pattern_too_large_once_written_out_is_refused(pattern):
    with pytest.raises(InvalidRequest):
        TopicPattern(pattern)


def test_repeating_nothing_very_often_takes_no_time():
    assert TopicPattern("(" * 18 + "(){99}" + "){99}" * 18 + "a").matches("a")
