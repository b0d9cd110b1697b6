"""Group policies: settings of a queue that a group overrides."""

from goqueue.core.delivery.group_policies import GroupPolicy
from goqueue.engine.broker import Broker
from goqueue.engine.groups import group_name, remember_group
from goqueue.engine.stream_names import POLICIES
from goqueue.model.log import LogId
from goqueue.model.topic import TopicConfig, TopicName

__all__ = ["set_policy", "settings_of"]


def settings_of(broker: Broker, group: str, log: LogId) -> TopicConfig:
    """The settings of the topic, with the overrides of the group."""
    return broker.policies.settings(group, broker.catalog.topic(TopicName(log.topic)).config)


async def set_policy(broker: Broker, group: str, policy: GroupPolicy) -> GroupPolicy:
    """Set the policy, for leases and failures from now on."""
    await remember_group(broker, group_name(group))
    await broker.state_log.change(broker.state_log.owner(POLICIES), lambda: broker.policies.set(group, policy))
    return broker.policies.of(group)
