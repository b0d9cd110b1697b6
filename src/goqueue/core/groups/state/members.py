"""Members of a group: subscriptions, the last generation sent to each, and replaced static members."""

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from goqueue.core.groups.assignment.assignors import Assignor
from goqueue.core.groups.assignment.pattern import topic_pattern
from goqueue.errors import InvalidRequest, MemberFenced, UnknownMember

__all__ = ["DEFAULT_SESSION_MS", "MOST_MEMBERS", "Member", "MemberProfile", "Protocol", "Roster", "check_profile"]

DEFAULT_SESSION_MS = 30_000
SHORTEST_SESSION_MS = 100
LONGEST_SESSION_MS = 1_800_000
MOST_MEMBERS = 10_000
MOST_TOPICS = 1_000
LONGEST_NAME = 249


class Protocol(StrEnum):
    """How partitions pass from one member to another."""

    COOPERATIVE = "cooperative"
    """Incremental: only partitions that move are given up, the others are read on."""
    EAGER = "eager"
    """Stop the world: all members stop, and continue when all are back."""


class MemberProfile(msgspec.Struct, frozen=True):
    """The subscription of a member; `topics` are sorted and distinct."""

    member_id: str
    client_id: str
    topics: tuple[str, ...]
    pattern: str | None
    protocol: Protocol
    assignor: Assignor
    session_ms: int
    instance_id: str | None

    @property
    def subscription(self) -> tuple[object, ...]:
        """The part of the profile that determines the assignment."""
        return self.topics, self.pattern, self.protocol, self.assignor


def check_profile(profile: MemberProfile) -> None:
    for what, text in (("member id", profile.member_id), ("client id", profile.client_id)):
        if not 0 < len(text) <= LONGEST_NAME:
            raise InvalidRequest(f"a {what} of {len(text)} characters", hint=f"use 1 to {LONGEST_NAME}")
    if profile.instance_id is not None and not 0 < len(profile.instance_id) <= LONGEST_NAME:
        raise InvalidRequest(
            f"instance id must have 1 to {LONGEST_NAME} characters, got {len(profile.instance_id)}", hint="or give none"
        )
    if not profile.topics and profile.pattern is None:
        raise InvalidRequest("a member must subscribe to at least one topic", hint="name topics, or give a pattern")
    if len(profile.topics) > MOST_TOPICS:
        raise InvalidRequest(
            f"a member can name at most {MOST_TOPICS} topics, got {len(profile.topics)}", hint="give a pattern"
        )
    if not SHORTEST_SESSION_MS <= profile.session_ms <= LONGEST_SESSION_MS:
        allowed = f"from {SHORTEST_SESSION_MS} to {LONGEST_SESSION_MS} ms"
        raise InvalidRequest(f"a session of {profile.session_ms} ms", hint=f"use one {allowed}")
    if profile.pattern is not None:
        topic_pattern(profile.pattern)


class Member(msgspec.Struct):
    """`epoch` is the generation sent to the member last, `previous_epoch` the one before: an answer may get lost."""

    profile: MemberProfile
    epoch: int = 0
    previous_epoch: int = 0
    replaced_id: str | None = None
    """The member replaced by a restarted static member. Only the last one is kept, to fence a twin that still runs."""

    def told(self, generation: int) -> None:
        self.previous_epoch = self.epoch or generation
        self.epoch = generation


class Roster:
    """Members by id, the oldest first."""

    def __init__(self, members: tuple[Member, ...] = ()) -> None:
        self._members = {member.profile.member_id: member for member in members}
        self._by_instance = {m.profile.instance_id: id for id, m in self._members.items() if m.profile.instance_id}
        self._replaced = {m.replaced_id: id for id, m in self._members.items() if m.replaced_id}

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members.values())

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._members

    def find(self, member_id: str) -> Member | None:
        return self._members.get(member_id)

    def member(self, member_id: str) -> Member:
        member = self._members.get(member_id)
        if member is None:
            self.check_not_replaced(member_id)
            raise UnknownMember(f"{member_id} is not a member of the group")
        return member

    def check_not_replaced(self, member_id: str) -> None:
        if member_id in self._replaced:
            raise MemberFenced(
                f"{self._replaced[member_id]} took the place of {member_id}",
                hint="two processes use one instance id: stop this one, or give it an id of its own",
            )

    def instance(self, instance_id: str | None) -> Member | None:
        """The static member with that instance id."""
        member_id = self._by_instance.get(instance_id) if instance_id else None
        return self._members[member_id] if member_id else None

    def profiles(self) -> dict[str, MemberProfile]:
        return {id: member.profile for id, member in self._members.items()}

    def put(self, profile: MemberProfile) -> None:
        """Add a member, or change the subscription of a known one."""
        known = self._members.get(profile.member_id)
        if known is not None:
            known.profile = profile
            return
        self._members[profile.member_id] = Member(profile)
        if profile.instance_id:
            self._by_instance[profile.instance_id] = profile.member_id

    def replace(self, old_id: str, profile: MemberProfile) -> None:
        """Replace in the same position: member order, and with it the assignment, is unchanged."""
        before = self._members[old_id].replaced_id
        if before:
            del self._replaced[before]
        newcomer = Member(profile, replaced_id=old_id)
        self._members = {
            (profile.member_id if id == old_id else id): (newcomer if id == old_id else member)
            for id, member in self._members.items()
        }
        self._replaced[old_id] = profile.member_id
        assert profile.instance_id
        self._by_instance[profile.instance_id] = profile.member_id

    def remove(self, member_id: str) -> None:
        member = self._members.pop(member_id)
        if member.profile.instance_id:
            del self._by_instance[member.profile.instance_id]
        if member.replaced_id:
            del self._replaced[member.replaced_id]
