"""Lanes lose nothing, keep their shares and starve nobody; the index is what a plain dict would be."""

from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.core.priority import drr
from goqueue.core.priority.drr import LaneScheduler
from goqueue.core.priority.lane_index import LaneIndex
from goqueue.core.priority.policy import LanePolicy
from goqueue.model.ids import InstantNs
from goqueue.model.priority import LANES, NORMAL

SECOND = 1_000_000_000
WEIGHTS = st.tuples(*[st.integers(1, 1000)] * LANES)
POLICIES = st.builds(LanePolicy, weights=WEIGHTS, strict=st.booleans())
WAITING = st.lists(st.integers(0, 3) | st.integers(0, 500), min_size=LANES, max_size=LANES)
LIMITS = st.integers(1, 5) | st.integers(1, 300)


def taken_of(plan) -> list[int]:
    counts = [0] * LANES
    for lane, count in plan:
        assert count > 0
        counts[lane] += count
    return counts


@given(POLICIES, st.lists(st.tuples(WAITING, LIMITS, st.integers(0, 40)), min_size=1, max_size=20))
def test_a_plan_takes_as_many_as_there_are_and_were_asked_for_and_no_more(policy, polls):
    scheduler, now = LaneScheduler(policy), 0
    for waiting, limit, seconds in polls:
        now += seconds * SECOND
        plan = scheduler.plan(waiting, limit, now=InstantNs(now))
        taken = taken_of(plan)
        assert all(count <= there for count, there in zip(taken, waiting, strict=True))
        assert sum(taken) == min(limit, sum(waiting))
        scheduler.served(waiting, plan, now=InstantNs(now))


BACKLOGS = st.lists(st.integers(0, 3) | st.integers(0, 100_000), min_size=LANES, max_size=LANES)


@given(POLICIES, st.lists(st.tuples(BACKLOGS, LIMITS, st.integers(0, 40), st.integers(0, 50)), min_size=1, max_size=20))
def test_a_plan_is_the_same_though_a_long_backlog_is_not_counted_to_its_end(policy, polls):
    exact, quick, now = LaneScheduler(policy), LaneScheduler(policy), 0
    for waiting, limit, seconds, more in polls:
        now += seconds * SECOND
        counted = [min(count, quick.enough(limit) + more) for count in waiting]
        plan = exact.plan(waiting, limit, now=InstantNs(now))
        assert quick.plan(counted, limit, now=InstantNs(now)) == plan
        exact.served(waiting, plan, now=InstantNs(now))
        quick.served(counted, plan, now=InstantNs(now))


DEFICITS = st.tuples(*[st.floats(-100, 100, width=32)] * LANES)


@given(POLICIES, DEFICITS, BACKLOGS.filter(any), st.integers(1, drr.ROUND_RECORDS))
def test_a_round_does_not_depend_on_more_than_a_lane_can_be_owed(policy, deficits, waiting, limit):
    enough = drr._most_owed(deficits, limit)
    counted = tuple(min(count, enough) for count in waiting)
    assert drr._round(policy.weights, deficits, counted, limit) == drr._round(
        policy.weights, deficits, tuple(waiting), limit
    )


@given(POLICIES, st.lists(st.tuples(WAITING, LIMITS), min_size=1, max_size=15))
def test_every_record_that_came_goes_exactly_once(policy, arrivals):
    scheduler, waiting, gone = LaneScheduler(policy), [0] * LANES, [0] * LANES
    came = [sum(arrived[lane] for arrived, _ in arrivals) for lane in range(LANES)]
    polls = iter(arrivals)
    for _ in range(len(arrivals) + -(-sum(came) // 100)):
        arrived, limit = next(polls, ([0] * LANES, 100))
        waiting = [there + new for there, new in zip(waiting, arrived, strict=True)]
        plan = scheduler.plan(waiting, limit, now=InstantNs(0))
        scheduler.served(waiting, plan, now=InstantNs(0))
        assert bool(plan) == any(waiting)
        for lane, count in plan:
            waiting[lane] -= count
            gone[lane] += count
    assert gone == came


@settings(max_examples=60)
@given(
    WEIGHTS | st.just((50, 25, 15, 7, 3)),
    st.lists(LIMITS, min_size=1, max_size=8),
    st.sets(st.integers(0, LANES - 1), min_size=1),
)
def test_under_backlog_the_shares_are_the_weights_for_polls_of_any_size(weights, limits, lanes):
    scheduler = LaneScheduler(LanePolicy(weights=weights))
    waiting = [10**9 if lane in lanes else 0 for lane in range(LANES)]
    served, polls = [0] * LANES, 0
    while polls < 300 or sum(served) < 1000:
        plan = scheduler.plan(waiting, limits[polls % len(limits)], now=InstantNs(0))
        scheduler.served(waiting, plan, now=InstantNs(0))
        served = [count + more for count, more in zip(served, taken_of(plan), strict=True)]
        polls += 1
    heaviness = sum(weights[lane] for lane in lanes)
    for lane in lanes:
        share = weights[lane] / heaviness
        assert abs(served[lane] / sum(served) - share) < 0.02
        # Much more than asked for: whatever the sizes of the polls, a lane is a few whole records off its share.
        assert abs(served[lane] - share * sum(served)) < LANES


@given(
    WEIGHTS,
    st.lists(st.tuples(LIMITS, st.integers(1, 300)), min_size=1, max_size=12),
)
def test_shares_hold_also_when_answers_are_cut_short(weights, polls):
    """What is cut off from one poll is made up for, up to a round."""
    scheduler = LaneScheduler(LanePolicy(weights=weights))
    waiting = [10**9] * LANES
    served = [0] * LANES
    for limit, room in polls * 5:
        taken = []
        for lane, count in scheduler.plan(waiting, limit, now=InstantNs(0)):
            count = min(count, room)
            room -= count
            served[lane] += count
            taken.append((lane, count))
        scheduler.served(waiting, taken, now=InstantNs(0))
    for lane in range(LANES):
        assert abs(served[lane] - weights[lane] / sum(weights) * sum(served)) < 110


@settings(max_examples=40)
@given(
    POLICIES,
    st.lists(st.tuples(WAITING, st.integers(1, 12), st.integers(0, 15)), min_size=15, max_size=40),
)
def test_no_lane_is_passed_over_for_longer_than_the_bound(policy, polls):
    scheduler, waiting, now = LaneScheduler(policy), [0] * LANES, 0
    since: list[int | None] = [None] * LANES
    for arrived, limit, seconds in polls:
        now += seconds * SECOND
        waiting = [there + new for there, new in zip(waiting, arrived, strict=True)]
        late = {lane: seen for lane, seen in enumerate(since) if seen is not None and now - seen >= 30 * SECOND}
        plan = scheduler.plan(waiting, limit, now=InstantNs(now))
        scheduler.served(waiting, plan, now=InstantNs(now))
        taken = taken_of(plan)
        missed = [lane for lane in late if not taken[lane]]
        # Only others that were late for as long may come before a lane that is.
        assert len(late) - len(missed) == min(limit, len(late))
        assert all(late[lane] >= late[other] for lane in missed for other in late if taken[other])
        for lane, count in enumerate(taken):
            waiting[lane] -= count
            if not waiting[lane]:
                since[lane] = None
            elif count or since[lane] is None:
                since[lane] = now


# --- the index

BATCHES = st.lists(
    st.lists(st.integers(0, 4), max_size=30)
    | st.integers(0, 4).flatmap(lambda lane: st.just([lane] * 40))
    | st.just([NORMAL] * 300)
    | st.just([1] * 3000),
    max_size=12,
)


@given(
    BATCHES,
    st.integers(0, 2**40) | st.just(65_530) | st.just(2**32 - 10),
    st.lists(st.tuples(st.integers(0, 5000), st.integers(-5, 5000), st.integers(1, 400)), max_size=6),
    st.integers(0, 4000),
    st.integers(0, 9000),
)
def test_the_index_is_what_a_plain_dict_would_be(batches, start, questions, forgotten, cut):
    index, model, end = LaneIndex(), {}, start
    for batch in batches:
        index.add(end, None if set(batch) <= {NORMAL} else bytes(batch))
        model.update(enumerate(batch, end))
        end += len(batch)
    index.forget_below(start + forgotten)
    index.forget_from(start + cut)
    model = {
        offset: priority if start + forgotten <= offset < start + cut else NORMAL for offset, priority in model.items()
    }
    restored = LaneIndex()
    restored.restore(index.snapshot())
    assert restored.snapshot() == index.snapshot()
    for first, length, limit in questions:
        first += start
        last = first + length
        lanes = [[o for o in range(first, last) if model.get(o, NORMAL) == lane] for lane in range(LANES)]
        for each in (index, restored):
            assert each.counts(first, last) == tuple(len(lane) for lane in lanes)
            for lane in range(LANES):
                assert each.count(lane, first, last) == len(lanes[lane])
                assert each.take(lane, first, last, limit) == lanes[lane][:limit]
            assert each.priority_of(first) == model.get(first, NORMAL)
