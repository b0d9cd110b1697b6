"""Group policies: settings of a group that override its topics: lease duration, attempts and retry pauses."""

import msgspec

from goqueue.errors import StateConflict
from goqueue.model.idle_retention import OffsetsRetention
from goqueue.model.topic import Backoff, Jitter, MaxAttempts, TopicConfig, Visibility

__all__ = ["GroupPolicies", "GroupPolicy", "KeptPolicy", "PolicySet"]

MOST_POLICIES = 100_000


class GroupPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """None means the topic's setting applies."""

    visibility_timeout_ms: Visibility | None = None
    max_attempts: MaxAttempts | None = None
    retry_backoff_ms: Backoff | None = None
    retry_backoff_max_ms: Backoff | None = None
    retry_jitter: Jitter | None = None
    offsets_retention_ms: OffsetsRetention | None = None

    def over(self, config: TopicConfig) -> TopicConfig:
        """The settings of the topic as they apply to the group."""
        own = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        return msgspec.structs.replace(config, **own) if own else config


class PolicySet(msgspec.Struct, frozen=True, array_like=True):
    """None for a deleted group, or one without overrides."""

    group: str
    policy: GroupPolicy | None


class KeptPolicy(msgspec.Struct, frozen=True, array_like=True):
    group: str
    policy: GroupPolicy


class GroupPolicies:
    """Policies by group; a group without one is not included."""

    def __init__(self) -> None:
        self._policies: dict[str, GroupPolicy] = {}

    def of(self, group: str) -> GroupPolicy:
        return self._policies.get(group, GroupPolicy())

    def settings(self, group: str, config: TopicConfig) -> TopicConfig:
        policy = self._policies.get(group)
        return config if policy is None else policy.over(config)

    def set(self, group: str, policy: GroupPolicy) -> list[PolicySet]:
        """Empty if nothing changes."""
        if policy == self.of(group):
            return []
        if policy == GroupPolicy():
            return [PolicySet(group, None)]
        if group not in self._policies and len(self._policies) >= MOST_POLICIES:
            raise StateConflict(f"{MOST_POLICIES} groups have policies already", hint="delete unused groups")
        return [PolicySet(group, policy)]

    def forget(self, group: str) -> list[PolicySet]:
        return [PolicySet(group, None)] if group in self._policies else []

    # State machine.

    def apply(self, event: PolicySet) -> None:
        if event.policy is None:
            self._policies.pop(event.group, None)
        else:
            self._policies[event.group] = event.policy

    def snapshot(self) -> tuple[KeptPolicy, ...]:
        return tuple(KeptPolicy(group, policy) for group, policy in sorted(self._policies.items()))

    def restore(self, kept: tuple[KeptPolicy, ...]) -> None:
        self._policies = {one.group: one.policy for one in kept}
