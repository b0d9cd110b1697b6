"""The dashboards: what is on them. `make dashboards` writes them as JSON, for Grafana to import."""

import json
from pathlib import Path

from deploy.grafana.panels import Dashboard, Panel, bars, chart, dashboard, number, row
from deploy.grafana.queries import quantile, quantiles, rate, total_rate

__all__ = ["dashboards", "files", "main"]

HERE = Path(__file__).parent
TOPIC = '$on, topic=~"$topic"'
PLACE = '$on, group=~"$group", topic=~"$topic"'


def _overview() -> Dashboard:
    panels = (
        number("Brokers", "count(goqueue_broker_build_info{$on})"),
        number("Topics", "sum(goqueue_broker_topics{$on})"),
        number("Published", total_rate("goqueue_broker_published_records_total"), unit="cps"),
        number("Longest wait", "max(goqueue_consumer_oldest_waiting_seconds{$on})", unit="s", bad_from=900),
        number("Disk used", "max(goqueue_storage_disk_used_share{$on})", unit="percentunit", bad_from=0.8),
        number("Storage failed", "max(goqueue_storage_failed{$on})", bad_from=1, text="1: all writes are refused"),
        row("Records"),
        chart("Published", (rate("goqueue_broker_published_records_total", "instance"), "{{instance}}"), unit="cps"),
        chart(
            "Consumed",
            (total_rate("goqueue_consumer_delivered_records_total"), "delivered from queues"),
            (total_rate("goqueue_consumer_fetched_records_total"), "fetched by offset"),
            unit="cps",
        ),
        chart("Refused", (rate("goqueue_broker_refused_records_total", "code"), "{{code}}"), unit="cps"),
        row("Clients"),
        chart(
            "Connections",
            ("sum by (listener) (goqueue_broker_connections{$on})", "{{listener}}"),
            ("sum by (listener) (goqueue_broker_connection_limit{$on})", "{{listener}} limit"),
            (rate("goqueue_broker_refused_connections_total", "listener"), "{{listener}} refused a second"),
        ),
        chart(
            "Requests",
            (rate("goqueue_broker_requests_total", "listener, outcome"), "{{listener}} {{outcome}}"),
            unit="reqps",
        ),
        chart(
            "Answer time, 99 of 100",
            (quantile(0.99, "goqueue_broker_request_seconds", "listener, kind, le"), "{{listener}} {{kind}}"),
            unit="s",
            text="Requests that may wait for something to happen, such as polls, are not among these.",
        ),
        row("The process"),
        chart("Event loop late by", *quantiles("goqueue_broker_loop_lag_seconds"), unit="s"),
        chart("Processor", ('rate(process_cpu_seconds_total{$on, job="goqueue"}[$__rate_interval])', "{{instance}}")),
        chart("Memory", ('process_resident_memory_bytes{$on, job="goqueue"}', "{{instance}}"), unit="bytes"),
    )
    return dashboard("goqueue-overview", "GoQueue / Overview", "Whether all is well, and how much is going on.", panels)


def _topics() -> Dashboard:
    def flow(title: str, metric: str, unit: str = "cps") -> Panel:
        return chart(title, (rate(metric, "topic", TOPIC), "{{topic}}"), unit=unit)

    panels = (
        flow("Records published", "goqueue_broker_published_records_total"),
        flow("Bytes published", "goqueue_broker_published_bytes_total", "Bps"),
        chart(
            "Records refused",
            (rate("goqueue_broker_refused_records_total", "topic, code", TOPIC), "{{topic}} {{code}}"),
            unit="cps",
        ),
        flow("Records delivered", "goqueue_consumer_delivered_records_total"),
        flow("Records fetched", "goqueue_consumer_fetched_records_total"),
        chart(
            "Bytes to consumers",
            (rate("goqueue_consumer_delivered_bytes_total", "topic", TOPIC), "{{topic}} delivered"),
            (rate("goqueue_consumer_fetched_bytes_total", "topic", TOPIC), "{{topic}} fetched"),
            unit="Bps",
        ),
        row("Delays"),
        chart(
            "Waiting until due", (f"sum by (topic) (goqueue_broker_delayed_records{{{TOPIC}}})", "{{topic}}"), width=12
        ),
        chart(
            "Fell due", (rate("goqueue_broker_due_records_total", "topic", TOPIC), "{{topic}}"), unit="cps", width=12
        ),
        row("What lies there"),
        bars(
            "Largest", f"topk(10, sum by (topic) (goqueue_storage_topic_bytes{{{TOPIC}}}))", "{{topic}}", unit="bytes"
        ),
        bars("Most records", f"topk(10, sum by (topic) (goqueue_storage_topic_records{{{TOPIC}}}))", "{{topic}}"),
        bars("Most partitions", f"topk(10, sum by (topic) (goqueue_broker_topic_partitions{{{TOPIC}}}))", "{{topic}}"),
    )
    text = "What comes into each topic, what goes out, and what lies there."
    choices = {"topic": "goqueue_broker_published_records_total"}
    return dashboard("goqueue-topics", "GoQueue / Topics", text, panels, choices=choices)


def _consumers() -> Dashboard:
    panels = (
        chart("Lag", (f"sum by (group, topic) (goqueue_consumer_lag_records{{{PLACE}}})", "{{group}} {{topic}}")),
        chart(
            "Oldest waiting",
            (f"max by (group, topic) (goqueue_consumer_oldest_waiting_seconds{{{PLACE}}})", "{{group}} {{topic}}"),
            unit="s",
        ),
        chart(
            "Settled",
            (rate("goqueue_consumer_settled_records_total", "group, topic", PLACE), "{{group}} {{topic}}"),
            unit="cps",
        ),
        row("Queues"),
        chart(
            "Ready, by priority",
            (f"sum by (priority) (goqueue_consumer_ready_records{{{PLACE}}})", "{{priority}}"),
            stacked=True,
        ),
        chart(
            "In flight",
            (f"sum by (group, topic) (goqueue_consumer_in_flight_records{{{PLACE}}})", "{{group}} {{topic}}"),
        ),
        chart(
            "Waiting to be tried again",
            (f"sum by (group, topic) (goqueue_consumer_retrying_records{{{PLACE}}})", "{{group}} {{topic}}"),
        ),
        chart(
            "Delayed",
            (f"sum by (group, topic) (goqueue_consumer_delayed_records{{{PLACE}}})", "{{group}} {{topic}}"),
        ),
        row("What became of deliveries"),
        chart(
            "Outcomes",
            *(
                (total_rate(f"goqueue_consumer_{how}_records_total", TOPIC), how.replace("_", " "))
                for how in ("acked", "nacked", "rejected", "timed_out", "expired")
            ),
            unit="cps",
        ),
        chart(
            "To the dead letters",
            (rate("goqueue_consumer_dead_lettered_records_total", "topic", TOPIC), "{{topic}}"),
            unit="cps",
        ),
        chart("Sent back", (rate("goqueue_consumer_redriven_records_total", "topic", TOPIC), "{{topic}}"), unit="cps"),
        row("Groups"),
        chart("Groups by state", ("sum by (state) (goqueue_consumer_groups{$on})", "{{state}}"), stacked=True, width=8),
        chart("Members", ('sum by (group) (goqueue_consumer_members{$on, group=~"$group"})', "{{group}}"), width=8),
        chart("Workers", ('sum by (group) (goqueue_consumer_workers{$on, group=~"$group"})', "{{group}}"), width=8),
        chart(
            "Rebalances",
            (
                'sum by (group) (increase(goqueue_consumer_rebalances_total{$on, group=~"$group"}[$__rate_interval]))',
                "{{group}}",
            ),
            ('sum by (group) (goqueue_consumer_rebalancing{$on, group=~"$group"})', "{{group}} under way"),
            width=12,
        ),
        chart(
            "Paused",
            ('sum by (group) (goqueue_consumer_paused{$on, group=~"$group"}) > 0', "{{group}}"),
            ("sum(increase(goqueue_consumer_tripped_breakers_total{$on}[$__rate_interval]))", "breakers tripped"),
            width=12,
        ),
        chart(
            "Expired for lack of use",
            ("sum(increase(goqueue_consumer_expired_groups_total{$on}[$__rate_interval]))", "groups"),
            ("sum(increase(goqueue_broker_forgotten_producers_total{$on}[$__rate_interval]))", "producers"),
            (
                "sum(increase(goqueue_broker_expired_transactional_ids_total{$on}[$__rate_interval]))",
                "transactional ids",
            ),
        ),
    )
    text = "How far groups are behind, what waits in queues, and what became of deliveries."
    choices = {"group": "goqueue_consumer_lag_records", "topic": "goqueue_consumer_lag_records"}
    return dashboard("goqueue-consumers", "GoQueue / Consumers and queues", text, panels, choices=choices)


def _storage() -> Dashboard:
    panels = (
        number("Disk used", "max(goqueue_storage_disk_used_share{$on})", unit="percentunit", bad_from=0.8),
        number("Disk full", "max(goqueue_storage_disk_full{$on})", bad_from=1, text="1: records are refused"),
        number("Read-only logs", "sum(goqueue_storage_read_only_logs{$on})", bad_from=1),
        number("Damaged ranges", "sum(goqueue_storage_damaged_ranges_total{$on})", bad_from=1),
        number("Damaged bytes", "sum(goqueue_storage_damaged_bytes_total{$on})", unit="bytes", bad_from=1),
        number("Lost journal entries", "sum(goqueue_storage_damaged_journal_entries_total{$on})", bad_from=1),
        row("Writing"),
        chart("Sync of the journal", *quantiles("goqueue_storage_sync_seconds"), unit="s"),
        chart("Syncs", ("sum(rate(goqueue_storage_sync_seconds_count{$on}[$__rate_interval]))", "syncs"), unit="ops"),
        chart(
            "Entries written together",
            *quantiles("goqueue_storage_write_group_entries"),
            text="The busier the broker, the more share a write and a sync.",
        ),
        row("Space"),
        chart("Disk used", ("goqueue_storage_disk_used_share{$on}", "{{instance}}"), unit="percentunit"),
        chart(
            "Logs and journal",
            ("sum(goqueue_storage_log_bytes{$on})", "logs"),
            ("sum(goqueue_storage_journal_bytes{$on})", "journal"),
            unit="bytes",
        ),
        chart("Removed by retention", (total_rate("goqueue_storage_dropped_bytes_total"), "bytes"), unit="Bps"),
        chart(
            "Segments",
            ("sum(goqueue_storage_segments{$on})", "there"),
            ("sum(increase(goqueue_storage_dropped_segments_total{$on}[$__rate_interval]))", "removed"),
        ),
        chart("Segments by topic", ("topk(10, sum by (topic) (goqueue_storage_topic_segments{$on}))", "{{topic}}")),
        chart(
            "Failures",
            ("sum by (task) (increase(goqueue_storage_failed_jobs_total{$on}[$__rate_interval]))", "{{task}}"),
            ("sum(increase(goqueue_storage_failed_logs_total{$on}[$__rate_interval]))", "logs gone read-only"),
            ("sum(increase(goqueue_storage_failed_reads_total{$on}[$__rate_interval]))", "reads refused by the disk"),
            ("sum(increase(goqueue_storage_damaged_files_total{$on}[$__rate_interval]))", "damaged copies and indexes"),
            ("sum(increase(goqueue_storage_id_index_rebuilds_total{$on}[$__rate_interval]))", "index of ids rebuilt"),
        ),
        row("Starts"),
        chart(
            "Started at",
            ('process_start_time_seconds{$on, job="goqueue"} * 1000', "{{instance}}"),
            unit="dateTimeAsIso",
        ),
        chart(
            "Start took",
            ("goqueue_broker_start_seconds{$on}", "{{instance}} all"),
            ("goqueue_storage_recovery_seconds{$on}", "{{instance}} storage"),
            unit="s",
        ),
        chart("Cut at recovery", ("goqueue_storage_dropped_tail_bytes_total{$on}", "{{instance}}"), unit="bytes"),
    )
    return dashboard(
        "goqueue-storage", "GoQueue / Storage", "Disk, journal, logs, and what is wrong with them.", panels
    )


def _transactions() -> Dashboard:
    panels = (
        chart("Open", ("sum by (state) (goqueue_broker_transactions{$on})", "{{state}}"), stacked=True),
        chart("Ended", (rate("goqueue_broker_ended_transactions_total", "outcome"), "{{outcome}}"), unit="cps"),
        chart(
            "Oldest", ("max by (instance) (goqueue_broker_oldest_transaction_seconds{$on})", "{{instance}}"), unit="s"
        ),
        chart("Producers remembered", ("sum by (instance) (goqueue_broker_producers{$on})", "{{instance}}")),
        chart("Schedules", ("sum by (instance) (goqueue_broker_schedules{$on})", "{{instance}}")),
        chart(
            "Values that do not fit their schema",
            (rate("goqueue_broker_refused_records_total", "topic", '$on, code="schema_violation"'), "{{topic}}"),
            unit="cps",
        ),
        row("Tracing"),
        chart("Spans out", (rate("goqueue_broker_spans_sent_total", "to"), "{{to}}"), unit="cps"),
        chart("Spans dropped", (rate("goqueue_broker_spans_dropped_total", "to"), "{{to}}"), unit="cps"),
        chart("Spans failed", (rate("goqueue_broker_spans_failed_total", "to"), "{{to}}"), unit="cps"),
    )
    text = "Transactions, producers, schedules, schemas, and where spans go."
    return dashboard("goqueue-transactions", "GoQueue / Transactions and tracing", text, panels)


def dashboards() -> dict[str, Dashboard]:
    """By the name of the file."""
    return {
        "overview.json": _overview(),
        "topics.json": _topics(),
        "consumers.json": _consumers(),
        "storage.json": _storage(),
        "transactions-and-tracing.json": _transactions(),
    }


def files() -> dict[Path, str]:
    """What is to be in each of them."""
    return {HERE / name: json.dumps(made, indent=2, ensure_ascii=False) + "\n" for name, made in dashboards().items()}


def main() -> None:
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
