"""Consumer group: members, assignment, committed offsets, and rebalances.

Commands decide: they return events and change no persistent state; `apply` is the only writer. The events of a command
are written together and applied before the next command is given; then `assignment` is the answer to the member.

Commands do note when a member was last seen. That is never persisted: two groups are equal when their snapshots are,
and after a restart `start_sessions` gives every member its full session again.
"""

from collections.abc import Collection, Mapping, Set
from types import MappingProxyType

from goqueue.core.groups import views
from goqueue.core.groups.assignment.assignors import Assignor
from goqueue.core.groups.decisions import committing, joining
from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.core.groups.decisions.regrouping import regroup
from goqueue.core.groups.events import (
    GroupDeleted,
    GroupEvent,
    GroupPaused,
    GroupResumed,
    MemberRemoved,
    MemberTold,
    OffsetsCommitted,
    OffsetsForgotten,
    RevocationConfirmed,
)
from goqueue.core.groups.sessions import Sessions
from goqueue.core.groups.state.ledger import Ledger
from goqueue.core.groups.state.lifecycle import GroupState, Reason
from goqueue.core.groups.state.members import DEFAULT_SESSION_MS, Member, MemberProfile, Protocol
from goqueue.core.groups.state.placement import by_topic
from goqueue.core.groups.state.snapshot import CommittedOffset, GroupSnapshot
from goqueue.errors import InvalidRequest, StaleGeneration, UnknownGroup
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId

__all__ = ["Group"]

NO_SESSIONS = Sessions(Ledger(""))
"""Shared by all groups without members. It stays empty."""


class Group:
    """Called by members, the broker and operators. Every command may refuse with an error of `errors.py`."""

    __slots__ = ("_ledger", "_seen_at", "_sessions")

    def __init__(self, name: str) -> None:
        self._ledger = Ledger(name)
        self._sessions = NO_SESSIONS
        self._seen_at = InstantNs(0)
        """Time of the last use, also one that changed nothing. Not persisted."""

    # Commands of members

    def join(
        self,
        member_id: str,
        client_id: str,
        *,
        topics: Collection[str] = (),
        pattern: str | None = None,
        protocol: Protocol = Protocol.COOPERATIVE,
        assignor: Assignor | None = None,
        session_ms: int = DEFAULT_SESSION_MS,
        instance_id: str | None = None,
        available: Mapping[str, int],
        now: InstantNs,
    ) -> list[GroupEvent]:
        """Join, or return: under the old id or, for a static member, under a new id with its instance id.

        `available` are all topics with their partition counts. Without an assignor it is the one in use, or else sticky
        for a cooperative group and range for an eager one.
        """
        self._check_alive()
        profile = MemberProfile(
            member_id=member_id,
            client_id=client_id,
            topics=tuple(sorted(set(topics))),
            pattern=pattern,
            protocol=protocol,
            assignor=assignor or joining.usual_assignor(self._ledger, protocol),
            session_ms=session_ms,
            instance_id=instance_id,
        )
        events = joining.join(self._ledger, profile, available, now=now)
        if member_id in self:
            self._sessions.sign_of_life(member_id, now=now)
        return events

    def heartbeat(
        self, member_id: str, generation: int, *, owned: Collection[LogId] | None = None, now: InstantNs
    ) -> list[GroupEvent]:
        """Partitions the member was asked to give up and that are not in `owned` count as given up."""
        member = self._admitted(member_id, generation, now)
        if owned is None:
            return self._answered(member, [], now)
        # A request that the member cannot know of yet is not answered by its absence.
        asked = self._ledger.reconciliation.revoking(member_id).items()
        gone = [each for each, question in asked if each not in owned and question.generation <= generation]
        return self._answered(member, gone, now)

    def tell(self, member_id: str, generation: int, *, now: InstantNs) -> list[GroupEvent]:
        """Called before a member learns of a change that it waited for. It does not extend the session."""
        return self._answered(self._current(member_id, generation), [], now)

    def confirm_revoked(
        self, member_id: str, generation: int, partitions: Collection[LogId], *, now: InstantNs
    ) -> list[GroupEvent]:
        """The member has stopped reading these. Others are ignored: the member may repeat itself."""
        member = self._admitted(member_id, generation, now)
        asked = self._ledger.reconciliation.revoking(member_id)
        return self._answered(member, [partition for partition in partitions if partition in asked], now)

    def leave(self, member_id: str, *, now: InstantNs) -> list[GroupEvent]:
        """A static member keeps its place until its session ends, so that a restart moves nothing."""
        self._check_alive()
        if self._ledger.roster.member(member_id).profile.instance_id is not None:
            return []
        return self._removed({member_id: Reason.MEMBER_LEFT}, now)

    def check_poll(self, member_id: str, generation: int, *, now: InstantNs) -> tuple[LogId, ...]:
        """The partitions the member may read now: none while the group is paused, and none that it is to give up."""
        self._admitted(member_id, generation, now)
        return self.readable(member_id)

    def commit(
        self,
        offsets: Mapping[LogId, OffsetAndMetadata],
        *,
        member_id: str | None = None,
        generation: int | None = None,
        now: InstantNs,
    ) -> list[GroupEvent]:
        """By a member, for partitions it has; or, in a group without members, by any client."""
        self._check_alive()
        if member_id is None:
            committing.check_empty(self._ledger, "only they commit offsets")
        elif generation is None:
            raise InvalidRequest(
                "a commit by a member must have its generation", hint="give that of its last assignment"
            )
        else:
            committing.check_holds(self._ledger, self._admitted(member_id, generation, now), offsets)
        return committing.commit(self._ledger, offsets, now=now)

    # Commands of time and the broker

    def expire(self, *, now: InstantNs) -> list[GroupEvent]:
        """Remove members whose session expired, and those that are alive but did not answer in time."""
        return self._removed(self._sessions.overdue(now=now), now)

    def next_deadline(self) -> InstantNs | None:
        """When to call `expire` next. Ask again after every command."""
        return self._sessions.earliest()

    def refresh(self, available: Mapping[str, int], *, now: InstantNs) -> list[GroupEvent]:
        """Topics or partition counts changed. `available` are all topics: offsets of others are forgotten."""
        self._check_alive()
        gone = [partition for partition in self._ledger.offsets if partition.topic not in available]
        events: list[GroupEvent] = [OffsetsForgotten(now, by_topic(gone))] if gone else []
        return events + regroup(self._ledger, self._ledger.roster.profiles(), None, now=now, available=available)

    def start_sessions(self, *, now: InstantNs) -> None:
        """Called after a restart, when all is restored and applied: the downtime does not count against members."""
        self._start_sessions(now)
        if not self.used_at:
            # From an older version, which did not store it.
            self.use(now=now)

    # Use of the group

    def use(self, *, now: InstantNs) -> None:
        """Note a use that changes nothing: a poll, or a commit of an offset already committed."""
        self._seen_at = now

    @property
    def used_at(self) -> InstantNs:
        """Time of the last known use."""
        return max(self._seen_at, self._ledger.used_at)

    def note_use(self, *, after_ns: int) -> list[GroupEvent]:
        """An event that persists the last use, when it is `after_ns` later than the persisted one."""
        is_late = self._seen_at >= self._ledger.used_at + after_ns
        return [OffsetsCommitted(self._seen_at, ())] if is_late and self.state is not GroupState.DEAD else []

    # Commands of operators

    def reset(self, offsets: Mapping[LogId, OffsetAndMetadata], *, now: InstantNs) -> list[GroupEvent]:
        """Only without members, as they would continue from their own positions.

        For a dry run, do not apply the events.
        """
        self._check_alive()
        committing.check_empty(self._ledger, "its offsets cannot be reset")
        return committing.commit(self._ledger, offsets, now=now)

    def pause(self, *, reason: str = "", now: InstantNs) -> list[GroupEvent]:
        self._check_alive()
        return [] if self._ledger.is_paused else [GroupPaused(now, reason)]

    def resume(self, *, now: InstantNs) -> list[GroupEvent]:
        self._check_alive()
        return [GroupResumed(now)] if self._ledger.is_paused else []

    def delete(self, *, now: InstantNs) -> list[GroupEvent]:
        self._check_alive()
        committing.check_empty(self._ledger, "it cannot be deleted")
        return [GroupDeleted(now)]

    # Queries

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._ledger.roster

    @property
    def name(self) -> str:
        return self._ledger.name

    @property
    def state(self) -> GroupState:
        return self._ledger.lifecycle.state

    @property
    def generation(self) -> int:
        return self._ledger.lifecycle.generation

    @property
    def member_count(self) -> int:
        return len(self._ledger.roster)

    @property
    def is_paused(self) -> bool:
        return self._ledger.is_paused

    @property
    def offsets(self) -> Mapping[LogId, CommittedOffset]:
        return MappingProxyType(self._ledger.offsets)

    @property
    def topics(self) -> Mapping[str, int]:
        """The topics that members read, with their partition counts."""
        return MappingProxyType(self._ledger.topics)

    @property
    def rebalance_count(self) -> int:
        return self._ledger.lifecycle.stats.count

    @property
    def owners(self) -> Mapping[LogId, str]:
        """The member of each partition, including one that is about to give it up."""
        return self._ledger.reconciliation.held.members

    @property
    def awaited(self) -> Set[str]:
        """The members whose answer is missing for the group to be stable: those to wake from a long poll."""
        return self._ledger.reconciliation.awaited

    def told(self, member_id: str) -> int:
        """The last generation sent to the member."""
        return self._ledger.roster.member(member_id).epoch

    def readable(self, member_id: str) -> tuple[LogId, ...]:
        """Like `check_poll`, for a waiting poll that was admitted before."""
        self._ledger.roster.member(member_id)
        return () if self.is_paused else tuple(sorted(self._ledger.reconciliation.readable(member_id)))

    def assignment(self, member_id: str) -> views.Assignment:
        return views.assignment_of(self._ledger, member_id)

    def describe(self) -> views.GroupView:
        return views.describe(self._ledger, self._sessions)

    # Snapshots

    def apply(self, event: GroupEvent) -> None:
        self._ledger.apply(event)
        if self._sessions is NO_SESSIONS:
            if not len(self._ledger.roster):
                return
            self._sessions = Sessions(self._ledger)
        self._sessions.follow(event)
        if not len(self._ledger.roster):
            self._sessions = NO_SESSIONS

    def snapshot(self) -> GroupSnapshot:
        return self._ledger.snapshot()

    def restore(self, snapshot: GroupSnapshot) -> None:
        """Call `start_sessions` once all later events are applied."""
        self._ledger.restore(snapshot)
        self._start_sessions(InstantNs(0))

    # Steps shared by commands

    def _start_sessions(self, now: InstantNs) -> None:
        self._sessions = Sessions(self._ledger) if len(self._ledger.roster) else NO_SESSIONS
        if self._sessions is not NO_SESSIONS:
            self._sessions.start(now=now)

    def _check_alive(self) -> None:
        if self.state is GroupState.DEAD:
            raise UnknownGroup(f"the group {self.name} was deleted")

    def _admitted(self, member_id: str, generation: int, now: InstantNs) -> Member:
        """The member; refused if it is unknown or its generation is stale, which does not extend its session."""
        member = self._current(member_id, generation)
        self._sessions.sign_of_life(member_id, now=now)
        return member

    def _current(self, member_id: str, generation: int) -> Member:
        self._check_alive()
        member = self._ledger.roster.member(member_id)
        if member.profile.protocol is Protocol.EAGER:
            is_current = generation == self.generation
        else:
            is_current = member.previous_epoch <= generation <= member.epoch
        if not is_current:
            raise StaleGeneration(f"{member_id} is at generation {generation}, the group at {self.generation}")
        return member

    def _answered(self, member: Member, given_up: Collection[LogId], now: InstantNs) -> list[GroupEvent]:
        member_id = member.profile.member_id
        events: list[GroupEvent] = []
        if given_up:
            events.append(RevocationConfirmed(now, member_id, by_topic(given_up)))
        if member.epoch != self.generation:
            events.append(MemberTold(now, member_id, self.generation))
        return events

    def _removed(self, leaving: Mapping[str, Reason], now: InstantNs) -> list[GroupEvent]:
        if not leaving:
            return []
        after = {id: profile for id, profile in self._ledger.roster.profiles().items() if id not in leaving}
        removed = [MemberRemoved(now, member_id, reason) for member_id, reason in leaving.items()]
        return [*removed, *regroup(self._ledger, after, next(iter(leaving.values())), now=now)]
