import pytest

from goqueue.adapters.telemetry.span_lines import line_of
from goqueue.client.sync import Admin, Producer, TopicConfig, Worker
from goqueue.errors import InvalidRequest
from goqueue.model.contexts import pack
from goqueue.model.span import Operation, SpanRun, spans_of
from goqueue.model.trace import TraceContext, parse_traceparent
from goqueue.spark.pipelines import traces
from goqueue.spark.pipelines.hops import critical_paths, hops, percentiles
from goqueue.spark.pipelines.spans import as_spans, read_lines, stream_lines, topic_lines
from tests.behaviour.serving import running_server

BEGUN_MS = 1_767_225_600_000
GIVEN = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def run(offset, operation, start_ms, end_ms, group="", delivery=0, **more):
    times = [(BEGUN_MS + at_ms) * 1_000_000 for at_ms in (start_ms, end_ms)]
    place = {"topic": "orders", "created_ns": 5, "offset": offset, "group": group, "delivery": delivery}
    return SpanRun(Operation(operation), *times, **place | more)


RUNS = [
    run(7, "publish", 0, 2),
    run(7, "consume", 5, 6, "mail", 1),
    run(7, "consume", 10, 12, "billing", 1),
    run(7, "ack", 13, 14, "mail", 1),
    run(7, "ack", 20, 32, "billing", 1),
    run(8, "publish", 0, 1, key=b"k"),
    run(8, "consume", 2, 3, "billing", 1),
    run(8, "nack", 10, 11, "billing", 1, error="card refused"),
    run(8, "consume", 1010, 1011, "billing", 2),
    run(8, "ack", 1020, 1021, "billing", 2),
]
TWO_GROUPS, RETRIED = (spans_of(RUNS[number])[0].trace_id for number in (0, 5))

SEVERAL = pack(
    (distance, TraceContext(f"{distance + 1:032x}", f"{2**63 + distance:016x}", distance % 2))
    for distance in (0, 1, 700)
)
EVERY_KIND = [
    run(0, "publish", 0, 1, count=1000, transaction=9),
    run(0, "consume", 2, 3, "g", 1, count=3),
    run(5, "ack", 4, 5, "g", 1, count=4, step=100),
    run(2, "reject", 2, 3, "g", 1, error="no"),
    run(3, "publish", 0, 1, context=parse_traceparent(GIVEN), key=b"\xff", partition=2),
    run(3, "delay", 1, 9, context=parse_traceparent(GIVEN), partition=2),
    run(3, "consume", 2, 3, "größe x", 4, context=parse_traceparent(GIVEN), partition=2),
    run(3, "nack", 2, 3, "größe x", 4, context=parse_traceparent(GIVEN), partition=2, error="x"),
    run(10, "publish", 0, 1, count=3, contexts=SEVERAL),
    run(10, "ack", 2, 3, "g", 2, count=3, contexts=SEVERAL),
    run(4, "expire", 5, 5, "g"),
    run(4, "dlq", 5, 5, "g", 3, target="orders.dlq/0/1", error="expired"),
    run(4, "redrive", 6, 6, target="orders/0/9"),
    run(-1_767_225_600, "publish", 6, 6, error="record_too_large"),
    run(0, "transaction", 0, 9, topic="", created_ns=0, transaction=9),
]


def texts(runs):
    return [line_of(one).decode() for one in runs]


@pytest.fixture(scope="module")
def lines(spark):
    return spark.createDataFrame([(text,) for text in [*texts(RUNS), '{"operation": "cut o', ""]], "value string")


def test_a_run_becomes_a_row_for_each_record_with_the_ids_that_the_broker_gives_it(spark):
    damaged = '{"operation":"publish","start_ns":1,"topic":"t","offset":0,"count":99999999999999}'
    wrong = '{"operation":"dance","start_ns":1,"topic":"t","offset":0}'
    frame = spark.createDataFrame([(text,) for text in [*texts(EVERY_KIND), damaged, wrong, "7"]], "value string")
    rows = as_spans(frame).collect()
    assert [row.is_span for row in rows].count(False) == 3
    found = {(row.trace_id, row.span_id, row.parent_id or "", row.offset) for row in rows if row.is_span}
    wanted = [span for one in EVERY_KIND for span in spans_of(one)]
    assert found == {(span.trace_id, span.span_id, span.parent_id, span.offset) for span in wanted}
    assert len(wanted) == len(rows) - 3
    assert {row.key for row in rows} == {None, "/w=="}
    assert {(row.operation, row.error) for row in rows if row.is_error} == {
        ("reject", "no"),
        ("nack", "x"),
        ("dlq", "expired"),
        ("publish", "record_too_large"),
    }


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
    (tmp_path / "spans" / "1.jsonl").write_text("\n".join([*texts(RUNS), '{"cut']))
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

    (files / "1.jsonl").write_text("\n".join(texts(RUNS[:2])) + "\n")
    run()
    (files / "2.jsonl").write_text(texts(RUNS[3:4])[0] + "\n")
    (files / "3.jsonl.open").write_text(texts(RUNS[4:5])[0] + "\n")
    run()
    assert seen == [2, 3]
    assert sorted(row.operation for row in traces.kept_spans(spark, tmp_path).collect()) == [
        "ack",
        "consume",
        "publish",
    ]


def test_spans_may_be_the_values_of_a_topic(table, producer, topic):
    producer.send_many(topic, [line_of(one) for one in RUNS[:3]] + [b"\xff", None])
    assert as_spans(topic_lines(table(subscribe=topic).load())).where("is_span").count() == 3


def test_the_files_of_a_broker_become_a_report_of_what_happened_there(spark, tmp_path):
    with running_server(tmp_path / "broker", "[tracing]\nrate = 1.0\n") as server:
        with Admin(server.native) as admin:
            admin.create_topic("orders", 1, TopicConfig(retry_backoff_ms=50))
        with Producer(server.native) as producer:
            producer.send_many("orders", [b"v"] * 500)
        with Worker("orders", group="billing", bootstrap=server.native) as worker:
            jobs = worker.take(100)
            worker.nack(jobs[0], reason="card refused")
            worker.ack(*jobs[1:])
            again = []
            while not any(job.deliveries == 2 for job in again):
                again += worker.take(100)
            worker.ack(*again)
        server.stop()
    folder = tmp_path / "broker" / "data" / "traces"
    live = []
    stream = stream_lines(spark, str(folder))
    query = traces.follow(spark, stream, tmp_path / "live", every_s=None, after=lambda kept: live.append(kept.count()))
    query.awaitTermination()
    found = traces.run(read_lines(spark, str(folder)), tmp_path / "report")
    assert found.unreadable == 0
    assert 400 <= found.traces <= 600
    assert found.errors == 1
    assert live == [found.spans]
    assert {"publish→consume", "consume→ack", "consume→nack", "nack→consume"} <= {row["hop"] for row in found.hops}
    slowest = found.slowest[0]
    assert traces.run(read_lines(spark, str(folder)), tmp_path / "one", trace=slowest["trace_id"]).critical_path
