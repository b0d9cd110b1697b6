"""Registry of all consumer groups of the broker."""

from collections.abc import Iterable, Iterator

import msgspec

from goqueue.core.groups.events import GroupEvent
from goqueue.core.groups.group import Group
from goqueue.core.groups.state.lifecycle import GroupState
from goqueue.core.groups.state.snapshot import GroupSnapshot
from goqueue.errors import UnknownGroup
from goqueue.model.ids import InstantNs

__all__ = ["GroupChange", "Groups"]


class GroupChange(msgspec.Struct, frozen=True):
    """The events of one command on one group, written as one entry."""

    group: str
    events: tuple[GroupEvent, ...]


class Groups:
    """Groups by name. A group exists from its first event to its deletion; nothing else creates one."""

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        self._with_members: dict[str, Group] = {}

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    def __len__(self) -> int:
        return len(self._groups)

    def __contains__(self, name: str) -> bool:
        return name in self._groups

    def group(self, name: str) -> Group:
        try:
            return self._groups[name]
        except KeyError:
            raise UnknownGroup(f"there is no group {name}") from None

    def group_or_new(self, name: str) -> Group:
        """For deciding a first join or commit: a new group is kept only when an event of it is applied."""
        return self._groups.get(name) or Group(name)

    def apply(self, change: GroupChange) -> Group:
        """The group after the change."""
        group = self._groups.setdefault(change.group, Group(change.group))
        for event in change.events:
            group.apply(event)
        if group.state is GroupState.DEAD:
            del self._groups[change.group]
        self._note_members(group)
        return group

    @property
    def has_members(self) -> bool:
        return bool(self._with_members)

    def with_members(self) -> list[Group]:
        """Groups that time may change; there may be far more without members."""
        return list(self._with_members.values())

    def _note_members(self, group: Group) -> None:
        if group.member_count:
            self._with_members[group.name] = group
        else:
            self._with_members.pop(group.name, None)

    def start_sessions(self, *, now: InstantNs) -> None:
        """Called after a restart, when everything is restored and applied."""
        for group in self._groups.values():
            group.start_sessions(now=now)

    def snapshot(self) -> tuple[GroupSnapshot, ...]:
        return tuple(group.snapshot() for group in self._groups.values())

    def part_keys(self) -> list[str]:
        return list(self._groups)

    def part(self, name: str) -> GroupSnapshot | None:
        """Snapshot of one group: the snapshot of the registry consists of these."""
        group = self._groups.get(name)
        return None if group is None else group.snapshot()

    def restore(self, snapshots: Iterable[GroupSnapshot]) -> None:
        self._groups, self._with_members = {}, {}
        for snapshot in snapshots:
            group = self._groups[snapshot.name] = Group(snapshot.name)
            group.restore(snapshot)
            self._note_members(group)
