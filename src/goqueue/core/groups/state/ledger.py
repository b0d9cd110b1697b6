"""Ledger of a group: the state that its events add up to. `apply` is the only writer, live and in recovery."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import groupby
from sys import intern
from types import MappingProxyType

from goqueue.core.groups.events import (
    GenerationStarted,
    GroupDeleted,
    GroupEvent,
    GroupPaused,
    GroupResumed,
    MemberJoined,
    MemberRemoved,
    MemberReplaced,
    MemberTold,
    OffsetsCommitted,
    OffsetsForgotten,
    RevocationConfirmed,
    TopicsChanged,
)
from goqueue.core.groups.state.lifecycle import GroupState, Lifecycle, RebalanceStats
from goqueue.core.groups.state.members import Member, Protocol, Roster
from goqueue.core.groups.state.placement import by_topic, each_partition
from goqueue.core.groups.state.reconciliation import Reconciliation
from goqueue.core.groups.state.snapshot import CommittedOffset, GroupSnapshot, KeptOffset, MemberSnapshot, Question
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId

__all__ = ["Ledger"]

NEVER_REBALANCED = RebalanceStats()
MOST_SHARED = 10_000
NO_TOPICS: Mapping[str, int] = MappingProxyType({})


NO_MEMBERS = Roster()
NOTHING_HELD = Reconciliation()
"""Shared by all groups without members, of which there may be very many. It stays empty: a first member gets its own.
"""


class Ledger:
    """Members, topics, placements, offsets and the life cycle of one group."""

    __slots__ = (
        "is_paused",
        "lifecycle",
        "name",
        "offsets",
        "pause_reason",
        "reconciliation",
        "roster",
        "topics",
        "used_at",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.lifecycle = Lifecycle()
        self.roster = NO_MEMBERS
        self.topics: Mapping[str, int] = NO_TOPICS
        self.reconciliation = NOTHING_HELD
        self.offsets: dict[LogId, CommittedOffset] = {}
        self.is_paused = False
        self.pause_reason = ""
        self.used_at = InstantNs(0)
        """Time of the last change."""

    @property
    def protocol(self) -> Protocol | None:
        """The rebalance protocol, the same for all members."""
        return next((member.profile.protocol for member in self.roster), None)

    def apply(self, event: GroupEvent) -> None:
        self.used_at = max(self.used_at, event.at)
        match event:
            case MemberJoined():
                if self.roster is NO_MEMBERS:
                    self.roster, self.reconciliation = Roster(), Reconciliation()
                self.roster.put(event.profile)
            case MemberReplaced():
                self.roster.replace(event.old_id, event.profile)
                self.reconciliation.rename(event.old_id, event.profile.member_id)
            case MemberRemoved():
                self.roster.remove(event.member_id)
                self.reconciliation.remove(event.member_id)
                if not len(self.roster):
                    self.roster, self.reconciliation = NO_MEMBERS, NOTHING_HELD
            case TopicsChanged():
                self.topics = dict(event.topics) if event.topics else NO_TOPICS
            case GenerationStarted():
                self._start(event)
            case MemberTold():
                self.roster.member(event.member_id).told(event.generation)
                self.reconciliation.came_back(event.member_id)
                self._settle(event.at)
            case RevocationConfirmed():
                self.reconciliation.confirm(event.member_id, each_partition(event.partitions))
                self._settle(event.at)
            case OffsetsCommitted():
                self._commit(event)
            case OffsetsForgotten():
                for partition in each_partition(event.partitions):
                    self.offsets.pop(partition, None)
            case GroupPaused():
                self.is_paused, self.pause_reason = True, event.reason
            case GroupResumed():
                self.is_paused, self.pause_reason = False, ""
            case GroupDeleted():
                self.lifecycle.die()

    def _start(self, event: GenerationStarted) -> None:
        protocol = self.protocol
        if protocol is None:
            self.lifecycle.empty(event.generation, at=event.at)
            return
        self.reconciliation.retarget(event, protocol, (member.profile.member_id for member in self.roster))
        self.lifecycle.begin(event.generation, event.reason, event.moved, at=event.at)
        self._settle(event.at)

    def _settle(self, at: InstantNs) -> None:
        if self.lifecycle.state is GroupState.REBALANCING and self.reconciliation.is_settled:
            self.lifecycle.settle(at=at)

    def _commit(self, event: OffsetsCommitted) -> None:
        for each in event.offsets:
            log = _shared(each.topic, each.partition)
            self.offsets[log] = CommittedOffset(each.offset, each.metadata, event.at)

    def snapshot(self) -> GroupSnapshot:
        return GroupSnapshot(
            name=self.name,
            state=self.lifecycle.state,
            generation=self.lifecycle.generation,
            stats=self.lifecycle.stats,
            topics=dict(self.topics),
            members=tuple(self._member_snapshot(member) for member in self.roster),
            offsets=tuple(KeptOffset(*partition, committed) for partition, committed in sorted(self.offsets.items())),
            is_paused=self.is_paused,
            pause_reason=self.pause_reason,
            used_at=self.used_at,
        )

    def _member_snapshot(self, member: Member) -> MemberSnapshot:
        member_id = member.profile.member_id
        revoking = self.reconciliation.revoking(member_id)
        return MemberSnapshot(
            profile=member.profile,
            epoch=member.epoch,
            previous_epoch=member.previous_epoch,
            replaced_id=member.replaced_id,
            target=by_topic(self.reconciliation.target.of(member_id)),
            held=by_topic(self.reconciliation.held.of(member_id)),
            revoking=tuple(
                Question(asked, by_topic(partitions)) for asked, partitions in groupby(revoking, revoking.__getitem__)
            ),
            away=self.reconciliation.away(member_id),
        )

    def restore(self, snapshot: GroupSnapshot) -> None:
        self.name = snapshot.name
        stats = NEVER_REBALANCED if snapshot.stats == NEVER_REBALANCED else snapshot.stats
        self.lifecycle = Lifecycle(snapshot.state, snapshot.generation, stats)
        if snapshot.members:
            self.roster = Roster(
                tuple(Member(m.profile, m.epoch, m.previous_epoch, m.replaced_id) for m in snapshot.members)
            )
            self.reconciliation = _reconciliation(snapshot.members)
        else:
            self.roster, self.reconciliation = NO_MEMBERS, NOTHING_HELD
        self.topics = dict(snapshot.topics) if snapshot.topics else NO_TOPICS
        self.offsets = {_shared(kept.topic, kept.partition): kept.committed for kept in snapshot.offsets}
        self.is_paused, self.pause_reason = snapshot.is_paused, snapshot.pause_reason
        self.used_at = snapshot.used_at


@lru_cache(maxsize=MOST_SHARED)
def _shared(topic: str, partition: int) -> LogId:
    """One object for all groups that read the partition."""
    return LogId(intern(topic), partition)


def _reconciliation(members: Iterable[MemberSnapshot]) -> Reconciliation:
    restored = Reconciliation()
    for member in members:
        member_id = member.profile.member_id
        for partition in each_partition(member.target):
            restored.target.put(partition, member_id)
        for partition in each_partition(member.held):
            restored.held.put(partition, member_id)
        revoking = {
            partition: question.asked
            for question in member.revoking
            for partition in each_partition(question.partitions)
        }
        restored.restore(member_id, revoking=revoking, away=member.away)
    return restored
