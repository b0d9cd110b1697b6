"""Topics: create, alter and delete them, with one atomic journal entry for the event and the logs it affects."""

from collections.abc import Callable

from goqueue.core.catalog.events import CatalogEvent
from goqueue.engine.broker import Broker
from goqueue.engine.groups import refresh_groups
from goqueue.engine.partition import PARTITION_STREAMS
from goqueue.engine.ports import CreateLog, DeleteLog, Operation
from goqueue.engine.remembered_ids import IDS
from goqueue.engine.shielded import shielded
from goqueue.engine.state_log import Also
from goqueue.engine.stream_names import CATALOG
from goqueue.errors import InvalidRequest
from goqueue.model.log import LogId
from goqueue.model.topic import Topic, TopicConfig, TopicName

__all__ = ["amend_topic", "create_topic", "delete_topic", "topic_size"]

INTERNAL_PREFIX = "__"


async def create_topic(broker: Broker, name: TopicName, partitions: int, config: TopicConfig) -> Topic:
    """Create a topic. Names that begin with two underscores are reserved for the broker."""
    if name.startswith(INTERNAL_PREFIX):
        raise InvalidRequest(f"{name} is a name for internal topics", hint="choose one that does not begin with __")

    def create() -> Also:
        logs = tuple(CreateLog(LogId(name, number)) for number in range(partitions))
        return Also(logs, written=lambda: broker.open_partitions(broker.catalog.topic(name)))

    await _change(broker, lambda: broker.catalog.create(name, partitions, config, now=broker.clock.now_ns()), create)
    return broker.catalog.topic(name)


def topic_size(broker: Broker, name: TopicName) -> int:
    """Size of the segments on disk, in bytes."""
    return sum(partition.log.size for partition in broker.partitions(name))


async def amend_topic(broker: Broker, name: TopicName, amend: Callable[[TopicConfig], TopicConfig]) -> Topic:
    """Alter some settings and leave the others, including those that another caller alters at the same time."""

    def follow() -> None:
        for partition in broker.partitions(name):
            partition.topic = broker.catalog.topic(name)

    def decide() -> CatalogEvent:
        return broker.catalog.alter(name, amend(broker.catalog.topic(name).config))

    await _change(broker, decide, lambda: Also(written=follow))
    return broker.catalog.topic(name)


async def delete_topic(broker: Broker, name: TopicName) -> None:
    """Delete the topic and all its state, so that a later topic of this name starts empty."""

    def delete() -> Also:
        partitions = broker.partitions(name)
        ends: list[Operation] = []
        for one in partitions:
            # Also end streams of empty machines: their snapshots on disk may still describe records that are gone.
            ends += [broker.streams.end(stream(one.id)) for stream in PARTITION_STREAMS]
            ends += broker.queues.end(broker.queues.of_log(one.id))
        forgotten = broker.ids.recent.forget(name)
        forgetting = [] if forgotten is None else [(broker.state_log.owner(IDS), forgotten)]
        ends += [DeleteLog(partition.id) for partition in partitions]
        return Also(tuple(ends), forgetting, written=lambda: broker.close_partitions(name))

    await _change(broker, lambda: broker.catalog.delete(name), delete)


async def _change(broker: Broker, decide: Callable[[], CatalogEvent], also: Callable[[], Also]) -> None:
    """Shielded: groups are refreshed even if the caller is cancelled."""

    async def change() -> None:
        await broker.state_log.change(broker.state_log.owner(CATALOG), lambda: [decide()], also)
        if len(broker.groups):
            await refresh_groups(broker)

    await shielded(change())
