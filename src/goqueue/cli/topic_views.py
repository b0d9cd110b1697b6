"""Topics as `goqueue topic` prints them."""

from collections.abc import Mapping, Sequence

import msgspec

from goqueue.cli.amounts import limit_text
from goqueue.cli.output import print_table
from goqueue.cli.times import bytes_text
from goqueue.cli.topic_changes import SettingChange
from goqueue.model.log import LogId
from goqueue.model.topic import Topic, TopicConfig

__all__ = [
    "TopicFacts",
    "TopicFigures",
    "TopicLine",
    "print_changes",
    "print_topic",
    "print_topic_line",
    "print_topics",
    "topic_facts",
    "topic_line",
]


class TopicLine(msgspec.Struct, frozen=True):
    """A topic as it was created."""

    name: str
    partitions: int
    config: TopicConfig


class TopicFigures(msgspec.Struct, frozen=True):
    """A topic in a list. The rate is of the last minute; `size` is None where the broker does not tell it."""

    name: str
    partitions: int
    records: int
    size: int | None
    records_per_s: float
    config: TopicConfig


class PartitionFacts(msgspec.Struct, frozen=True):
    """`latest` is the offset that the next record gets; the key hashes go up to, but do not include, `hash_stop`."""

    partition: int
    earliest: int
    latest: int
    hash_start: int
    hash_stop: int


class TopicFacts(msgspec.Struct, frozen=True):
    """A topic by itself."""

    name: str
    epoch: int
    config: TopicConfig
    partitions: tuple[PartitionFacts, ...]


def topic_line(topic: Topic) -> TopicLine:
    return TopicLine(topic.name, topic.partitions, topic.config)


def topic_facts(topic: Topic, earliest: Mapping[LogId, int], latest: Mapping[LogId, int]) -> TopicFacts:
    logs = [LogId(topic.name, number) for number in range(topic.partitions)]
    partitions = tuple(
        PartitionFacts(log.partition, earliest[log], latest[log], part.start, part.stop)
        for log, part in zip(logs, topic.ranges, strict=True)
    )
    return TopicFacts(topic.name, topic.epoch, topic.config, partitions)


def print_topics(lines: Sequence[TopicFigures]) -> None:
    if not lines:
        print("there are no topics; `goqueue topic create NAME` makes one")
        return
    rows = [
        (
            line.name,
            line.partitions,
            f"{line.records:,}",
            "" if line.size is None else bytes_text(line.size),
            f"{line.records_per_s:,.1f}",
            line.config.durability,
            line.config.cleanup,
            limit_text("retention_ms", line.config.retention_ms),
            limit_text("retention_bytes", line.config.retention_bytes),
        )
        for line in lines
    ]
    columns = ("topic", "parts", "records", "size", "records/s", "durability", "cleanup", "retention", "max size")
    numbers = "parts,records,size,records/s"
    print_table("Topics", columns, rows, numbers=numbers, to_drop="max size,cleanup,durability,retention,parts")


def print_topic_line(what: str, line: TopicLine) -> None:
    print(f"{what} {line.name} with {line.partitions} partition{'' if line.partitions == 1 else 's'}")


def print_topic(facts: TopicFacts) -> None:
    print(f"topic  {facts.name}")
    print(f"epoch  {facts.epoch}")
    settings = msgspec.to_builtins(facts.config)
    print_table("Settings", ("setting", "value"), [(name, limit_text(name, settings[name])) for name in settings])
    rows = [
        (part.partition, part.earliest, part.latest, f"{part.hash_start:08x}–{part.hash_stop - 1:08x}")
        for part in facts.partitions
    ]
    columns = ("partition", "earliest", "latest", "key hashes")
    print_table("Partitions", columns, rows, numbers="partition,earliest,latest")


def print_changes(topic: str, changes: Sequence[SettingChange]) -> None:
    if not changes:
        print(f"{topic} has these settings already")
    for change in changes:
        before, after = limit_text(change.setting, change.before), limit_text(change.setting, change.after)
        print(f"{topic}: {change.setting} {before} → {after}")
