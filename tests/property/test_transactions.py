"""Transactions over several partitions, under fencing, expiry, decisions, refused writes and restarts.

The model holds whole logs as lists and the fate of every transaction in a dictionary; it says what a reader of
committed records sees.
"""

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from goqueue.core.transactions.coordinator import Coordinator
from goqueue.core.transactions.endings import TIME_IS_UP
from goqueue.core.transactions.events import CoordinatorEvent
from goqueue.core.transactions.outcomes import Closed, OutcomeEvent, Outcomes, Wrote
from goqueue.core.transactions.transaction import Pledge, State
from goqueue.errors import (
    AlreadyDecided,
    GoQueueError,
    InvalidRequest,
    ProducerFenced,
    TransactionConflict,
    TransactionEnded,
)
from tests.unit.core.transactions.scene import MS, START, restored, restored_outcomes

PARTITIONS = range(3)
NAMES = {"a": 11, "b": 12, "c": 13}
KEYS = ["k", "l", "m"]
WRITES = st.lists(st.tuples(st.sampled_from(PARTITIONS), st.integers(1, 3)), max_size=4)
OVER = {"committed", "aborted"}
MARKER = -1
PLAIN = 0


class Model:
    """A log is a list of transaction numbers, with 0 for plain records and -1 for markers."""

    def __init__(self):
        self.logs = {partition: [] for partition in PARTITIONS}
        self.durable = dict.fromkeys(PARTITIONS, 0)
        self.fate: dict[int, str] = {}
        self.owner: dict[int, tuple[int, int]] = {}
        self.key: dict[int, str] = {}
        self.deadline: dict[int, int] = {}
        self.pledges: dict[int, set[int]] = {}
        self.joined: dict[int, set[int]] = {}
        self.markers: dict[tuple[int, int], int] = {}
        self.epochs: dict[str, int] = {}
        self.decided: dict[str, set[int]] = {}

    def live(self):
        return [number for number, fate in self.fate.items() if fate not in OVER]

    def in_state(self, state):
        return [number for number, fate in self.fate.items() if fate == state]

    def open_of(self, producer_id):
        own = [n for n in self.live() if n not in self.key and self.owner[n][0] == producer_id]
        assert len(own) <= 1
        return own[0] if own else None

    def visible(self, partition):
        """Up to the first record of which it is not known for good what becomes of it."""
        end = self.durable[partition]
        seen = []
        for offset, number in enumerate(self.logs[partition][:end]):
            if number == MARKER:
                continue
            if number != PLAIN:
                if self.fate[number] not in OVER or self.markers[number, partition] >= end:
                    break
                if self.fate[number] == "aborted":
                    continue
            seen.append(offset)
        return seen


class Transactions(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.now = START
        self.model = Model()
        self.coordinator = Coordinator()
        self.outcomes = {partition: Outcomes() for partition in PARTITIONS}
        self.journal = []
        self.middle = (self.coordinator.snapshot(), [one.snapshot() for one in self.outcomes.values()])
        self.since_middle = 0

    # As the engine does it.

    def write(self, *events, here=()):
        """One entry: events of the coordinator, and (partition, event) for partitions."""
        events = [through_the_journal(event, CoordinatorEvent) for event in events if event is not None]
        here = [(partition, through_the_journal(event, OutcomeEvent)) for partition, event in here]
        self.journal.append((events, here))
        for event in events:
            self.coordinator.apply(event)
        for partition, event in here:
            self.outcomes[partition].apply(event)

    def markers(self, number, committed):
        model, found = self.model, []
        for part in self.coordinator.get(number).partitions:
            log = model.logs[part.partition]
            found.append((part.partition, Closed(number, committed, len(log))))
            model.markers[number, part.partition] = len(log)
            log.append(MARKER)
        return found

    def finish(self, number, committed, why=""):
        assert {part.partition for part in self.coordinator.get(number).partitions} == self.model.joined[number]
        event = self.coordinator.end(number, committed=committed, why=why, now=self.now)
        self.write(event, here=self.markers(number, committed))
        self.over(number, committed)

    def over(self, number, committed):
        self.model.fate[number] = "committed" if committed else "aborted"
        self.model.pledges.pop(number, None)

    def drawn(self, data, numbers):
        return data.draw(st.sampled_from(sorted(numbers)))

    @initialize()
    def enlist_one(self):
        self.enlist("a")

    @rule(name=st.sampled_from(sorted(NAMES)))
    def enlist(self, name):
        """A new instance: what the one before left open is aborted in the same entry."""
        producer_id = NAMES[name]
        epoch = self.model.epochs.get(name, -1) + 1
        enlisted = self.coordinator.enlist(name, producer_id, epoch, 300, self.now)
        left_open = self.coordinator.open_of(producer_id)
        assert left_open == self.model.open_of(producer_id)
        if left_open is None:
            self.write(enlisted)
        else:
            ended = self.coordinator.end(left_open, committed=False, why="fenced", now=self.now)
            self.write(ended, enlisted, here=self.markers(left_open, False))
            self.over(left_open, False)
        self.model.epochs[name] = epoch

    @rule(data=st.data(), places=WRITES)
    def begin(self, data, places):
        name = data.draw(st.sampled_from(sorted(self.model.epochs)))
        identity = NAMES[name], self.model.epochs[name]
        if self.model.open_of(identity[0]) is not None:
            with pytest.raises(TransactionConflict):
                self.coordinator.begin(*identity, self.now)
            return
        self.began(self.coordinator.begin(*identity, self.now), identity, places)

    @rule(
        key=st.sampled_from(KEYS),
        producer_id=st.sampled_from([21, 22]),
        timeout_ms=st.sampled_from([50, 5_000]),
        places=WRITES,
        is_prepared=st.booleans(),
    )
    def begin_part(self, key, producer_id, timeout_ms, places, is_prepared):
        if key in self.model.decided:
            with pytest.raises(AlreadyDecided):
                self.coordinator.begin_part(key, producer_id, timeout_ms, self.now)
            return
        event = self.coordinator.begin_part(key, producer_id, timeout_ms, self.now)
        self.model.key[event.number] = key
        self.began(event, (producer_id, 0), places)
        if is_prepared:
            self.prepare_one(event.number)

    def began(self, event, identity, places):
        assert event.number == len(self.model.fate) + 1
        self.write(event)
        self.model.fate[event.number] = "open"
        self.model.joined[event.number] = set()
        self.model.owner[event.number] = identity
        self.model.deadline[event.number] = event.at + event.timeout_ms * MS
        self.write_all(event.number, places)

    # Writing.

    @rule(partition=st.sampled_from(PARTITIONS), count=st.integers(1, 3))
    def write_plain_records(self, partition, count):
        self.model.logs[partition] += [PLAIN] * count

    @precondition(lambda self: self.model.in_state("open"))
    @rule(data=st.data(), places=WRITES)
    def write_records(self, data, places):
        self.write_all(self.drawn(data, self.model.in_state("open")), places)

    def write_all(self, number, places):
        for partition, count in places:
            log = self.model.logs[partition]
            self.coordinator.check(number, *self.model.owner[number])
            joined = self.coordinator.join(number, "t", partition)
            self.model.joined[number].add(partition)
            wrote = Wrote(number, len(log), count)
            self.write(joined, here=[(partition, wrote)])
            log += [number] * count

    @precondition(lambda self: self.model.in_state("open"))
    @rule(data=st.data(), partition=st.sampled_from(PARTITIONS))
    def join_without_a_record(self, data, partition):
        """There will be a marker, and nothing that it ends."""
        number = self.drawn(data, self.model.in_state("open"))
        self.write(self.coordinator.join(number, "t", partition))
        self.model.joined[number].add(partition)

    @precondition(lambda self: self.model.in_state("open"))
    @rule(data=st.data(), first=st.integers(0, 20), count=st.integers(1, 4))
    def pledge(self, data, first, count):
        number = self.drawn(data, self.model.in_state("open"))
        wanted = set(range(first, first + count))
        pledge = Pledge("g", "t", 0, 1, ((first, count),), "ack", 0)
        if any(wanted & taken for taken in self.model.pledges.values()):
            with pytest.raises(TransactionConflict):
                self.coordinator.pledge(number, pledge)
            return
        self.write(self.coordinator.pledge(number, pledge))
        self.model.pledges.setdefault(number, set()).update(wanted)

    # Ending.

    @precondition(lambda self: self.model.live())
    @rule(data=st.data(), committed=st.sampled_from([True, True, False]))
    def end(self, data, committed):
        number = self.drawn(data, self.model.live())
        if committed and number in self.model.key:
            with pytest.raises(TransactionConflict):
                self.coordinator.end(number, committed=True, why="", now=self.now)
            return
        self.finish(number, committed)

    @precondition(lambda self: any(n in self.model.key for n in self.model.live()))
    @rule(data=st.data())
    def prepare(self, data):
        self.prepare_one(self.drawn(data, [n for n in self.model.live() if n in self.model.key]))

    def prepare_one(self, number):
        prepared = self.coordinator.prepare(number, self.now)
        assert (prepared is None) is (self.model.fate[number] == "prepared")
        self.write(prepared)
        self.model.fate[number] = "prepared"

    @rule(data=st.data(), key=st.sampled_from(KEYS))
    def decide(self, data, key):
        ready = [n for n in self.model.in_state("prepared") if self.model.key[n] == key]
        named = data.draw(st.sets(st.sampled_from(ready))) if ready else set()
        if key in self.model.decided:
            self.decide_again(key, named)
            return
        others = {n for n in self.model.live() if self.model.key.get(n) == key} - named
        decision = self.coordinator.decide(key, named, self.now)
        assert (set(decision.committed), set(decision.aborted)) == (named, others)
        here = [mark for number in decision.committed for mark in self.markers(number, True)]
        here += [mark for number in decision.aborted for mark in self.markers(number, False)]
        self.write(*decision.events, here=here)
        for number in named | others:
            self.over(number, number in named)
        self.model.decided[key] = named

    def decide_again(self, key, named):
        before = self.model.decided[key]
        again = self.coordinator.decide(key, before, self.now)
        assert (again.events, set(again.committed)) == ((), before)
        if named != before:
            with pytest.raises(AlreadyDecided):
                self.coordinator.decide(key, named, self.now)

    @rule(step_ms=st.sampled_from([1, 10, 100]), is_swept=st.booleans())
    def time_passes(self, step_ms, is_swept):
        self.now += step_ms * MS
        overdue = self.coordinator.overdue(self.now, 100)
        assert set(overdue) == {n for n in self.model.live() if self.model.deadline[n] <= self.now}
        assert [self.model.deadline[n] for n in overdue] == sorted(self.model.deadline[n] for n in overdue)
        if is_swept:
            for number in overdue:
                self.finish(number, False, TIME_IS_UP)

    @rule(partition=st.sampled_from(PARTITIONS), data=st.data())
    def records_become_durable(self, partition, data):
        known = self.model.durable[partition]
        self.model.durable[partition] = data.draw(st.integers(known, len(self.model.logs[partition])))

    # Restarts.

    @rule()
    def take_a_snapshot(self):
        self.middle = (self.coordinator.snapshot(), [one.snapshot() for one in self.outcomes.values()])
        self.since_middle = len(self.journal)

    def recovered(self, from_the_start):
        coordinator, outcomes = Coordinator(), {partition: Outcomes() for partition in PARTITIONS}
        if not from_the_start:
            coordinator = restored(self.middle[0])
            outcomes = dict(zip(PARTITIONS, map(restored_outcomes, self.middle[1]), strict=True))
        for events, here in self.journal[0 if from_the_start else self.since_middle :]:
            for event in events:
                coordinator.apply(event)
            for partition, event in here:
                outcomes[partition].apply(event)
        return coordinator, outcomes

    @rule(from_the_start=st.booleans())
    def restart(self, from_the_start):
        """What was open is aborted, what was prepared waits."""
        self.coordinator, self.outcomes = self.recovered(from_the_start)
        for partition, log in self.model.logs.items():
            self.outcomes[partition].forget_from(len(log))
            self.model.durable[partition] = len(log)
        still_open = self.coordinator.open_numbers()
        assert still_open == self.model.in_state("open")
        for number in still_open:
            self.finish(number, False, "the broker restarted")

    # What always holds.

    @invariant()
    def a_reader_sees_committed_records_up_to_the_first_that_is_undecided(self):
        for partition, log in self.model.logs.items():
            outcomes = self.outcomes[partition]
            stable = outcomes.stable(self.model.durable[partition])
            hidden = outcomes.hidden(0, stable)
            seen = [offset for offset in range(stable) if offset not in hidden]
            assert seen == self.model.visible(partition)
            markers = {offset for offset, n in enumerate(log) if n == MARKER}
            uncommitted = {offset for offset, n in enumerate(log) if self.model.fate.get(n, "committed") != "committed"}
            aborted = {offset for offset, n in enumerate(log) if self.model.fate.get(n) == "aborted"}
            assert set(outcomes.hidden(0, len(log) + 5)) == uncommitted | markers
            assert set(outcomes.markers(0, len(log) + 5)) == markers
            assert set(outcomes.aborted()) == aborted
            assert {offset for offset in range(len(log) + 5) if outcomes.is_never(offset)} == aborted | markers

    @invariant()
    def every_transaction_is_in_the_one_state_it_should_be_in(self):
        fate = self.model.fate
        for number, expected in fate.items():
            live, ending = self.coordinator.get(number), self.coordinator.ending(number)
            assert (live is None) is not (ending is None)
            assert (live or ending).state is State(expected)
        stats = self.coordinator.stats()
        assert stats[:4] == tuple(
            len(self.model.in_state(state)) for state in ("open", "prepared", "committed", "aborted")
        )
        deadlines = [self.model.deadline[number] for number in self.model.live()]
        assert self.coordinator.next_deadline() == min(deadlines, default=None)

    @invariant()
    def nothing_that_ended_changes(self):
        for number in self.model.fate.keys() - self.model.live():
            committed = self.model.fate[number] == "committed"
            assert self.coordinator.end(number, committed=committed, why="", now=self.now) is None
            with pytest.raises(TransactionEnded):
                self.coordinator.end(number, committed=not committed, why="", now=self.now)
            with pytest.raises(TransactionEnded):
                self.coordinator.join(number, "t", 0)

    @invariant()
    def only_prepared_parts_of_a_key_can_be_chosen_under_it(self):
        for key in set(KEYS) - self.model.decided.keys():
            for number, fate in self.model.fate.items():
                if fate != "prepared" or self.model.key[number] != key:
                    with pytest.raises((TransactionConflict, TransactionEnded, InvalidRequest)):
                        self.coordinator.decide(key, [number], self.now)

    @invariant()
    def what_is_prepared_takes_nothing_more(self):
        for number in self.model.in_state("prepared"):
            for partition in PARTITIONS:
                with pytest.raises(TransactionConflict):
                    self.coordinator.join(number, "t", partition)

    @invariant()
    def only_the_owner_of_a_live_transaction_passes(self):
        for number in range(len(self.model.fate) + 2):
            for identity in [*((pid, epoch) for pid in (11, 12, 21) for epoch in range(3)), (99, 0)]:
                if number in self.model.live() and self.model.owner[number] == identity:
                    self.coordinator.check(number, *identity)
                else:
                    with pytest.raises(GoQueueError) as refusal:
                        self.coordinator.check(number, *identity)
                    assert refusal.value.hint

    @invariant()
    def a_fenced_instance_can_do_nothing(self):
        for name, newest in self.model.epochs.items():
            for identity in [(NAMES[name], epoch) for epoch in range(newest)]:
                with pytest.raises(ProducerFenced):
                    self.coordinator.begin(*identity, self.now)
                with pytest.raises(ProducerFenced):
                    self.coordinator.enlist(name, *identity, 300, self.now)
                for number in range(len(self.model.fate) + 2):
                    with pytest.raises(ProducerFenced):
                        self.coordinator.check(number, *identity)
                    with pytest.raises(ProducerFenced):
                        self.coordinator.fence(number, *identity)

    @invariant()
    def pledged_records_are_those_of_live_transactions(self):
        expected = set().union(*self.model.pledges.values())
        assert set(self.coordinator.pledged("g", "t", 0)) == expected

    @invariant()
    def what_is_open_in_a_partition_is_live(self):
        for partition, outcomes in self.outcomes.items():
            log = self.model.logs[partition]
            expected = {number: log.count(number) for number in self.model.live() if number in log}
            assert {number: outcomes.count(number) for number in outcomes.open_numbers()} == expected
            assert all(outcomes.first_offset(number) == log.index(number) for number in expected)

    @invariant()
    def replaying_from_the_start_and_from_the_middle_gives_the_same_state(self):
        for from_the_start in (True, False):
            coordinator, outcomes = self.recovered(from_the_start)
            assert coordinator.snapshot() == self.coordinator.snapshot()
            for partition, again in outcomes.items():
                again.stable(self.model.durable[partition])
                self.outcomes[partition].stable(self.model.durable[partition])
                assert again.snapshot() == self.outcomes[partition].snapshot()

    @invariant()
    def what_was_decided_stands(self):
        for key in KEYS:
            found = self.coordinator.remembered(key)
            assert (None if found is None else set(found.committed)) == self.model.decided.get(key)
            for number in () if found is None else found.committed:
                assert self.model.fate[number] == "committed"


def through_the_journal(event, kind):
    return msgspec.msgpack.decode(msgspec.msgpack.encode(event), type=kind)


TestTransactions = Transactions.TestCase
TestTransactions.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
