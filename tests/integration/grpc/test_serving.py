"""The listener itself: health, reflection, metrics, traces, limits, and how it ends."""

import contextlib
import threading
import urllib.request
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from goqueue.errors import ERRORS_BY_CODE
from goqueue.gateways.grpc.answering import STATUS_BY_CODE
from goqueue.wire.grpc.v1 import consume_pb2, publish_pb2, traces_pb2, traces_pb2_grpc
from tests.behaviour.serving import Server, eventually, running_server
from tests.integration.grpc.talking import (
    WITHIN_S,
    Stubs,
    batch_request,
    connected,
    create_topic,
    detail_of,
    records_request,
)

SERVING = health_pb2.HealthCheckResponse.SERVING


def test_each_error_has_a_status() -> None:
    assert STATUS_BY_CODE.keys() == ERRORS_BY_CODE.keys()


def test_the_standard_health_service_says_that_the_broker_serves(stubs: Stubs) -> None:
    health = health_pb2_grpc.HealthStub(stubs.channel)
    for name in ("", "goqueue.v1.PublishService", "goqueue.v1.ConsumeService"):
        request = health_pb2.HealthCheckRequest(service=name)
        assert health.Check(request, timeout=WITHIN_S).status == SERVING
    watch = health.Watch(health_pb2.HealthCheckRequest(), timeout=WITHIN_S)
    assert next(watch).status == SERVING
    watch.cancel()
    with pytest.raises(grpc.RpcError) as unknown:
        health.Check(health_pb2.HealthCheckRequest(service="no.such.Service"), timeout=WITHIN_S)
    assert unknown.value.code() is grpc.StatusCode.NOT_FOUND


def test_tools_can_ask_which_services_there_are(stubs: Stubs) -> None:
    database = ProtoReflectionDescriptorDatabase(stubs.channel)
    names = set(database.get_services())
    assert {"goqueue.v1.PublishService", "goqueue.v1.ConsumeService", "grpc.health.v1.Health"} <= names
    pool = DescriptorPool(database)
    own = [name for name in names if name.startswith("goqueue.")]
    methods = {name: [one.name for one in pool.FindServiceByName(name).methods] for name in own}
    assert methods["goqueue.v1.PublishService"] == ["Publish", "PublishStream", "InitProducer"]
    assert pool.FindMessageTypeByName("goqueue.v1.ErrorDetail").fields_by_name["hint"]


def test_calls_are_counted_as_those_of_other_listeners_are(server: Server, stubs: Stubs, topic: str) -> None:
    stubs.publish.Publish(batch_request(topic, b"x"), timeout=WITHIN_S)
    with pytest.raises(grpc.RpcError):
        stubs.publish.Publish(batch_request("there-is-no-such-topic", b"x"), timeout=WITHIN_S)
    shown = _metrics(server)
    assert shown['goqueue_broker_requests_total{kind="publish",listener="grpc",outcome="ok"}'] >= 1
    assert shown['goqueue_broker_requests_total{kind="publish",listener="grpc",outcome="refused"}'] >= 1
    assert shown['goqueue_broker_request_seconds_count{kind="publish",listener="grpc"}'] >= 2

    request = consume_pb2.ConsumeRequest(sources=[consume_pb2.ConsumeFrom(topic=topic)])
    stream = stubs.consume.Consume(request, timeout=WITHIN_S)
    next(stream)
    assert _metrics(server)['goqueue_broker_connections{listener="grpc"}'] == 1
    stream.cancel()
    eventually(lambda: _metrics(server)['goqueue_broker_connections{listener="grpc"}'] == 0, within_s=WITHIN_S)


def _metrics(server: Server) -> dict[str, float]:
    with urllib.request.urlopen(f"http://{server.http}/metrics", timeout=WITHIN_S) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def test_records_belong_to_the_trace_of_the_call_unless_they_have_their_own(stubs: Stubs, topic: str) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    own = "00-11111111111111111111111111111111-2222222222222222-01"
    request = records_request(topic, b"a", b"b")
    header = request.records[1].headers.add()
    header.name, header.value = "traceparent", own.encode()

    stubs.publish.Publish(request, timeout=WITHIN_S, metadata=(("traceparent", parent), ("tracestate", "a=1")))

    first, second = [[(one.name, one.value) for one in record.headers] for record in stubs.fetch_all(topic)]
    assert first == [("traceparent", parent.encode()), ("tracestate", b"a=1")]
    assert second == [("traceparent", own.encode())]


async def test_spans_show_the_trace_state_of_the_call(tmp_path: Path) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    parent = f"00-{trace}-b7ad6b7169203331-01"
    with running_server(tmp_path, "[tracing]\nrate = 1.0\n") as server, connected(server.grpc) as stubs:
        await create_topic(server.native, "traced")
        metadata = (("traceparent", parent), ("tracestate", "a=1"), ("tracestate", "b=2"))
        stubs.publish.Publish(records_request("traced", b"a"), timeout=WITHIN_S, metadata=metadata)
        asked = traces_pb2.GetTraceRequest(trace_id=trace)
        (span,) = traces_pb2_grpc.TraceServiceStub(stubs.channel).GetTrace(asked, timeout=WITHIN_S).spans
    assert (span.parent_id, span.tracestate, span.error_type) == ("b7ad6b7169203331", "a=1,b=2", "")
    (link,) = span.links
    assert (link.trace_id, link.span_id, link.tracestate) == (trace, "b7ad6b7169203331", "a=1,b=2")


def test_a_trace_that_cannot_be_read_is_left_behind(stubs: Stubs, topic: str) -> None:
    stubs.publish.Publish(records_request(topic, b"a"), timeout=WITHIN_S, metadata=(("traceparent", "nonsense"),))
    assert not stubs.fetch_all(topic)[0].headers


# Limits.


async def test_calls_beyond_the_limit_are_refused_and_say_so(tmp_path: Path) -> None:
    with running_server(tmp_path, "[grpc]\ncalls_under_way = 2\n") as server, connected(server.grpc) as stubs:
        topic = await create_topic(server.native, "few")
        request = consume_pb2.ConsumeRequest(sources=[consume_pb2.ConsumeFrom(topic=topic)], heartbeat_ms=100)
        streams = [stubs.consume.Consume(request, timeout=WITHIN_S) for _ in range(2)]
        for stream in streams:
            next(stream)
        with pytest.raises(grpc.RpcError) as refused:
            stubs.publish.Publish(batch_request(topic, b"x"), timeout=WITHIN_S)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        detail = detail_of(refused.value)
        assert (detail.code, detail.retryable) == ("server_busy", True)
        streams[0].cancel()
        eventually(lambda: _is_published(stubs, topic), within_s=WITHIN_S)


def _is_published(stubs: Stubs, topic: str) -> bool:
    with contextlib.suppress(grpc.RpcError):
        stubs.publish.Publish(batch_request(topic, b"x"), timeout=WITHIN_S)
        return True
    return False


async def test_connections_beyond_the_limit_are_closed(tmp_path: Path) -> None:
    with running_server(tmp_path, "[grpc]\nconnections = 1\n") as server, connected(server.grpc) as stubs:
        topic = await create_topic(server.native, "one")
        stubs.publish.Publish(batch_request(topic, b"x"), timeout=WITHIN_S)
        with connected(server.grpc, options=[("grpc.use_local_subchannel_pool", 1)]) as other:
            with pytest.raises(grpc.RpcError) as refused:
                other.publish.Publish(batch_request(topic, b"y"), timeout=WITHIN_S)
            assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        assert [one.value for one in stubs.fetch_all(topic)] == [b"x"]


# The end.


async def test_a_broker_that_stops_finishes_what_it_took_and_ends_streams(tmp_path: Path) -> None:
    with running_server(tmp_path) as server, connected(server.grpc) as stubs:
        topic = await create_topic(server.native, "stopped")
        consume = consume_pb2.ConsumeRequest(sources=[consume_pb2.ConsumeFrom(topic=topic)], heartbeat_ms=100)
        subscribe = consume_pb2.SubscribeRequest(group="group", topics=[topic], heartbeat_ms=100)
        position = consume_pb2.PartitionPosition(topic=topic, partition=0, offset=1)
        waiting = consume_pb2.FetchRequest(positions=[position], max_wait_ms=60_000)
        more = threading.Event()

        def requests():
            yield publish_pb2.PublishStreamRequest(correlation_id=1, publish=batch_request(topic, b"x"))
            more.wait(WITHIN_S)

        health = health_pb2_grpc.HealthStub(stubs.channel)
        streams = [
            stubs.consume.Consume(consume, timeout=WITHIN_S),
            stubs.consume.Subscribe(subscribe, timeout=WITHIN_S),
            stubs.publish.PublishStream(requests(), timeout=WITHIN_S),
            health.Watch(health_pb2.HealthCheckRequest(), timeout=WITHIN_S),
        ]
        for stream in streams:
            next(stream)
        fetch = stubs.consume.Fetch.future(waiting, timeout=WITHIN_S)
        eventually(lambda: 'kind="fetch"' in "".join(_metrics(server)) or fetch.running(), within_s=WITHIN_S)

        server.stop()

        for stream in streams:
            with pytest.raises(grpc.RpcError) as ended:
                for _ in stream:
                    pass
            assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
            assert detail_of(ended.value).code == "not_ready"
        with pytest.raises(grpc.RpcError) as ended:
            fetch.result()
        assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
        more.set()

        server.start()
        assert [one.value for one in _when_back(stubs, topic)] == [b"x"]


def _when_back(stubs: Stubs, topic: str) -> list[object]:
    grpc.channel_ready_future(stubs.channel).result(WITHIN_S)
    return stubs.fetch_all(topic)


def test_without_an_address_nothing_of_grpc_is_loaded(tmp_path: Path) -> None:
    with running_server(tmp_path, flags=["--grpc", ""]) as server:
        assert not [line for line in server.log() if "grpc" in line]
        assert "cygrpc" not in Path(f"/proc/{server.pid}/maps").read_text()


def test_the_log_says_where_grpc_is_served(server: Server) -> None:
    address = server.grpc
    (said,) = [line for line in server.log() if line["event"] == "gRPC is serving"]
    assert said["grpc"] == address
    assert "cygrpc" in Path(f"/proc/{server.pid}/maps").read_text()


def test_a_port_that_is_taken_is_said_before_anything_is_opened(server: Server, tmp_path: Path) -> None:
    second = Server(tmp_path)
    second.grpc = server.grpc
    second.launch()
    eventually(lambda: not second.is_running, within_s=WITHIN_S)
    said = (tmp_path / "server.log").read_text()
    assert "cannot listen on" in said
    assert "listen.grpc" in said
    assert not (tmp_path / "data").exists()
