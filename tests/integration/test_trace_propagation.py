"""OpenTelemetry's own propagators put a context into records and find it again, on every way through the broker."""

import asyncio
import json
import subprocess
import sys
import urllib.request

import pytest
from opentelemetry import trace
from opentelemetry.propagate import extract
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanContext, TraceFlags, TraceState
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from goqueue import client, codec
from goqueue.client import sync
from goqueue.model.record import Record
from tests.behaviour.serving import name_of, running_server

TRACER = TracerProvider().get_tracer("tests")
GIVEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("propagation") / "broker", "[tracing]\nrate = 1.0\n") as running:
        yield running


@pytest.fixture
def topic(server, request):
    name = name_of(request.node.name)
    with sync.Admin(server.native) as admin:
        admin.create_topic(name, 1)
    return name


def ask(server, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{server.http}{path}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def messages(server, topic, count):
    with sync.Consumer(topic, bootstrap=server.native) as consumer:
        found = []
        while len(found) < count:
            found += consumer.poll()
        return found


def continued(carrier):
    """The trace in which a span begins that goes on from there, and its parent."""
    with TRACER.start_as_current_span("handle", context=extract(carrier)) as span:
        return span.get_span_context().trace_id, span.parent and span.parent.span_id


def publishes(server, span):
    """Parents of the publish spans that the broker has of the trace of a span."""
    found = ask(server, f"/v1/traces/{span.get_span_context().trace_id:032x}")
    return [one["parent_id"] for one in found["spans"] if one["operation"] == "publish"]


@pytest.mark.parametrize("kind", ["asyncio", "blocking"])
def test_records_sent_in_a_span_carry_its_context_and_consumers_go_on_in_its_trace(server, topic, kind):
    async def send():
        async with client.Producer(server.native) as producer:
            await producer.send(topic, b"1", headers=[("a", b"b")])
            await producer.send(topic, b"2", id="with-an-id")
            await producer.flush()
            await producer.send_many(topic, [b"3", b"4"], ids=["x", None])
            await producer.send_many(topic, [b"5"])

    with TRACER.start_as_current_span("checkout") as span:
        if kind == "asyncio":
            asyncio.run(send())
        else:
            with sync.Producer(server.native) as producer:
                producer.send(topic, b"1", headers=[("a", b"b")])
                producer.send(topic, b"2", id="with-an-id")
                producer.flush()
                producer.send_many(topic, [b"3", b"4"], ids=["x", None])
                producer.send_many(topic, [b"5"])
    own = span.get_span_context()
    found = messages(server, topic, 5)
    assert [message.value for message in found] == [b"1", b"2", b"3", b"4", b"5"]
    assert {continued(message.carrier) for message in found} == {(own.trace_id, own.span_id)}
    assert found[0].carrier["a"] == "b"
    assert publishes(server, span) == [f"{own.span_id:016x}"] * 5
    with sync.Worker(topic, group="g", bootstrap=server.native) as worker:
        (job,) = worker.take(1)
        assert continued(job.carrier) == (own.trace_id, own.span_id)
        worker.ack(job)


def test_what_the_official_propagator_injects_it_extracts_after_the_native_protocol_and_after_http(server, topic):
    state = TraceState([("vendor", "opaque")])
    context = SpanContext(0xABC << 64, 0xDEF, is_remote=False, trace_flags=TraceFlags(1), trace_state=state)
    carrier: dict[str, str] = {}
    propagator = TraceContextTextMapPropagator()
    propagator.inject(carrier, trace.set_span_in_context(trace.NonRecordingSpan(context)))
    with sync.Producer(server.native) as producer:
        producer.send(topic, b"native", headers=[(name, value.encode()) for name, value in carrier.items()]).result()
    ask(server, f"/v1/topics/{topic}/messages", {"messages": [{"value": "http", "headers": carrier}]})
    over_native = [message.carrier for message in messages(server, topic, 2)]
    over_http = [
        one["headers"] for one in ask(server, f"/v1/topics/{topic}/partitions/0/messages?offset=0")["messages"]
    ]
    for one in over_native + over_http:
        extracted = trace.get_current_span(propagator.extract(one)).get_span_context()
        assert (extracted.trace_id, extracted.span_id, extracted.is_remote) == (context.trace_id, context.span_id, True)
        assert extracted.trace_state == state
    assert publishes(server, trace.NonRecordingSpan(context)) == [f"{0xDEF:016x}"] * 2


def test_a_span_with_a_trace_state_hands_it_on(server, topic):
    state = TraceState([("vendor", "opaque")])
    context = SpanContext(7, 8, is_remote=True, trace_flags=TraceFlags(0), trace_state=state)
    with trace.use_span(trace.NonRecordingSpan(context)), sync.Producer(server.native) as producer:
        producer.send(topic, b"v").result()
    (message,) = messages(server, topic, 1)
    assert message.headers == (
        ("traceparent", b"00-%032x-%016x-00" % (7, 8)),
        ("tracestate", b"vendor=opaque"),
    )


def test_a_record_that_has_a_context_keeps_it_and_encoded_batches_are_left_alone(server, topic):
    with TRACER.start_as_current_span("checkout"), sync.Producer(server.native) as producer:
        producer.send(topic, b"v", headers=[("traceparent", GIVEN.encode())]).result()
        producer.send_batch(topic, 0, codec.encode([Record(b"v")]), 1).result()
    first, second = messages(server, topic, 2)
    assert first.headers == (("traceparent", GIVEN.encode()),)
    assert second.headers == ()


def test_without_a_span_records_carry_nothing(server, topic):
    with sync.Producer(server.native) as producer:
        producer.send(topic, b"v").result()
        producer.send_many(topic, [b"v"])
    assert [message.headers for message in messages(server, topic, 2)] == [(), ()]


def test_the_client_does_not_load_opentelemetry(server, topic):
    program = (
        "import sys\n"
        "from goqueue.client.sync import Producer\n"
        f"with Producer({server.native!r}) as producer:\n"
        f"    producer.send({topic!r}, b'v').result()\n"
        "sys.exit(any(name.partition('.')[0] == 'opentelemetry' for name in sys.modules))\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == 0
