"""Members that behave and members that do not, under a clock that jumps and a broker that restarts.

At no time may two members read one partition: counting what a member believes, not only what the broker thinks.
"""

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from goqueue.core.groups.assignment.assignors import Assignor
from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.core.groups.state.lifecycle import GroupState
from goqueue.core.groups.state.members import Protocol
from goqueue.errors import GroupNotEmpty, MemberFenced, StaleGeneration, UnknownMember
from goqueue.model.log import LogId
from tests.unit.groups.scene import Scene, restored

TOPICS = ["alpha", "beta", "gamma"]
SUBSCRIPTIONS = [
    {"topics": ["alpha"]},
    {"topics": ["alpha", "beta"]},
    {"topics": ["alpha", "beta"]},
    {"topics": ["gamma"], "pattern": "al.*"},
    {"topics": (), "pattern": ".*"},
]
REFUSALS = (UnknownMember, StaleGeneration, MemberFenced)


class Client:
    """A consumer process: what it was last told, and what it reads because of that."""

    def __init__(self, member_id, options):
        self.id = member_id
        self.options = options
        self.generation = 0
        self.told: list[int] = []
        self.reading: set[LogId] = set()
        self.asked: set[LogId] = set()
        self.is_stubborn = False
        self.is_running = True

    def is_told(self, answer, *, and_hears=True):
        """The broker answered; whether the answer arrives is another matter."""
        if self.told[-1:] != [answer.generation]:
            self.told.append(answer.generation)
        if and_hears:
            self.hears(answer)

    def hears(self, answer):
        """Takes what it is given at once, and gives up later what it is asked for."""
        self.generation = answer.generation
        self.reading = set(answer.partitions) | (self.reading & set(answer.revoking))
        self.asked = set(answer.revoking)


class GroupOfClients(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.scene = Scene(alpha=4, beta=3)
        self.clients: dict[str, Client] = {}
        self.next_number = 0
        self.protocol = Protocol.COOPERATIVE
        self.assignor = Assignor.STICKY
        self.offsets: dict[LogId, int] = {}
        self.middle = self.scene.group.snapshot()
        self.since_middle = 0

    @initialize(protocol=st.sampled_from(Protocol), assignor=st.sampled_from(Assignor))
    def choose(self, protocol, assignor):
        self.protocol, self.assignor = protocol, assignor

    # Commands, each with what must hold for every one of them

    def do(self, decide, *, leaves_members=False):
        """Decide on the live group and on one restored from its snapshot: they must agree."""
        group = self.scene.group
        kept_before = {member.profile.member_id: set(member.partitions) for member in group.describe().members}
        generation = group.generation
        if not leaves_members:
            twin = restored(group.snapshot())
            twin.start_sessions(now=self.scene.now())
            expected = self.outcome(lambda: decide(twin))
            assert expected == self.outcome(lambda: decide(group))
        events = self.scene.do(decide)
        assert group.generation in (generation, generation + 1)
        if self.protocol is Protocol.COOPERATIVE:
            for member_id, partitions in kept_before.items():
                held = {p for p, owner in group.owners.items() if owner == member_id}
                renamed = {p for p, owner in group.owners.items() if p in partitions and owner.endswith("'")}
                assert member_id not in group or partitions <= held | renamed, (
                    "a partition left without being asked for"
                )
        return events

    @staticmethod
    def outcome(decide):
        try:
            return decide()
        except REFUSALS as refusal:
            return type(refusal)

    def now(self):
        return self.scene.now()

    def pick(self, data, wanted=lambda client: True):
        return data.draw(st.sampled_from([client for client in self.clients.values() if wanted(client)]))

    def send_join(self, client, *, answer_arrives=True):
        """A process that joins reads nothing."""
        client.reading, client.asked = set(), set()
        available = self.scene.available
        now = self.now()
        self.do(
            lambda group: group.join(
                client.id,
                "client",
                available=available,
                now=now,
                protocol=self.protocol,
                assignor=self.assignor,
                **client.options,
            )
        )
        client.is_told(self.scene.group.assignment(client.id), and_hears=answer_arrives)

    def send_heartbeat(self, client, *, names_owned=False, answer_arrives=True):
        owned = set(client.reading) if names_owned else None
        now = self.now()
        try:
            self.do(lambda group: group.heartbeat(client.id, client.generation, owned=owned, now=now))
        except StaleGeneration:
            self.send_join(client)
        except (UnknownMember, MemberFenced):
            self.stop(client)
        else:
            client.is_told(self.scene.group.assignment(client.id), and_hears=answer_arrives)

    def give_up(self, client):
        client.reading -= client.asked

    def send_confirmation(self, client):
        self.give_up(client)
        asked, now = client.asked, self.now()
        try:
            self.do(lambda group: group.confirm_revoked(client.id, client.generation, asked, now=now))
        except StaleGeneration:
            self.send_join(client)
        except (UnknownMember, MemberFenced):
            self.stop(client)
        else:
            client.is_told(self.scene.group.assignment(client.id))

    def stop(self, client):
        client.is_running = False
        client.reading = set()
        self.clients.pop(client.id, None)

    # What can happen

    @precondition(lambda self: len(self.clients) < 6)
    @rule(
        wish=st.sampled_from(SUBSCRIPTIONS),
        session_ms=st.sampled_from([10_000, 30_000, 120_000]),
        is_static=st.booleans(),
        is_stubborn=st.sampled_from([False, False, False, True]),
        answer_arrives=st.sampled_from([True, True, False]),
    )
    def join(self, wish, session_ms, is_static, is_stubborn, answer_arrives):
        number, self.next_number = self.next_number, self.next_number + 1
        instance_id = f"instance-{number}" if is_static else None
        client = Client(f"member-{number}", {**wish, "session_ms": session_ms, "instance_id": instance_id})
        client.is_stubborn = is_stubborn
        self.clients[client.id] = client
        self.send_join(client, answer_arrives=answer_arrives)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), names_owned=st.booleans(), answer_arrives=st.sampled_from([True, True, False]))
    def heartbeat(self, data, names_owned, answer_arrives):
        client = self.pick(data)
        if client.is_running:
            self.send_heartbeat(client, names_owned=names_owned, answer_arrives=answer_arrives)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def poll(self, data):
        """Records may come from a partition the member has not heard of yet: it reads that too from then on."""
        client = self.pick(data)
        group = self.scene.group
        try:
            readable = group.check_poll(client.id, client.generation, now=self.now())
        except UnknownMember:
            assert client.id not in group
        except StaleGeneration:
            assert not self.is_current(client, client.generation)
        else:
            assert self.is_current(client, client.generation)
            client.reading |= set(readable)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def obey(self, data):
        client = self.pick(data)
        if client.is_running and not client.is_stubborn:
            self.send_confirmation(client)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def stop_reading_what_is_asked_for_without_a_word(self, data):
        client = self.pick(data)
        if not client.is_stubborn:
            self.give_up(client)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), wish=st.sampled_from(SUBSCRIPTIONS))
    def subscribe_to_something_else(self, data, wish):
        client = self.pick(data)
        if client.is_running and client.id in self.scene.group:
            client.options = {**client.options, "pattern": None, **wish}
            self.send_join(client)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def leave(self, data):
        client = self.pick(data)
        if client.id in self.scene.group:
            now = self.now()
            events = self.do(lambda group: group.leave(client.id, now=now))
            assert bool(events) is (client.options["instance_id"] is None)
        self.stop(client)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def vanish(self, data):
        """Its process hangs: it says nothing, but may go on reading."""
        self.pick(data).is_running = False

    @precondition(lambda self: any(client.options["instance_id"] for client in self.clients.values()))
    @rule(data=st.data())
    def restart_a_static_member(self, data):
        old = self.pick(data, lambda client: client.options["instance_id"])
        before = set(self.scene.group.readable(old.id)) if old.id in self.scene.group else None
        generation = self.scene.group.generation
        topics = self.scene.group.describe().topics
        client = Client(old.id + "'", old.options)
        self.stop(old)
        self.clients[client.id] = client
        self.send_join(client)
        if before is None or topics != self.scene.group.describe().topics:
            return
        assert self.scene.group.generation == generation
        assert before <= set(self.scene.group.readable(client.id))
        with pytest.raises(MemberFenced):
            self.scene.group.heartbeat(old.id, generation, now=self.now())

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), age=st.integers(-1, 4), offset=st.integers(0, 99))
    def commit(self, data, age, offset):
        """Of the current generation or an older one, for partitions that are its own or not."""
        client = self.pick(data)
        group = self.scene.group
        count = st.lists(st.builds(LogId, st.sampled_from(TOPICS), st.integers(0, 4)), min_size=1, max_size=3)
        partitions = set(data.draw(count)) if data.draw(st.booleans()) or not client.reading else set(client.reading)
        generation = client.generation - age
        is_member = client.id in group
        held = {partition for partition, owner in group.owners.items() if owner == client.id}
        offsets = {partition: OffsetAndMetadata(offset) for partition in partitions}
        now = self.now()
        try:
            self.do(lambda group: group.commit(offsets, member_id=client.id, generation=generation, now=now))
        except REFUSALS as refusal:
            outcome = type(refusal)
        else:
            outcome = None
            self.offsets |= dict.fromkeys(partitions, offset)
        if not is_member:
            assert outcome in (UnknownMember, MemberFenced)
        elif not self.is_current(client, generation):
            assert outcome is StaleGeneration
        else:
            assert outcome is (None if partitions <= held else MemberFenced)

    def is_current(self, client, generation):
        if self.protocol is Protocol.EAGER:
            return generation == self.scene.group.generation
        return client.told[-2:][0] <= generation <= client.told[-1]

    @rule(offset=st.integers(0, 99))
    def commit_without_being_a_member(self, offset):
        partition, now = LogId("alpha", 0), self.now()
        offsets = {partition: OffsetAndMetadata(offset)}
        if self.scene.group.member_count:
            with pytest.raises(GroupNotEmpty):
                self.scene.group.commit(offsets, now=now)
            return
        self.do(lambda group: group.commit(offsets, now=now))
        self.offsets[partition] = offset

    @rule(topic=st.sampled_from(TOPICS), count=st.integers(0, 6))
    def change_a_topic(self, topic, count):
        topics = {name: size for name, size in self.scene.available.items() if name != topic}
        if count:
            topics[topic] = max(count, self.scene.available.get(topic, 0))
        self.scene.available = topics
        now = self.now()
        self.do(lambda group: group.refresh(topics, now=now))
        self.offsets = {p: offset for p, offset in self.offsets.items() if p.topic in topics}

    @rule(seconds=st.sampled_from([1, 3, 12, 31, 61]))
    def time_passes(self, seconds):
        self.scene.clock.advance_ms(seconds * 1000)
        due = self.scene.group.next_deadline()
        now = self.now()
        events = self.do(lambda group: group.expire(now=now), leaves_members=True)
        assert bool(events) is (due is not None and due <= now)

    @rule()
    def the_broker_restarts(self):
        self.scene.restart()

    @rule()
    def remember_this_moment(self):
        self.middle = msgspec.msgpack.decode(
            msgspec.msgpack.encode(self.scene.group.snapshot()), type=type(self.middle)
        )
        self.since_middle = len(self.scene.history)

    # What must always hold

    @invariant()
    def no_two_members_read_one_partition(self):
        group = self.scene.group
        may_read: dict[LogId, str] = {}
        for member in group.describe().members:
            for partition in member.partitions:
                assert may_read.setdefault(partition, member.profile.member_id) == member.profile.member_id
        for client in self.clients.values():
            if client.id not in group:
                continue  # removed: fenced, whatever it believes
            for partition in client.reading:
                assert may_read.get(partition, client.id) == client.id, f"{client.id} still reads {partition}"

    @invariant()
    def members_read_only_what_they_subscribed_to_or_are_about_to_give_up(self):
        group = self.scene.group
        for member in group.describe().members:
            for partition in member.partitions:
                assert partition.partition < self.scene.available[partition.topic]

    @invariant()
    def the_state_says_whether_an_answer_is_missing(self):
        view = self.scene.group.describe()
        if not view.members:
            assert view.state is GroupState.EMPTY
        else:
            assert view.state is (GroupState.REBALANCING if view.awaited else GroupState.STABLE)
            assert (view.stats.last_duration_ms is None) is bool(view.awaited)

    @invariant()
    def offsets_are_those_of_the_commits_that_were_accepted(self):
        assert {p: kept.offset for p, kept in self.scene.group.offsets.items()} == self.offsets

    @invariant()
    def replaying_from_the_start_and_from_the_middle_gives_the_same_group(self):
        now = self.scene.group.snapshot()
        assert self.scene.replayed().snapshot() == now
        late = restored(self.middle)
        for event in self.scene.history[self.since_middle :]:
            late.apply(event)
        assert late.snapshot() == now

    def teardown(self):
        """Let everybody who still runs be good: in bounded time all is shared out and stable.

        The longest session has to end for those who vanished, and sixty seconds for each who never gives anything up.
        """
        stubborn = sum(client.is_stubborn for client in self.clients.values())
        for _ in range((120 + 60 * (stubborn + 1)) // 3):
            for client in list(self.clients.values()):
                if client.is_running:
                    self.send_heartbeat(client)
                    if client.is_running and not client.is_stubborn and client.id in self.scene.group:
                        self.send_confirmation(client)
            self.no_two_members_read_one_partition()
            self.scene.pass_time(3)
            if self.is_at_rest():
                break
        assert self.is_at_rest(), self.scene.group.describe()
        assert set(self.scene.group.owners) == {
            LogId(topic, number)
            for topic, count in self.scene.group.describe().topics.items()
            for number in range(count)
        }

    def is_at_rest(self):
        view = self.scene.group.describe()
        running = {client.id for client in self.clients.values() if client.is_running}
        return not view.awaited and {member.profile.member_id for member in view.members} <= running


TestGroupOfClients = GroupOfClients.TestCase
TestGroupOfClients.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
