"""Real brokers send their spans to a collector built on opentelemetry-proto, and go on when it does not take them."""

import json
import urllib.request

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from goqueue.client.sync import Admin, Producer, TopicConfig, Worker
from goqueue.model.trace import TraceContext
from tests.behaviour.serving import eventually, running_server
from tests.integration.otlp_receiver import attributes_of, receiving

PROTOCOLS = ["otlp-grpc", "otlp-http"]
EXPECTED = {
    "publish orders": 600,
    "consume orders": 2,
    "ack orders": 1,
    "nack orders": 1,
    "publish invoices": 1,
    "transaction": 1,
}


def settings(export, endpoint, more=""):
    return f'[tracing]\nrate = 1.0\nexport = "{export}"\nendpoint = "{endpoint}"\n{more}'


def metric(server, line):
    with urllib.request.urlopen(f"http://{server.http}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return next((float(one.rsplit(" ", 1)[1]) for one in lines if one.startswith(line + " ")), None)


def one_of_each(server):
    """Publishes 600 records, and takes two of them: one is acked, one is nacked."""
    with Admin(server.native) as admin:
        admin.create_topic("orders", 1)
    with Producer(server.native) as producer:
        producer.send("orders", b"v", key=b"customer-1", id="order-1").result()
        producer.send_many("orders", [b"v"] * 599)
    with Worker("orders", group="billing", bootstrap=server.native) as worker:
        first, second = worker.take(2)
        worker.ack(first)
        worker.nack(second, reason="card refused")


def one_transaction(server):
    with Admin(server.native) as admin:
        admin.create_topic("invoices", 1)
    with Producer(server.native, transactional_id="t") as producer, producer.transaction():
        producer.send("invoices", b"v").result()


def counts_of(spans):
    return {name: len(some) for name, some in by_name(spans).items()}


def by_name(spans):
    found = {}
    for span in spans:
        found.setdefault(span.name, []).append(span)
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_collector_gets_valid_spans_of_everything_that_happened(tmp_path, protocol):
    with receiving(protocol) as receiver:
        given = settings(protocol, receiver.endpoint, 'headers = "Authorization=Bearer%20secret,x-team=a"\n')
        with running_server(tmp_path / "broker", given) as server:
            one_of_each(server)
            one_transaction(server)
            eventually(lambda: counts_of(receiver.spans()).items() >= EXPECTED.items(), within_s=30)
            label = f'{{to="{protocol}"}}'
            eventually(lambda: metric(server, f"goqueue_broker_spans_sent_total{label}") >= 606)
            assert metric(server, f"goqueue_broker_spans_failed_total{label}") == 0
            assert metric(server, f"goqueue_broker_spans_dropped_total{label}") == 0
            server.stop()
    spans = receiver.spans()
    assert receiver.resource().items() >= {"service.name": "goqueue"}.items()
    assert {"service.version", "host.name"} <= receiver.resource().keys()
    assert receiver.headers[0].items() >= {"authorization": "Bearer secret", "x-team": "a"}.items()
    places = {(span.trace_id, span.span_id) for span in spans}
    assert len(places) == len(spans)
    for span in spans:
        assert len(span.trace_id) == 16
        assert len(span.span_id) == 8
        assert any(span.trace_id)
        assert any(span.span_id)
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
        if span.parent_span_id:
            assert (span.trace_id, span.parent_span_id) in places
    named = by_name(spans)
    check_attributes(named)
    check_outcomes(named)
    (published,), (whole,) = named["publish invoices"], named["transaction"]
    assert [(link.trace_id, link.span_id) for link in published.links] == [(whole.trace_id, whole.span_id)]
    assert published.trace_id != whole.trace_id


def check_attributes(named):
    first = named["publish orders"][0]
    assert first.kind == Span.SPAN_KIND_PRODUCER
    assert not first.parent_span_id
    assert attributes_of(first).items() >= {
        ("messaging.system", "goqueue"),
        ("messaging.operation.name", "publish"),
        ("messaging.operation.type", "send"),
        ("messaging.destination.name", "orders"),
        ("messaging.destination.partition.id", "0"),
        ("messaging.message.id", "orders/0/0"),
        ("messaging.goqueue.offset", 0),
    }
    offsets = [attributes_of(span)["messaging.goqueue.offset"] for span in named["publish orders"]]
    assert sorted(offsets) == list(range(600))


def check_outcomes(named):
    taken = {attributes_of(span)["messaging.goqueue.offset"]: span for span in named["consume orders"]}
    assert {span.kind for span in taken.values()} == {Span.SPAN_KIND_CLIENT}
    assert attributes_of(taken[0])["messaging.consumer.group.name"] == "billing"
    published = {span.span_id: span for span in named["publish orders"]}
    assert all(span.parent_span_id in published for span in taken.values())
    for span in taken.values():
        (link,) = span.links
        assert (link.trace_id, link.span_id) == (span.trace_id, span.parent_span_id)
    (ack,), (nack,) = named["ack orders"], named["nack orders"]
    assert ack.parent_span_id == taken[0].span_id
    assert nack.parent_span_id == taken[1].span_id
    assert ack.status.code == Status.STATUS_CODE_UNSET
    assert (nack.status.code, nack.status.message) == (Status.STATUS_CODE_ERROR, "card refused")
    assert attributes_of(nack)["error.type"] == "nacked"
    assert attributes_of(nack)["messaging.operation.type"] == "settle"
    assert (ack.kind, nack.kind) == (Span.SPAN_KIND_CLIENT, Span.SPAN_KIND_CLIENT)


def whole_life(server, *, count=1):
    """Records of a client's trace: each is given back, rejected, sent back from the dead letters, and done."""
    with Admin(server.native) as admin:
        admin.create_topic("orders", 1, TopicConfig(retry_backoff_ms=1, max_attempts=5))
    with Producer(server.native) as producer:
        for number in range(count):
            headers = [("traceparent", SENT.traceparent), ("tracestate", STATE.encode())]
            producer.send("orders", b"v%d" % number, headers=headers)
        producer.flush()
    with Worker("orders", group="billing", bootstrap=server.native) as worker:
        for reason in WORDS:
            worker.nack(*taken(worker, count), reason=reason)
        worker.reject(*taken(worker, count), reason=WORDS[0])
        wanted = json.dumps({"select": {"reason": WORDS[0]}}).encode()
        json_type = {"Content-Type": "application/json"}
        with urllib.request.urlopen(
            urllib.request.Request(f"http://{server.http}/dlq/orders/redrive", wanted, json_type)
        ) as answer:
            assert json.load(answer)["redriven"] == count
        worker.ack(*taken(worker, count))


def taken(worker, count):
    found = []
    while some := worker.take(count - len(found), wait_ms=10_000) if len(found) < count else ():
        found += some
    assert len(found) == count
    return found


SENT = TraceContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
STATE = "vendor=opaque,other@one=2"
WORDS = ("card_refused", "no_such_customer", "busy")
LIFE = {"publish orders": 2, "consume orders": 5, "nack orders": 3, "reject orders": 1, "dlq orders": 1} | {
    "publish orders.dlq": 1,
    "redrive orders.dlq": 1,
    "ack orders": 1,
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_spans_of_a_clients_trace_reach_the_collector_as_the_messaging_conventions_have_them(tmp_path, protocol):
    with (
        receiving(protocol) as receiver,
        running_server(tmp_path / "broker", settings(protocol, receiver.endpoint)) as server,
    ):
        whole_life(server)
        eventually(lambda: counts_of(receiver.spans()) == LIFE, within_s=30)
        server.stop()
    spans, named = receiver.spans(), by_name(receiver.spans())
    assert {span.trace_id.hex() for span in spans} == {SENT.trace_id}
    assert {span.trace_state for span in spans} == {STATE}
    kinds = {name: {span.kind for span in some} for name, some in named.items()}
    # The records were created by others: these gave them their context.
    assert {name for name, found in kinds.items() if found == {Span.SPAN_KIND_CLIENT}} == {
        *("publish orders", "publish orders.dlq", "consume orders", "ack orders", "nack orders", "reject orders")
    }
    assert {name for name, found in kinds.items() if found == {Span.SPAN_KIND_INTERNAL}} == {
        *("dlq orders", "redrive orders.dlq")
    }
    first, again = sorted(named["publish orders"], key=lambda span: span.start_time_unix_nano)
    (dead,), (letter,) = named["dlq orders"], named["publish orders.dlq"]
    assert first.parent_span_id.hex() == SENT.span_id
    assert letter.parent_span_id == again.parent_span_id == dead.span_id
    links = {span.span_id: [one.span_id.hex() for one in span.links] for span in named["consume orders"]}
    last = max(named["consume orders"], key=lambda span: span.start_time_unix_nano)
    assert links.pop(last.span_id) == [dead.span_id.hex()]
    assert list(links.values()) == [[SENT.span_id]] * 4
    assert [one.span_id.hex() for one in first.links] == [SENT.span_id]
    failed = [span for span in spans if span.status.code == Status.STATUS_CODE_ERROR]
    assert {(span.name, attributes_of(span)["error.type"], span.status.message) for span in failed} == {
        *(("nack orders", "nacked", reason) for reason in WORDS),
        ("reject orders", "rejected", WORDS[0]),
        ("dlq orders", "rejected", WORDS[0]),
    }
    assert not [span for span in spans if span not in failed and "error.type" in attributes_of(span)]


def test_records_that_are_traced_together_keep_their_trace_state_at_the_collector_in_files_and_at_traces(tmp_path):
    with (
        receiving("otlp-grpc") as receiver,
        running_server(tmp_path / "broker", settings("otlp-grpc", receiver.endpoint)) as server,
    ):
        whole_life(server, count=20)
        eventually(lambda: counts_of(receiver.spans()) == {name: 20 * one for name, one in LIFE.items()}, within_s=30)
        with urllib.request.urlopen(f"http://{server.http}/v1/traces/{SENT.trace_id}") as answer:
            shown = json.load(answer)["spans"]
        server.stop()
        lines = [
            json.loads(line)
            for path in (server.folder / "data" / "traces").iterdir()
            for line in path.read_text().splitlines()
        ]
    assert {span.trace_state for span in receiver.spans()} == {STATE}
    assert {span["tracestate"] for span in shown} == {STATE}
    assert len(shown) == len(receiver.spans())
    kept = [line["tracestates"] if "contexts" in line else {line["tracestate"]: [0]} for line in lines]
    assert sum(len(offsets) for one in kept for offsets in one.values()) == len(shown)
    assert {state for one in kept for state in one} == {STATE}
    by_place = {(one["operation"], one["topic"], one["offset"], one.get("delivery")): one for one in shown}
    dead, letter = by_place["dlq", "orders", 7, 4], by_place["publish", "orders.dlq", 7, None]
    assert letter["parent_id"] == dead["span_id"]
    assert (dead["error"], dead["error_type"]) == (WORDS[0], "rejected")
    sender = {"trace_id": SENT.trace_id, "span_id": SENT.span_id, "tracestate": STATE}
    assert by_place["consume", "orders", 7, 1]["links"] == [sender]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_collector_that_hangs_holds_up_neither_records_nor_the_stop(tmp_path, protocol):
    with receiving(protocol) as receiver:
        receiver.answers.clear()
        given = settings(protocol, receiver.endpoint, "[tracing.files]\nenabled = false\n")
        with running_server(tmp_path / "broker", given) as server:
            with Admin(server.native) as admin:
                admin.create_topic("orders", 1)
            with Producer(server.native) as producer:
                producer.send("orders", b"v").result()
                assert receiver.was_asked.wait(30)
                for _ in range(8):
                    producer.send_many("orders", [b"v"] * 10_000)
                label = f'{{to="{protocol}"}}'
                eventually(lambda: metric(server, f"goqueue_broker_spans_dropped_total{label}") > 0)
            # Before the exporter itself would give up, which takes ten seconds.
            assert server.stop() < 8
            said = [line["event"] for line in server.log()]
            assert "spans are dropped: they come faster than they go" in said
            assert "spans were left behind at the stop" in said


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_collector_that_refuses_is_told_of_once_and_is_sent_to_again(tmp_path, protocol):
    with receiving(protocol) as receiver:
        receiver.refuses.set()
        with running_server(tmp_path / "broker", settings(protocol, receiver.endpoint)) as server:
            with Admin(server.native) as admin:
                admin.create_topic("orders", 1)
            failed = f'goqueue_broker_spans_failed_total{{to="{protocol}"}}'
            with Producer(server.native) as producer:
                for count in (1, 2):
                    producer.send("orders", b"v").result()
                    eventually(lambda count=count: metric(server, failed) == count, within_s=30)
                receiver.refuses.clear()
                producer.send("orders", b"v").result()
            eventually(lambda: [attributes_of(span)["messaging.goqueue.offset"] for span in receiver.spans()] == [2])
            eventually(lambda: "spans are exported again" in [line["event"] for line in server.log()])
            said = [line for line in server.log() if line["event"].startswith("spans cannot be exported")]
            assert len(said) == 1
            assert "403" in said[0]["reason"] or "not you" in said[0]["reason"]
            server.stop()


def test_standard_output_has_a_line_for_each_span_and_needs_no_collector(tmp_path):
    with running_server(tmp_path / "broker", settings("stdout", "")) as server:
        one_of_each(server)
        eventually(lambda: sum(line.get("operation") == "publish" for line in server.log()) == 600)
        eventually(lambda: any(line.get("operation") == "nack" for line in server.log()))
        nack = next(line for line in server.log() if line.get("operation") == "nack")
        assert (nack["status"], nack["error"], nack["group"], nack["offset"]) == ("error", "card refused", "billing", 1)
        consumed = next(line for line in server.log() if line.get("span_id") == nack["parent_id"])
        assert (consumed["operation"], consumed["trace_id"]) == ("consume", nack["trace_id"])
        server.stop()


def test_the_files_of_a_killed_broker_are_complete_after_its_next_start(tmp_path):
    with running_server(tmp_path / "broker", "[tracing]\nrate = 1.0\n") as server:
        with Admin(server.native) as admin:
            admin.create_topic("orders", 1)
        folder = server.folder / "data" / "traces"
        with Producer(server.native) as producer:
            producer.send_many("orders", [b"v"] * 1000)
            eventually(lambda: [one.read_text() for one in folder.glob("*.open")])
            server.kill()
        with next(folder.glob("*.open")).open("a") as file:
            file.write('{"operation":"publ')
        server.start()
        with Producer(server.native) as producer:
            producer.send("orders", b"v").result()
        server.stop()
        first, second = sorted(folder.iterdir())
        assert {first.suffix, second.suffix} == {".jsonl"}
        whole, cut = first.read_text().splitlines()
        assert (json.loads(whole)["offset"], json.loads(whole)["count"]) == (0, 1000)
        assert cut == '{"operation":"publ'
        assert json.loads(second.read_text())["offset"] == 1000
