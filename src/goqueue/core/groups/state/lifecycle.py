"""Life cycle of a group: its states, transitions, and rebalance statistics."""

from enum import StrEnum

import msgspec

from goqueue.model.ids import InstantNs

__all__ = ["TRANSITIONS", "GroupState", "Lifecycle", "Reason", "RebalanceStats", "Step"]

MS_NS = 1_000_000


class GroupState(StrEnum):
    EMPTY = "Empty"
    """No members; offsets are kept."""
    REBALANCING = "Rebalancing"
    """Some member has yet to answer: to give up partitions, or to rejoin."""
    STABLE = "Stable"
    """Every member has its target assignment."""
    DEAD = "Dead"
    """Deleted."""


class Step(StrEnum):
    CHANGED = "changed"
    """A generation began."""
    SETTLED = "settled"
    """No answer is missing any more."""
    EMPTIED = "emptied"
    """The last member is gone."""
    DELETED = "deleted"


TRANSITIONS = {
    (GroupState.EMPTY, Step.CHANGED): GroupState.REBALANCING,
    (GroupState.REBALANCING, Step.CHANGED): GroupState.REBALANCING,
    (GroupState.STABLE, Step.CHANGED): GroupState.REBALANCING,
    (GroupState.REBALANCING, Step.SETTLED): GroupState.STABLE,
    (GroupState.REBALANCING, Step.EMPTIED): GroupState.EMPTY,
    (GroupState.STABLE, Step.EMPTIED): GroupState.EMPTY,
    (GroupState.EMPTY, Step.DELETED): GroupState.DEAD,
}


class Reason(StrEnum):
    """The reason of a new generation."""

    MEMBER_JOINED = "member_joined"
    MEMBER_LEFT = "member_left"
    SESSION_EXPIRED = "session_expired"
    REVOCATION_OVERDUE = "revocation_overdue"
    SUBSCRIPTION_CHANGED = "subscription_changed"
    TOPICS_CHANGED = "topics_changed"


class RebalanceStats(msgspec.Struct, frozen=True):
    """A rebalance lasts from a change until the group is stable or empty again, over any number of generations.

    A partition has moved when its target changes from one member to another: its first assignment is no move.
    """

    count: int = 0
    last_reason: Reason | None = None
    last_started_at: InstantNs | None = None
    last_duration_ms: float | None = None
    """None before the first and during a rebalance."""
    last_moved: int = 0
    total_moved: int = 0


class Lifecycle(msgspec.Struct):
    """The current state and the statistics."""

    state: GroupState = GroupState.EMPTY
    generation: int = 0
    stats: RebalanceStats = RebalanceStats()

    def begin(self, generation: int, reason: Reason, moved: int, *, at: InstantNs) -> None:
        if self.state is not GroupState.REBALANCING:
            self.stats = RebalanceStats(self.stats.count + 1, reason, at, None, 0, self.stats.total_moved)
        self.stats = msgspec.structs.replace(
            self.stats,
            last_reason=reason,
            last_moved=self.stats.last_moved + moved,
            total_moved=self.stats.total_moved + moved,
        )
        self.generation = generation
        self._step(Step.CHANGED)

    def settle(self, *, at: InstantNs) -> None:
        self._finish(at)
        self._step(Step.SETTLED)

    def empty(self, generation: int, *, at: InstantNs) -> None:
        if self.state is GroupState.REBALANCING:
            self._finish(at)
        self.generation = generation
        self._step(Step.EMPTIED)

    def die(self) -> None:
        self._step(Step.DELETED)

    def _finish(self, at: InstantNs) -> None:
        assert self.stats.last_started_at is not None
        # The clock may have been set back in between.
        duration_ms = max(0, at - self.stats.last_started_at) / MS_NS
        self.stats = msgspec.structs.replace(self.stats, last_duration_ms=duration_ms)

    def _step(self, step: Step) -> None:
        assert (self.state, step) in TRANSITIONS, f"{self.state} does not allow {step}"
        self.state = TRANSITIONS[self.state, step]
