"""A group with a clock and a history: every command is checked to change nothing, every event to survive msgpack."""

from collections.abc import Callable

import msgspec

from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.core.groups.events import GroupEvent
from goqueue.core.groups.group import Group
from goqueue.core.groups.registry import GroupChange
from goqueue.core.groups.state.snapshot import GroupSnapshot
from goqueue.model.log import LogId
from goqueue.testing.clock import FakeClock

_changes = msgspec.msgpack.Decoder(GroupChange)
_snapshots = msgspec.msgpack.Decoder(GroupSnapshot)


def partitions(topic: str, *numbers: int) -> tuple[LogId, ...]:
    return tuple(LogId(topic, number) for number in numbers)


def restored(snapshot: GroupSnapshot) -> Group:
    group = Group(snapshot.name)
    group.restore(_snapshots.decode(msgspec.msgpack.encode(snapshot)))
    return group


def questions(group: Group) -> dict[str, list[tuple]]:
    """What each member was asked for and when, in the order of asking."""
    reconciliation = group._ledger.reconciliation
    return {id: list(reconciliation.revoking(id).items()) for id in sorted(reconciliation.awaited)}


class Scene:
    """Plays members that do as they are told; `told` is the generation each of them knows."""

    def __init__(self, **topics: int) -> None:
        self.available = topics
        self.group = Group("readers")
        self.clock = FakeClock()
        self.history: list[GroupEvent] = []
        self.told: dict[str, int] = {}
        self._joined: dict[str, dict] = {}

    def do(self, decide: Callable[[Group], list[GroupEvent]]) -> list[GroupEvent]:
        before = self.group.snapshot()
        events = decide(self.group)
        assert self.group.snapshot() == before, "a command changed what is kept"
        change = GroupChange(self.group.name, tuple(events))
        decoded = _changes.decode(msgspec.msgpack.encode(change))
        assert decoded == change
        for event in decoded.events:
            self.group.apply(event)
        self.history += events
        return events

    def now(self):
        return self.clock.now_ns()

    def join(self, member, **options):
        options = {"topics": tuple(self.available), "client_id": member, **options}
        now = self.now()
        events = self.do(lambda group: group.join(member, available=self.available, now=now, **options))
        self._joined[member] = options
        self.told[member] = self.group.generation
        return events

    def rejoin(self, member):
        return self.join(member, **self._joined[member])

    def heartbeat(self, member, owned=None):
        generation, now = self.told[member], self.now()
        events = self.do(lambda group: group.heartbeat(member, generation, owned=owned, now=now))
        self.told[member] = self.group.generation
        return events

    def confirm(self, member, given_up=None):
        wanted = self.group.assignment(member).revoking if given_up is None else given_up
        generation, now = self.told[member], self.now()
        return self.do(lambda group: group.confirm_revoked(member, generation, wanted, now=now))

    def leave(self, member):
        return self.do(lambda group: group.leave(member, now=self.now()))

    def expire(self):
        return self.do(lambda group: group.expire(now=self.now()))

    def refresh(self, **topics):
        self.available = topics
        return self.do(lambda group: group.refresh(topics, now=self.now()))

    def commit(self, offset, *which, member=None, generation=None, metadata=""):
        if member is not None and generation is None:
            generation = self.told[member]
        wanted = {partition: OffsetAndMetadata(offset, metadata) for partition in which}
        now = self.now()
        return self.do(lambda group: group.commit(wanted, member_id=member, generation=generation, now=now))

    def pass_time(self, seconds):
        """Time goes by, and the broker looks whenever the group said it should."""
        end = self.now() + int(seconds * 1e9)
        while (due := self.group.next_deadline()) is not None and due <= end:
            self.clock.advance_ms(max(0, (due - self.now()) // 1_000_000))
            self.expire()
        self.clock.advance_ms((end - self.now()) // 1_000_000)

    def settle(self, members=None):
        """Everybody gives two signs of life and gives up what they are asked for."""
        for _ in range(2):
            for member in list(self.told) if members is None else members:
                if member in self.group:
                    self.heartbeat(member)
                    self.confirm(member)

    def reads(self, member):
        return self.group.assignment(member).partitions

    def replayed(self):
        group = Group("readers")
        for event in self.history:
            group.apply(event)
        return group

    def restart(self):
        """The broker comes back from what it wrote."""
        replayed = self.replayed()
        assert replayed.snapshot() == self.group.snapshot()
        again = restored(self.group.snapshot())
        assert again.snapshot() == replayed.snapshot()
        assert questions(again) == questions(replayed) == questions(self.group)
        self.group = again
        self.group.start_sessions(now=self.now())
