"""Whatever members ask for, every partition has one reader, loads are even, and sticky moves no more than it must."""

from collections import Counter
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.groups.assignment.assignors import (
    ASSIGNORS,
    Assignor,
    assign_range,
    assign_round_robin,
    assign_sticky,
)
from goqueue.model.log import LogId

MEMBERS = [f"member-{number}" for number in range(8)]
TOPICS = ["alpha", "beta", "gamma", "delta"]

every_assignor = pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=list(ASSIGNORS))
topics_with_counts = st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 12), max_size=4)
any_topics = st.lists(st.sampled_from([*TOPICS, "absent"]), unique=True, max_size=4).map(tuple)
some_members = st.lists(st.sampled_from(MEMBERS), unique=True, min_size=1)


@st.composite
def any_subscriptions(draw):
    return {member: draw(any_topics) for member in draw(some_members)}


@st.composite
def equal_subscriptions(draw):
    wanted = draw(any_topics)
    return dict.fromkeys(draw(some_members), wanted)


@st.composite
def earlier(draw):
    """An assignment of any kind: also to members that are gone, and of partitions that never were."""
    partitions = st.builds(LogId, st.sampled_from([*TOPICS, "gone"]), st.integers(0, 14))
    return draw(st.dictionaries(partitions, st.sampled_from([*MEMBERS, "departed"]), max_size=40))


def wanted_partitions(subscriptions, topics):
    read = set().union(*subscriptions.values())
    return {LogId(topic, number) for topic, count in topics.items() if topic in read for number in range(count)}


def loads(subscriptions, assigned):
    counts = Counter(assigned.values())
    return {member: counts[member] for member in subscriptions}


def kept(previous, assigned):
    return sum(assigned.get(partition) == member for partition, member in previous.items())


@every_assignor
@given(subscriptions=any_subscriptions(), topics=topics_with_counts, previous=earlier())
def test_every_partition_of_a_subscribed_topic_goes_to_exactly_one_of_its_subscribers(
    assign, subscriptions, topics, previous
):
    assigned = assign(subscriptions, topics, previous)
    assert assigned.keys() == wanted_partitions(subscriptions, topics)
    assert all(partition.topic in subscriptions[member] for partition, member in assigned.items())


@every_assignor
@given(subscriptions=equal_subscriptions(), topics=topics_with_counts, previous=earlier())
def test_members_with_equal_subscriptions_differ_by_one_partition_at_most(assign, subscriptions, topics, previous):
    counts = loads(subscriptions, assign(subscriptions, topics, previous)).values()
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("assign", [assign_range, assign_round_robin])
@given(subscriptions=any_subscriptions(), topics=topics_with_counts)
def test_the_subscribers_of_each_topic_differ_by_one_of_its_partitions_at_most(assign, subscriptions, topics):
    assigned = assign(subscriptions, topics, {})
    for topic in topics:
        readers = [member for member, wanted in subscriptions.items() if topic in wanted]
        counts = Counter(member for partition, member in assigned.items() if partition.topic == topic)
        assert not readers or max(counts[m] for m in readers) - min(counts[m] for m in readers) <= 1


@every_assignor
@given(subscriptions=any_subscriptions(), topics=topics_with_counts, previous=earlier(), data=st.data())
def test_the_order_in_which_topics_and_earlier_owners_are_listed_does_not_matter(
    assign, subscriptions, topics, previous, data
):
    shuffled_topics = dict(data.draw(st.permutations(list(topics.items()))))
    shuffled_previous = dict(data.draw(st.permutations(list(previous.items()))))
    once = assign(subscriptions, topics, previous)
    assert assign(subscriptions, shuffled_topics, shuffled_previous) == once
    assert assign(dict(subscriptions), dict(topics), dict(previous)) == once


@given(subscriptions=any_subscriptions(), topics=topics_with_counts)
def test_range_gives_each_member_one_contiguous_range_of_a_topic(subscriptions, topics):
    assigned = assign_range(subscriptions, topics, {})
    for topic in topics:
        owners = [assigned[LogId(topic, n)] for n in range(topics[topic]) if LogId(topic, n) in assigned]
        changes = sum(left != right for left, right in pairwise(owners))
        assert changes == max(0, len(set(owners)) - 1)


@given(subscriptions=equal_subscriptions(), topics=topics_with_counts, previous=earlier())
def test_sticky_takes_away_no_more_partitions_than_evenness_demands(subscriptions, topics, previous):
    assigned = assign_sticky(subscriptions, topics, previous)
    possible = {p: m for p, m in previous.items() if p in assigned and m in subscriptions}
    size, leftover = divmod(len(assigned), len(subscriptions))
    counts = Counter(possible.values()).values()
    over = [count - size for count in counts if count > size]
    least_moves = sum(over) - min(leftover, len(over))
    assert len(possible) - kept(possible, assigned) == least_moves


@given(subscriptions=any_subscriptions(), topics=topics_with_counts, previous=earlier())
def test_sticky_moves_nothing_when_nothing_changed(subscriptions, topics, previous):
    assigned = assign_sticky(subscriptions, topics, previous)
    assert assign_sticky(subscriptions, topics, assigned) == assigned


@given(
    subscriptions=st.dictionaries(st.sampled_from(MEMBERS[:4]), any_topics, min_size=1),
    topics=st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 2), max_size=3),
    data=st.data(),
)
def test_sticky_is_as_even_as_the_subscriptions_allow(subscriptions, topics, data):
    """Against every assignment there is: the same loads, from the largest to the smallest."""
    partitions = sorted(wanted_partitions(subscriptions, topics))
    owners = st.lists(st.sampled_from(MEMBERS[:4]), min_size=len(partitions), max_size=len(partitions))
    previous = dict(zip(partitions, data.draw(owners), strict=True))
    takers = [[m for m, wanted in subscriptions.items() if p.topic in wanted] for p in partitions]

    def shape(owners):
        counts = Counter(owners)
        return sorted((counts[member] for member in subscriptions), reverse=True)

    best = min(shape(owners) for owners in product(*takers))
    assert shape(assign_sticky(subscriptions, topics, previous).values()) == best


@given(members=some_members, topics=topics_with_counts, data=st.data())
def test_when_one_member_joins_or_leaves_sticky_moves_only_its_share(members, topics, data):
    subscriptions = {member: tuple(TOPICS) for member in members}
    before = assign_sticky(subscriptions, topics, {})
    after = assign_sticky({**subscriptions, "newcomer": tuple(TOPICS)}, topics, before)
    assert all(owner in (before[partition], "newcomer") for partition, owner in after.items())
    if len(members) > 1:
        leaver = data.draw(st.sampled_from(members))
        rest = {member: wanted for member, wanted in subscriptions.items() if member != leaver}
        after = assign_sticky(rest, topics, before)
        assert all(after[partition] == owner for partition, owner in before.items() if owner != leaver)


def test_members_who_cannot_relieve_each_other_do_not_keep_others_from_it():
    subscriptions = {"alone": ("alpha",), "burdened": ("beta",), "idle": ("beta",)}
    topics = {"alpha": 4, "beta": 4}
    previous = {LogId("beta", number): "burdened" for number in range(4)}
    assert loads(subscriptions, assign_sticky(subscriptions, topics, previous)) == {
        "alone": 4,
        "burdened": 2,
        "idle": 2,
    }


def test_a_partition_is_passed_on_through_a_member_in_between():
    subscriptions = {"a": ("x",), "b": ("x", "y"), "c": ("y",)}
    previous = {LogId("x", 0): "a", LogId("x", 1): "a", LogId("y", 0): "b"}
    assert loads(subscriptions, assign_sticky(subscriptions, {"x": 2, "y": 1}, previous)) == {"a": 1, "b": 1, "c": 1}


def test_the_assignors_are_known_by_their_names():
    assert {Assignor(name): ASSIGNORS[name] for name in ("sticky", "range", "round_robin")} == ASSIGNORS
