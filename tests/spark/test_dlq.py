import json
from datetime import UTC, datetime

import pytest
from pyarrow import parquet
from pyspark.sql import functions as F

from goqueue.client.sync import Worker
from goqueue.errors import InvalidRequest
from goqueue.spark.pipelines import dlq
from goqueue.spark.pipelines.letters import READ, as_letters, still_open
from goqueue.spark.pipelines.reasons import NO_REASON, clustered, merged, template_of, with_templates
from goqueue.spark.pipelines.redriving import redrive

LETTERS = (
    "partition int, offset long, died timestamp, key string, group string, cause string, topic string, reason string"
)


@pytest.fixture
def rejected(server, admin, producer, topic):
    """A topic whose records were all rejected, by what they say."""

    def reject(values):
        producer.send_many(topic, values, keys=[b"k%d" % (number % 2) for number in range(len(values))])
        with Worker(topic, group="billing", bootstrap=server.native) as worker:
            left = len(values)
            while left:
                for job in worker.take():
                    worker.reject(job, reason=job.value.decode())
                    left -= 1
        return topic

    return reject


def letters(spark, reasons):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        (0, at, start.replace(minute=at), f"k{at % 2}", "g", "rejected", "orders", text)
        for at, text in enumerate(reasons)
    ]
    return spark.createDataFrame(rows, LETTERS)


def test_what_differs_from_record_to_record_is_taken_out_of_a_reason(spark):
    reasons = {
        "timeout after 5000 ms": "timeout after <n> ms",
        "no order 'A-17' for \"Eve\"": "no order <text> for <text>",
        "it isn't there": "it isn't there",
        "job 550e8400-e29b-41d4-a716-446655440000 at 0xDEADbeef": "job <id> at <hex>",
        "digest deadbeef01 differs from\n  feedface": "digest <hex> differs from feedface",
        "cannot reach 10.0.0.7:5432, see https://wiki.example/x?y=1": "cannot reach <address>, see <url>",
        "late since 2026-01-02T03:04:05.678Z for a.b@example.org": "late since <time> for <mail>",
        "": NO_REASON,
    }
    frame = spark.createDataFrame([(one,) for one in reasons], "reason string")
    found = frame.select("reason", template_of(frame.reason).alias("template")).collect()
    assert {row.reason: row.template for row in found} == reasons


def test_templates_that_are_alike_are_one_cluster_whose_name_stays():
    first = merged(["no such user alice", "disk is full", "no such user bob"])
    assert [one.title for one in first] == ["no such user alice", "disk is full", "no such user alice"]
    later = merged([*(one.template for one in first), "card was refused by the bank", "disk is very full"])
    assert [one.cluster for one in later[:3]] == [one.cluster for one in first]
    assert later[4].cluster == first[1].cluster
    assert len({one.cluster for one in later}) == 3


def test_tables_of_a_triage_count_every_letter(spark):
    reasons = ["timeout after 5 ms", "timeout after 7 ms", "bad card", "timeout after 9 ms"]
    named = clustered(with_templates(letters(spark, reasons)))
    named = named.selectExpr("*", "3 deliveries", "3 failures").persist()
    found = dlq.clusters(named).collect()
    assert [(row.title, row.letters, row["keys"], row.example) for row in found] == [
        ("timeout after <n> ms", 3, 2, "timeout after 5 ms"),
        ("bad card", 1, 1, "bad card"),
    ]
    assert (found[0].first_seen.minute, found[0].last_seen.minute, found[0]["first"]) == (0, 3, "0/0")
    assert [(row.key, row.letters) for row in dlq.top_keys(named).collect()] == [("k0", 2), ("k1", 2)]
    assert [(row.group, row.cause, row.letters) for row in dlq.by_group(named).collect()] == [("g", "rejected", 4)]
    assert [(row.failures, row.letters) for row in dlq.attempts(named).collect()] == [(3, 4)]
    trend = dlq.trend(named, 120, [found[0].cluster]).collect()
    assert [(row["from"].minute, row.cluster, row.letters) for row in trend] == [
        (0, found[0].cluster, 2),
        (2, found[0].cluster, 1),
        (2, "others", 1),
    ]


def test_a_cluster_is_sent_back_once_and_the_other_letters_stay(spark, server, admin, table, rejected, tmp_path):
    topic = rejected([b"timeout after %d ms" % number for number in range(6)] + [b"bad card"] * 3)
    stretch = dlq.letters_of(server.native, topic)
    wish = dlq.Redrive(where="group = 'billing' and reason like 'timeout%' and text <> ''", dry_run=True)
    triage = dlq.run(spark, stretch, topic, tmp_path, wish=wish)
    assert triage.letters == 9
    assert [(one.title, one.letters) for one in triage.clusters] == [("timeout after <n> ms", 6), ("bad card", 3)]
    assert (triage.redriven.done, triage.redriven.failed, admin.dead_letter_stats(topic).count) == (6, 0, 9)
    page = (tmp_path / f"dlq-{topic}.html").read_text()
    assert "bad card" in page
    assert f"goqueue pipeline dlq {topic} --redrive --cluster {triage.clusters[0].cluster} --dry-run" in page
    assert page.count("<svg") == 2
    assert "src=" not in page
    assert "<link" not in page
    told = json.loads((tmp_path / f"dlq-{topic}.json").read_text())
    assert [row["letters"] for row in told["Clusters"]] == [6, 3]
    assert parquet.read_table(tmp_path / f"dlq-{topic}-clusters.parquet").num_rows == 2

    letters = as_letters(stretch.read(spark, READ))
    chosen = dlq.selection(clustered(with_templates(letters)), triage.clusters, cluster=triage.clusters[0].cluster)
    done = redrive(chosen, server.native, topic, per_second=1000.0)
    assert (done.done, done.failed, done.missing) == (6, 0, 0)
    assert admin.dead_letter_stats(topic).by_reason == {"bad card": 3}
    assert table(subscribe=topic).load().where("value like 'timeout%'").count() == 12

    assert redrive(letters.where("reason like 'timeout%'"), server.native, topic).missing == 6
    left = still_open(letters, server.native, topic).select("reason", "group", "cause", "topic", "key").distinct()
    assert sorted(tuple(row) for row in left.collect()) == [
        ("bad card", "billing", "rejected", topic, "k0"),
        ("bad card", "billing", "rejected", topic, "k1"),
    ]


def test_letters_are_not_sent_back_by_a_name_or_an_expression_that_means_nothing(spark):
    named = letters(spark, ["bad card"]).withColumns({"value": F.lit("v"), "cluster": F.lit("aa")})
    there = [dlq.Cluster("aa", 1, "bad card")]
    with pytest.raises(InvalidRequest, match="there is no cluster bb"):
        dlq.selection(named, there, cluster="bb")
    with pytest.raises(InvalidRequest, match=r"is not understood.*resolved"):
        dlq.selection(named, there, where="colour = 'red'")


def test_a_topic_without_dead_letters_has_an_empty_report(spark, server, topic, tmp_path):
    triage = dlq.run(spark, dlq.letters_of(server.native, topic), topic, tmp_path / "new")
    assert (triage.letters, triage.clusters) == (0, ())
    assert (tmp_path / "new" / f"dlq-{topic}.html").exists()
