"""Metrics of groups: lag in each topic, members and state."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import Metric

from goqueue.adapters.telemetry.bounded import Names, Sums
from goqueue.adapters.telemetry.families import OTHER, counter, gauge
from goqueue.adapters.telemetry.family import Family, Row
from goqueue.adapters.telemetry.head_ages import HeadAges
from goqueue.core.groups.state.lifecycle import GroupState
from goqueue.engine.broker import Broker
from goqueue.engine.group_load import GroupLoad, group_loads, group_places, is_watched
from goqueue.engine.group_views import shown_state
from goqueue.engine.slices import in_slices
from goqueue.model.priority import LANES, NORMAL

__all__ = ["FAMILIES", "GroupMetrics"]

PLACE = ("group", "topic")
PRIORITIES = ("critical", "high", "normal", "low", "background")

LAG = Family(
    "goqueue_consumer_lag_records",
    "gauge",
    "Records the group has before it in all partitions: from its offsets to the ends of logs, or in the queue those "
    "that are ready, retrying or leased; delayed ones are not among them",
    PLACE,
)
DELAYED = Family(
    "goqueue_consumer_delayed_records", "gauge", "Records in the queue of the group that are not due yet", PLACE
)
READY = Family(
    "goqueue_consumer_ready_records",
    "gauge",
    "Records in the queue that may be delivered, by priority; with several priorities, some new ones may be hidden",
    (*PLACE, "priority"),
)
IN_FLIGHT = Family("goqueue_consumer_in_flight_records", "gauge", "Records leased and not settled", PLACE)
RETRYING = Family("goqueue_consumer_retrying_records", "gauge", "Records that failed and wait to be tried again", PLACE)
OLDEST = Family(
    "goqueue_consumer_oldest_waiting_seconds",
    "gauge",
    "Age of the oldest record that waits for the group, 0 when none does; not read for `other`",
    PLACE,
)
SETTLED = Family("goqueue_consumer_settled_records", "counter", "Records the group is done with in the queue", PLACE)
MEMBERS = Family("goqueue_consumer_members", "gauge", "Members of the group; workers of a queue are none", ("group",))
WORKERS = Family(
    "goqueue_consumer_workers",
    "gauge",
    "Consumers that take from the queue of the group without being members",
    ("group",),
)
PAUSED = Family("goqueue_consumer_paused", "gauge", "1 while the group is given nothing", ("group",))
REBALANCING = Family("goqueue_consumer_rebalancing", "gauge", "1 while some member has yet to answer", ("group",))
REBALANCES = Family("goqueue_consumer_rebalances", "counter", "Rebalances since the group was made", ("group",))
GROUPS = Family("goqueue_consumer_groups", "gauge", "Groups, by state", ("state",))
FAMILIES = (
    LAG,
    DELAYED,
    READY,
    IN_FLIGHT,
    RETRYING,
    OLDEST,
    SETTLED,
    MEMBERS,
    WORKERS,
    PAUSED,
    REBALANCING,
    REBALANCES,
    GROUPS,
)

Place = tuple[str, str]


class _Shown:
    """One group in one topic, or all groups without a name."""

    def __init__(self) -> None:
        self.lag = self.delayed = self.in_flight = self.resting = 0
        self.ready = [0] * LANES
        self.oldest_s = 0.0
        self.is_queue = False

    def add(self, load: GroupLoad, oldest_s: float) -> None:
        self.lag += load.lag
        self.delayed += load.delayed
        self.in_flight += load.in_flight
        self.resting += load.resting
        self.ready = [mine + more for mine, more in zip(self.ready, load.ready, strict=True)]
        self.oldest_s = max(self.oldest_s, oldest_s)
        self.is_queue |= load.is_queue


class GroupMetrics:
    """Metrics of groups. `look` is called on the event loop, `families` after it, by any thread."""

    def __init__(self, broker: Broker, most: int) -> None:
        self._broker = broker
        self._ages = HeadAges(broker)
        self._places: Names[Place] = Names(most, (OTHER, OTHER))
        self._names: Names[str] = Names(most, OTHER)
        self._others: Sums[Place] = Sums(1)
        self._others_rebalanced: Sums[str] = Sums(1)
        self._shown: dict[Place, _Shown] = {}
        self._settled: dict[Place, int] = {}
        self._members: Counter[str] = Counter()
        self._workers: Counter[str] = Counter()
        self._paused: Counter[str] = Counter()
        self._rebalancing: Counter[str] = Counter()
        self._rebalances: Counter[str] = Counter()
        self._states: Counter[str] = Counter()

    async def look(self) -> None:
        """Read all groups; those without a name are only summed up, as there may be very many."""
        await self._look_at_groups()
        places: dict[Place, None] = {}
        async for place in group_places(self._broker):
            places[place] = None
        self._places.update(places)
        shown: dict[Place, _Shown] = {}
        settled: dict[Place, int] = {}
        named: list[GroupLoad] = []
        has_others = False
        async for load in group_loads(self._broker):
            place = (load.group, load.topic)
            if place in self._places:
                named.append(load)
                settled[place] = load.settled
                continue
            has_others = True
            shown.setdefault((OTHER, OTHER), _Shown()).add(load, 0.0)
            self._others.meet(place, [load.settled])
        self._others.finish()
        if has_others:
            settled[OTHER, OTHER] = self._others.totals[0]
        await self._ages.look(named)
        for load in named:
            shown.setdefault((load.group, load.topic), _Shown()).add(load, self._ages.oldest_s(load))
        self._shown, self._settled = shown, settled

    async def _look_at_groups(self) -> None:
        groups = {group.name: group async for group in in_slices(list(self._broker.groups)) if is_watched(group)}
        self._names.update(dict.fromkeys(groups))
        self._members, self._workers, self._paused = Counter(), Counter(), Counter()
        self._rebalancing, self._rebalances = Counter(), Counter()
        self._states = Counter(dict.fromkeys(("empty", "rebalancing", "stable", "working"), 0))
        has_others = False
        async for group in in_slices(groups.values()):
            is_named = group.name in self._names
            name = group.name if is_named else OTHER
            workers = self._broker.workers.count(group)
            self._members[name] += group.member_count
            self._workers[name] += workers
            self._paused[name] += group.is_paused
            self._rebalancing[name] += group.state is GroupState.REBALANCING
            self._states[shown_state(group, workers).lower()] += 1
            if is_named:
                self._rebalances[name] = group.rebalance_count
            else:
                has_others = True
                self._others_rebalanced.meet(group.name, [group.rebalance_count])
        self._others_rebalanced.finish()
        if has_others:
            self._rebalances[OTHER] = self._others_rebalanced.totals[0]

    def families(self) -> Iterator[Metric]:
        shown = list(self._shown.items())
        queues = [(place, one) for place, one in shown if one.is_queue]
        yield gauge(LAG, ((place, one.lag) for place, one in shown))
        yield gauge(DELAYED, ((place, one.delayed) for place, one in queues))
        yield gauge(READY, (row for place, one in queues for row in _by_priority(place, one)))
        yield gauge(IN_FLIGHT, ((place, one.in_flight) for place, one in queues))
        yield gauge(RETRYING, ((place, one.resting) for place, one in queues))
        yield gauge(OLDEST, ((place, one.oldest_s) for place, one in shown))
        yield counter(SETTLED, ((place, self._settled[place]) for place, _ in queues))
        yield gauge(MEMBERS, (((name,), count) for name, count in self._members.items()))
        yield gauge(WORKERS, (((name,), count) for name, count in self._workers.items()))
        yield gauge(PAUSED, (((name,), count) for name, count in self._paused.items()))
        yield gauge(REBALANCING, (((name,), count) for name, count in self._rebalancing.items()))
        yield counter(REBALANCES, (((name,), count) for name, count in self._rebalances.items()))
        yield gauge(GROUPS, (((state,), count) for state, count in self._states.items()))


def _by_priority(place: Place, one: _Shown) -> Iterator[Row]:
    """Rows by priority; most queues have normal records only, and then one row is enough."""
    for lane, ready in enumerate(one.ready):
        if ready or lane == NORMAL:
            yield (*place, PRIORITIES[lane]), ready
