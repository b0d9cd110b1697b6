import json

import pytest

from goqueue.errors import InvalidRequest
from goqueue.spark.pipelines import traces
from goqueue.spark.pipelines.hops import critical_paths, hops, percentiles
from goqueue.spark.pipelines.spans import as_spans, read_lines, stream_lines, topic_lines

BEGUN_MS = 1_767_225_600_000
TWO_GROUPS, RETRIED = "a" * 32, "b" * 32


def span(trace, number, operation, start_ms, end_ms, group=None, **more):
    return {
        "trace_id": trace,
        "span_id": f"{number:016x}",
        "operation": operation,
        "topic": "orders",
        "partition": 0,
        "offset": 7,
        "group": group,
        "start_ns": (BEGUN_MS + start_ms) * 1_000_000,
        "end_ns": (BEGUN_MS + end_ms) * 1_000_000,
        "status": "ok",
    } | more


def parent(number):
    return {"parent_id": f"{number:016x}"}


SPANS = [
    span(TWO_GROUPS, 1, "publish", 0, 2),
    span(TWO_GROUPS, 2, "consume", 5, 6, "mail"),
    span(TWO_GROUPS, 3, "consume", 10, 12, "billing"),
    span(TWO_GROUPS, 4, "ack", 13, 14, "mail"),
    span(TWO_GROUPS, 5, "ack", 20, 32, "billing"),
    span(RETRIED, 1, "publish", 0, 1, key="k"),
    span(RETRIED, 2, "consume", 2, 3, "billing", **parent(1)),
    span(RETRIED, 3, "nack", 10, 11, "billing", **parent(2), status="error", error="card refused"),
    span(RETRIED, 4, "consume", 1010, 1011, "billing", **parent(3)),
    span(RETRIED, 5, "ack", 1020, 1021, "billing", **parent(4)),
]


@pytest.fixture(scope="module")
def lines(spark):
    texts = [json.dumps(one) for one in SPANS]
    return spark.createDataFrame([(text,) for text in [*texts, '{"trace_id": "cut o', ""]], "value string")


def test_lines_are_read_whatever_they_leave_out_and_however_they_call_it(spark, lines):
    other = {"traceId": "c", "spanId": "1", "name": "publish", "consumer_group": "g", "extra": {"x": 1}}
    other |= {"start": "2026-01-01T00:00:00.000001Z", "duration_ns": 5000, "partition": "none", "reason": "full"}
    frame = spark.createDataFrame([(json.dumps(other),)], "value string")
    rows = as_spans(lines.union(frame)).collect()
    assert [row.is_span for row in rows].count(False) == 1
    found = next(row for row in rows if row.trace_id == "c")
    assert (found.operation, found.group, found.partition, found.is_error, found.is_span) == (
        "publish",
        "g",
        None,
        True,
        True,
    )
    assert (found.start_ns, found.end_ns) == (BEGUN_MS * 1_000_000 + 1000, BEGUN_MS * 1_000_000 + 6000)


def test_each_step_is_measured_from_the_one_before_it_in_its_own_group(lines):
    linked = hops(as_spans(lines).where("is_span")).persist()
    found = linked.selectExpr("trace_id", "hop", "group", "latency_ns div 1000000 ms").collect()
    assert {(row.hop, row.group, row.ms) for row in found if row.trace_id == TWO_GROUPS} == {
        ("publish", None, 2),
        ("publish→consume", "mail", 4),
        ("publish→consume", "billing", 10),
        ("consume→ack", "mail", 8),
        ("consume→ack", "billing", 20),
    }
    assert {(row.hop, row.ms) for row in found if row.trace_id == RETRIED} == {
        ("publish", 1),
        ("publish→consume", 2),
        ("consume→nack", 8),
        ("nack→consume", 1000),
        ("consume→ack", 10),
    }
    slow = {row.hop: (row["count"], row.p50_ms, row.max_ms) for row in percentiles(linked).collect()}
    assert slow["publish→consume"] == (3, 4.0, 10.0)
    assert next(iter(slow)) == "nack→consume"
    path = critical_paths(linked).collect()
    assert [(row.hop, row.latency_ms) for row in path if row.trace_id == TWO_GROUPS] == [
        ("publish", 2.0),
        ("publish→consume", 10.0),
        ("consume→ack", 20.0),
    ]
    retried = [row for row in path if row.trace_id == RETRIED]
    assert [row.hop for row in retried] == [
        *("publish", "publish→consume", "consume→nack", "nack→consume", "consume→ack"),
    ]
    assert sum(row.latency_ms for row in retried) == 1021.0
    assert round(retried[3].share, 2) == 0.98


def test_errors_and_outcomes_are_counted(lines):
    spans = as_spans(lines).where("is_span").persist()
    nacks = traces.operations(spans).first()
    assert (nacks.operation, nacks.errors, nacks.error_rate, nacks.last_error) == ("nack", 1, 1.0, "card refused")
    billing = traces.outcomes(spans).first()
    assert (billing.group, billing.consume, billing.ack, billing.nack) == ("billing", 3, 2, 1)
    assert round(billing.failure_rate, 2) == 0.33


def test_a_folder_of_span_files_becomes_a_report(spark, tmp_path):
    (tmp_path / "spans").mkdir()
    (tmp_path / "spans" / "1.jsonl").write_text("".join(json.dumps(one) + "\n" for one in SPANS) + '{"cut')
    source = read_lines(spark, str(tmp_path / "spans"))
    found = traces.run(source, tmp_path / "report")
    assert (found.spans, found.traces, found.errors, found.unreadable) == (10, 2, 1, 1)
    assert [(row["trace_id"], row["total_ms"], row["last"]) for row in found.slowest] == [
        (RETRIED, 1021.0, "ack"),
        (TWO_GROUPS, 32.0, "ack"),
    ]
    assert max(found.critical_path, key=lambda step: step.share).hop == "nack→consume"
    page = (tmp_path / "report" / "traces.html").read_text()
    assert page.count("<svg") == 4
    assert "card refused" in page
    assert (tmp_path / "report" / "traces-slowest-journeys.parquet").exists()
    with pytest.raises(InvalidRequest, match="there is no trace dddd"):
        traces.run(source, tmp_path / "report", trace="dddd")


def test_spans_that_come_later_are_added_to_those_before(spark, tmp_path):
    files, seen = tmp_path / "spans", []
    files.mkdir()

    def run():
        lines = stream_lines(spark, str(files))
        query = traces.follow(spark, lines, tmp_path, every_s=None, after=lambda kept: seen.append(kept.count()))
        query.awaitTermination()

    (files / "1.jsonl").write_text(json.dumps(SPANS[0]) + "\n" + json.dumps(SPANS[1]) + "\n")
    run()
    (files / "2.jsonl").write_text(json.dumps(SPANS[3]) + "\n")
    run()
    assert seen == [2, 3]
    assert sorted(row.operation for row in traces.kept_spans(spark, tmp_path).collect()) == [
        "ack",
        "consume",
        "publish",
    ]


def test_spans_may_be_the_values_of_a_topic(table, producer, topic):
    producer.send_many(topic, [json.dumps(one).encode() for one in SPANS[:3]] + [b"\xff", None])
    assert as_spans(topic_lines(table(subscribe=topic).load())).where("is_span").count() == 3
