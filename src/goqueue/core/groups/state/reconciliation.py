"""Reconciliation of held partitions with the target, such that no partition ever has two members.

`target` is the assignment of the current generation, `held` is what members have. A cooperative group moves partition
by partition: a holder keeps its target partitions, is asked to give up the rest, and what it gave up goes to its new
member at once. An eager group revokes everything and assigns it again when all members are back.
"""

from collections.abc import Iterable, Mapping, Set
from types import MappingProxyType
from typing import NamedTuple

from goqueue.core.groups.events import GenerationStarted
from goqueue.core.groups.state.members import Protocol
from goqueue.core.groups.state.placement import Placement, each_partition
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId

__all__ = ["Asked", "Reconciliation"]

_NOTHING: Mapping[LogId, "Asked"] = MappingProxyType({})


class Asked(NamedTuple):
    """The generation and the time since which an answer is missing."""

    generation: int
    since: InstantNs


class Reconciliation:
    """The two placements and the answers missing between them."""

    def __init__(self) -> None:
        self.target = Placement()
        self.held = Placement()
        self._revoking: dict[str, dict[LogId, Asked]] = {}
        """By member the partitions it has yet to give up, the longest asked for first; no empty entries."""
        self._away: dict[str, Asked] = {}
        """Members of an eager group that are not back yet."""

    @property
    def is_settled(self) -> bool:
        return not self._revoking and not self._away

    @property
    def awaited(self) -> Set[str]:
        """Members whose answer is missing."""
        return self._revoking.keys() | self._away.keys()

    def revoking(self, member_id: str) -> Mapping[LogId, Asked]:
        return self._revoking.get(member_id, _NOTHING)

    def away(self, member_id: str) -> Asked | None:
        return self._away.get(member_id)

    def asked_since(self, member_id: str) -> InstantNs | None:
        """The time of the oldest unanswered request to the member."""
        if member_id in self._away:
            return self._away[member_id].since
        return next((asked.since for asked in self.revoking(member_id).values()), None)

    def readable(self, member_id: str) -> set[LogId]:
        """The partitions that the member has and keeps."""
        return self.held.of(member_id) - self.revoking(member_id).keys()

    def retarget(self, change: GenerationStarted, protocol: Protocol, member_ids: Iterable[str]) -> None:
        for partition in each_partition(change.dropped):
            self.target.drop(partition)
        for member_id, share in change.given.items():
            for partition in each_partition(share):
                self.target.put(partition, member_id)
        asked = Asked(change.generation, change.at)
        if protocol is Protocol.EAGER:
            self._stop_everybody(member_ids, asked)
        else:
            self._ask_for_what_moves(asked)
            self._hand_out()

    def _stop_everybody(self, member_ids: Iterable[str], asked: Asked) -> None:
        """The generation fences old holders, so none needs to confirm; a member already away keeps its request time."""
        self.held.clear()
        self._away = {member_id: self._away.get(member_id, asked) for member_id in member_ids}

    def _ask_for_what_moves(self, asked: Asked) -> None:
        meant_for = self.target.members
        moving = sorted(each for each in self.held.members.items() if meant_for.get(each[0]) != each[1])
        questions: dict[str, dict[LogId, Asked]] = {}
        for partition, holder in moving:
            earlier = self.revoking(holder).get(partition, asked)
            questions.setdefault(holder, {})[partition] = earlier
        self._revoking = {
            holder: dict(sorted(partitions.items(), key=lambda item: item[1]))
            for holder, partitions in questions.items()
        }

    def _hand_out(self) -> None:
        for partition, member_id in self.target.members.items():
            if partition not in self.held.members:
                self.held.put(partition, member_id)

    def confirm(self, member_id: str, partitions: Iterable[LogId]) -> None:
        """Partitions given up by the member go to their target members."""
        revoking = self._revoking.get(member_id, {})
        for partition in partitions:
            if revoking.pop(partition, None):
                self._pass_on(partition)
        if not revoking:
            self._revoking.pop(member_id, None)

    def came_back(self, member_id: str) -> None:
        if self._away.pop(member_id, None) and not self._away:
            self._hand_out()

    def remove(self, member_id: str) -> None:
        """Its partitions are unassigned until the following generation assigns them."""
        self._revoking.pop(member_id, None)
        self._away.pop(member_id, None)
        self.target.drop_member(member_id)
        self.held.drop_member(member_id)

    def rename(self, old_id: str, new_id: str) -> None:
        assert old_id not in self._revoking, "who comes back has given up what it was asked for"
        self.target.rename(old_id, new_id)
        self.held.rename(old_id, new_id)
        if old_id in self._away:
            self._away[new_id] = self._away.pop(old_id)

    def restore(self, member_id: str, *, revoking: Mapping[LogId, Asked], away: Asked | None) -> None:
        if revoking:
            self._revoking[member_id] = dict(revoking)
        if away:
            self._away[member_id] = away

    def _pass_on(self, partition: LogId) -> None:
        self.held.drop(partition)
        member_id = self.target.members.get(partition)
        if member_id is not None:
            self.held.put(partition, member_id)
