"""Metrics of the broker as a whole: clients and their requests, transactions, storage, the process."""

from collections.abc import Iterator

from prometheus_client.core import Metric

from goqueue import __version__, codec
from goqueue.adapters.telemetry.families import counter, gauge, histogram, single
from goqueue.adapters.telemetry.family import Family
from goqueue.adapters.telemetry.topic_metrics import TopicMetrics
from goqueue.engine.broker import Broker
from goqueue.engine.histogram import Histogram

__all__ = ["FAMILIES", "BrokerMetrics"]

NS_PER_S = 1_000_000_000

BUILD = Family("goqueue_broker_build_info", "gauge", "1; the running version", ("version", "codec"))
TOPICS = Family("goqueue_broker_topics", "gauge", "Topics")
PARTITIONS = Family("goqueue_broker_partitions", "gauge", "Partitions")
SCHEDULES = Family("goqueue_broker_schedules", "gauge", "Schedules")
PRODUCERS = Family("goqueue_broker_producers", "gauge", "Idempotent producers that are remembered")
TRANSACTIONS = Family("goqueue_broker_transactions", "gauge", "Transactions that have not ended, by state", ("state",))
OLDEST = Family("goqueue_broker_oldest_transaction_seconds", "gauge", "Age of the oldest of these, 0 for none")
ENDED = Family(
    "goqueue_broker_ended_transactions",
    "counter",
    "Transactions since there is data: committed, aborted, or timed out, which are aborted too and counted apart",
    ("outcome",),
)
CONNECTIONS = Family("goqueue_broker_connections", "gauge", "Open connections", ("listener",))
MOST_CONNECTIONS = Family(
    "goqueue_broker_connection_limit",
    "gauge",
    "Connections that may be open, of the listeners there are",
    ("listener",),
)
REFUSED_CONNECTIONS = Family(
    "goqueue_broker_refused_connections",
    "counter",
    "Connections closed at once as there were too many; gRPC does not tell its own",
    ("listener",),
)
REQUESTS = Family(
    "goqueue_broker_requests",
    "counter",
    "Requests answered: ok, refused (it was not right), failed (the broker could not)",
    ("listener", "kind", "outcome"),
)
REQUEST_SECONDS = Family(
    "goqueue_broker_request_seconds",
    "histogram",
    "Time from a complete request to its answer, of kinds that do not wait for something to happen",
    ("listener", "kind"),
)
LOOP_LAG = Family(
    "goqueue_broker_loop_lag_seconds",
    "histogram",
    "How late the event loop came to what was due, ten times a second while there are requests",
)
START = Family("goqueue_broker_start_seconds", "gauge", "How long the start took, until requests were served")
RECOVERY = Family("goqueue_storage_recovery_seconds", "gauge", "Of these, to open storage and read the journal")
JOURNAL = Family("goqueue_storage_journal_bytes", "gauge", "Journal that a recovery would read")
DISK = Family("goqueue_storage_disk_used_share", "gauge", "Used part of the disk, 0 to 1")
LOG_BYTES = Family("goqueue_storage_log_bytes", "gauge", "Bytes in partition logs")
SEGMENTS = Family("goqueue_storage_segments", "gauge", "Segments of partition logs")
SYNC_SECONDS = Family("goqueue_storage_sync_seconds", "histogram", "Time of each sync (fsync) of the journal")
GROUP_ENTRIES = Family("goqueue_storage_write_group_entries", "histogram", "Journal entries that were written together")
FAMILIES = (
    *(BUILD, TOPICS, PARTITIONS, SCHEDULES, PRODUCERS, TRANSACTIONS, OLDEST, ENDED, CONNECTIONS, REQUESTS),
    *(MOST_CONNECTIONS, REFUSED_CONNECTIONS),
    *(REQUEST_SECONDS, LOOP_LAG, START, RECOVERY, JOURNAL, DISK, LOG_BYTES, SEGMENTS, SYNC_SECONDS, GROUP_ENTRIES),
)


class BrokerMetrics:
    """Metrics of the broker. `look` is called on the event loop, `families` after it, by any thread."""

    def __init__(self, broker: Broker, topics: TopicMetrics, loop_lag: Histogram, start_ns: int) -> None:
        self._broker = broker
        self._topics = topics
        self._loop_lag = loop_lag
        self._start_ns = start_ns
        self._seen: list[Metric] = []

    def look(self) -> None:
        broker, stats = self._broker, self._broker.transactions.stats()
        oldest = next(iter(broker.transactions.live()), None)
        age_ns = 0 if oldest is None else max(0, broker.clock.now_ns() - oldest.began_at)
        listeners = broker.traffic.listeners()
        ended = {"committed": stats.committed, "aborted": stats.aborted, "timed_out": stats.timed_out}
        self._seen = [
            gauge(BUILD, [((__version__, codec.ACTIVE), 1)]),
            single(TOPICS, len(broker.catalog)),
            single(PARTITIONS, len(broker.storage.logs())),
            single(SCHEDULES, len(broker.schedules)),
            single(PRODUCERS, len(broker.producer_ids)),
            gauge(TRANSACTIONS, [(("open",), stats.open), (("prepared",), stats.prepared)]),
            single(OLDEST, age_ns / NS_PER_S),
            counter(ENDED, (((how,), count) for how, count in ended.items())),
            gauge(CONNECTIONS, (((name,), traffic.connections) for name, traffic in listeners)),
            gauge(
                MOST_CONNECTIONS,
                (((name,), one.most_connections) for name, one in listeners if one.most_connections),
            ),
            counter(
                REFUSED_CONNECTIONS,
                (((name,), one.refused_connections) for name, one in listeners if name != "grpc"),
            ),
            counter(
                REQUESTS,
                (
                    ((name, kind, outcome), count)
                    for name, traffic in listeners
                    for (kind, outcome), count in traffic.requests.items()
                ),
            ),
            single(START, self._start_ns / NS_PER_S),
            single(RECOVERY, broker.recovery_ns / NS_PER_S),
            single(JOURNAL, broker.storage.journal_bytes),
            single(DISK, broker.guard.used_share),
            single(LOG_BYTES, self._topics.log_bytes),
            single(SEGMENTS, self._topics.segments),
        ]

    def families(self) -> Iterator[Metric]:
        yield from self._seen
        commit, listeners = self._broker.commit, self._broker.traffic.listeners()
        yield histogram(
            REQUEST_SECONDS,
            (((name, kind), taken) for name, traffic in listeners for kind, taken in tuple(traffic.seconds.items())),
        )
        yield histogram(LOOP_LAG, [((), self._loop_lag)])
        yield histogram(SYNC_SECONDS, [((), commit.sync_seconds)])
        yield histogram(GROUP_ENTRIES, [((), commit.group_sizes)])
