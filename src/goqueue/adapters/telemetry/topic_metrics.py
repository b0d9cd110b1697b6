"""Metrics of topics: records published, delivered, settled and stored."""

from collections.abc import Callable, Iterator

from prometheus_client.core import Metric

from goqueue.adapters.telemetry.bounded import Names, Sums
from goqueue.adapters.telemetry.families import OTHER, counter, gauge
from goqueue.adapters.telemetry.family import Family
from goqueue.engine.broker import Broker
from goqueue.engine.slices import in_slices
from goqueue.engine.tally import TopicTally
from goqueue.model.topic import TopicName

__all__ = ["FAMILIES", "TopicMetrics"]

TOPIC = ("topic",)


def _count(name: str, text: str) -> Family:
    return Family(name, "counter", text, TOPIC)


COUNTERS: tuple[tuple[Family, Callable[[TopicTally], int]], ...] = (
    (
        _count("goqueue_broker_published_records", "Records appended and confirmed, from all senders"),
        lambda tally: tally.published_records,
    ),
    (
        _count("goqueue_broker_published_bytes", "Bytes of these as they lie in the log"),
        lambda tally: tally.published_bytes,
    ),
    (_count("goqueue_broker_due_records", "Delayed records that fell due"), lambda tally: tally.fired),
    (
        _count("goqueue_consumer_fetched_records", "Records read by offset, without a lease"),
        lambda tally: tally.fetched_records,
    ),
    (_count("goqueue_consumer_fetched_bytes", "Bytes of these"), lambda tally: tally.fetched_bytes),
    (
        _count("goqueue_consumer_delivered_records", "Records leased to consumers; each delivery of a record counts"),
        lambda tally: tally.delivered,
    ),
    (_count("goqueue_consumer_delivered_bytes", "Bytes of these"), lambda tally: tally.delivered_bytes),
    (_count("goqueue_consumer_acked_records", "Deliveries acknowledged"), lambda tally: tally.acked),
    (
        _count("goqueue_consumer_nacked_records", "Deliveries that consumers said failed"),
        lambda tally: tally.nacked,
    ),
    (_count("goqueue_consumer_rejected_records", "Deliveries rejected for good"), lambda tally: tally.rejected),
    (
        _count("goqueue_consumer_timed_out_records", "Deliveries not acknowledged in time"),
        lambda tally: tally.timed_out,
    ),
    (
        _count("goqueue_consumer_dead_lettered_records", "Records of the topic that went to the dead letters"),
        lambda tally: tally.dead_lettered,
    ),
    (
        _count("goqueue_consumer_expired_records", "Records too old to be delivered, in each group that met them"),
        lambda tally: tally.expired,
    ),
    (
        _count("goqueue_consumer_redriven_records", "Dead letters sent back to the topic"),
        lambda tally: tally.redriven,
    ),
)
REFUSED = Family(
    "goqueue_broker_refused_records", "counter", "Records not taken, by the code of the error", ("topic", "code")
)
PARTITIONS = Family("goqueue_broker_topic_partitions", "gauge", "Partitions of the topic", TOPIC)
DELAYED = Family("goqueue_broker_delayed_records", "gauge", "Records that wait until they are due", TOPIC)
KEPT = Family("goqueue_storage_topic_records", "gauge", "Offsets from the first to the last of the log", TOPIC)
SIZE = Family("goqueue_storage_topic_bytes", "gauge", "Bytes in the logs of the topic", TOPIC)
SEGMENTS = Family("goqueue_storage_topic_segments", "gauge", "Segments of the topic's logs", TOPIC)
READ_ONLY = Family("goqueue_storage_read_only_logs", "gauge", "Partition logs that take no writes any more", TOPIC)
GAUGES = (PARTITIONS, DELAYED, KEPT, SIZE, SEGMENTS, READ_ONLY)
FAMILIES = (*(family for family, _ in COUNTERS), REFUSED, *GAUGES)


class TopicMetrics:
    """Metrics of topics. `look` is called on the event loop, `families` after it, by any thread."""

    def __init__(self, broker: Broker, most: int) -> None:
        self._broker = broker
        self._names: Names[str] = Names(most, OTHER)
        self._others: Sums[str] = Sums(len(COUNTERS))
        self._others_refused: dict[str, Sums[str]] = {}
        self._counts: dict[str, list[int]] = {}
        self._refused: dict[tuple[str, str], int] = {}
        self._gauges: dict[str, list[int]] = {}
        self.log_bytes = self.segments = self.delayed = 0

    async def look(self) -> None:
        tallies = list(self._broker.tally)
        self._names.update(name for name, _ in tallies)
        has_others = False
        self._counts = {}
        async for name, tally in in_slices(tallies):
            counts = [read(tally) for _, read in COUNTERS]
            if name in self._names:
                self._counts[name] = counts
            else:
                has_others = True
                self._others.meet(name, counts)
        self._others.finish()
        if has_others:
            self._counts[OTHER] = list(self._others.totals)
        self._look_at_refusals(tallies)
        await self._look_at_logs()

    def _look_at_refusals(self, tallies: list[tuple[str, TopicTally]]) -> None:
        self._refused = {}
        others: dict[str, dict[str, list[int]]] = {}
        for name, tally in tallies:
            for code, records in tally.refused.items():
                if name in self._names:
                    self._refused[name, code] = records
                else:
                    others.setdefault(code, {})[name] = [records]
        for code in {*others, *self._others_refused}:
            sums = self._others_refused.setdefault(code, Sums(1))
            sums.update(others.get(code, {}))
            self._refused[OTHER, code] = sums.totals[0]

    async def _look_at_logs(self) -> None:
        self._gauges = {}
        async for topic in in_slices(list(self._broker.catalog)):
            if topic.name not in self._broker.catalog:
                continue
            shown = str(topic.name) if topic.name in self._names else OTHER
            seen = self._gauges.setdefault(shown, [0] * len(GAUGES))
            for place, value in enumerate(self._seen(topic.name)):
                seen[place] += value
        self.delayed, self.log_bytes, self.segments = (
            sum(seen[place] for seen in self._gauges.values()) for place in map(GAUGES.index, (DELAYED, SIZE, SEGMENTS))
        )

    def _seen(self, name: TopicName) -> tuple[int, ...]:
        """Values of a topic, in the order of the gauges."""
        partitions = self._broker.partitions(name)
        delayed = kept = size = segments = read_only = 0
        for partition in partitions:
            log = partition.log
            delayed += len(partition.delays)
            kept += log.next_offset - log.start_offset
            size += log.size
            segments += len(log.segments)
            read_only += log.failure is not None
        return len(partitions), delayed, kept, size, segments, read_only

    def families(self) -> Iterator[Metric]:
        for place, (family, _) in enumerate(COUNTERS):
            yield counter(family, (((name,), counts[place]) for name, counts in self._counts.items()))
        yield counter(REFUSED, self._refused.items())
        for place, family in enumerate(GAUGES):
            yield gauge(family, (((name,), seen[place]) for name, seen in self._gauges.items()))
