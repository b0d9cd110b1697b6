"""Figures of `goqueue topic list`: records, size and rate of each topic, from offsets that the broker looks up."""

from goqueue.cli.topic_views import TopicFigures
from goqueue.client import Admin, LogId

__all__ = ["topic_figures"]

MINUTE_S = 60
NS_PER_S = 1_000_000_000
PARTITIONS_AT_ONCE = 1000
"""In one request, so that a broker with many partitions answers others in between."""


async def topic_figures(admin: Admin, *, now_ns: int, internal: bool) -> list[TopicFigures]:
    """Sorted by name; `internal` asks for topics whose names begin with two underscores as well."""
    topics = sorted(
        (topic for topic in await admin.topics() if internal or not topic.name.startswith("__")),
        key=lambda topic: topic.name,
    )
    sizes = await admin.topic_sizes()
    logs = [LogId(topic.name, number) for topic in topics for number in range(topic.partitions)]
    earliest: dict[LogId, int] = {}
    recent: dict[LogId, int] = {}
    latest: dict[LogId, int] = {}
    for start in range(0, len(logs), PARTITIONS_AT_ONCE):
        some = logs[start : start + PARTITIONS_AT_ONCE]
        earliest |= await admin.offsets_at(some, "earliest")
        recent |= await admin.offsets_at(some, now_ns - MINUTE_S * NS_PER_S)
        latest |= await admin.offsets_at(some, "latest")

    def records(name: str, partitions: int, since: dict[LogId, int]) -> int:
        return sum(max(0, latest[log] - since[log]) for log in (LogId(name, number) for number in range(partitions)))

    return [
        TopicFigures(
            topic.name,
            topic.partitions,
            records(topic.name, topic.partitions, earliest),
            sizes.get(topic.name),
            records(topic.name, topic.partitions, recent) / MINUTE_S,
            topic.config,
        )
        for topic in topics
    ]
