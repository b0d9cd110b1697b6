"""What no honest client sends: the right status, and nothing is changed."""

import random
import socket

import grpc
import pytest

from goqueue.wire.grpc.v1 import consume_pb2, publish_pb2, records_pb2
from tests.behaviour.serving import Server
from tests.integration.grpc.talking import WITHIN_S, Stubs, batch_request, connected, detail_of, raw, records_request

INVALID = grpc.StatusCode.INVALID_ARGUMENT


def refused(stubs: Stubs, request: publish_pb2.PublishRequest) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as failed:
        stubs.publish.Publish(request, timeout=WITHIN_S)
    detail = detail_of(failed.value)
    assert detail.message
    return failed.value.code(), detail.code


def nothing_was_written(stubs: Stubs, topic: str) -> bool:
    return stubs.fetch_all(topic) == []


@pytest.mark.parametrize("position", range(0, 40, 3))
def test_a_batch_of_which_a_byte_was_changed_is_refused_whole(stubs: Stubs, topic: str, position: int) -> None:
    request = batch_request(topic, b"first", b"second")
    changed = bytearray(request.batch.records)
    changed[-1 - position] ^= 0x55
    request.batch.records = bytes(changed)
    assert refused(stubs, request) == (INVALID, "corrupt_batch")
    assert nothing_was_written(stubs, topic)


def test_garbage_for_a_batch_is_refused(stubs: Stubs, topic: str) -> None:
    draw = random.Random(1)
    for size in (0, 1, 33, 34, 1000):
        request = publish_pb2.PublishRequest(topic=topic, batch={"records": draw.randbytes(size)})
        status, code = refused(stubs, request)
        assert status is INVALID
        assert code in ("corrupt_batch", "invalid_record", "invalid_request")
    assert nothing_was_written(stubs, topic)


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"topic": "no-such-topic"}, grpc.StatusCode.NOT_FOUND, "unknown_topic"),
        ({"topic": "../../etc"}, None, None),
        ({"partition": -1}, grpc.StatusCode.NOT_FOUND, "unknown_partition"),
        ({"partition": 2**31 - 1}, grpc.StatusCode.NOT_FOUND, "unknown_partition"),
        ({"durability": 77}, INVALID, "invalid_request"),
        ({"acks": 77}, INVALID, "invalid_request"),
        ({"records": [records_pb2.Record(value=b"x")]}, INVALID, "invalid_request"),
        ({"transaction": 5}, INVALID, "invalid_request"),
        ({"deliver_at_ns": [-1]}, INVALID, "invalid_record"),
        ({"deliver_at_ns": [1, 2, 3]}, INVALID, "invalid_record"),
        ({"ids": ["a", "b", "c"]}, INVALID, "invalid_request"),
        ({"ids": ["x" * 300]}, INVALID, "invalid_record"),
        (
            {"producer": publish_pb2.ProducerSequence(producer_id=10**15)},
            grpc.StatusCode.NOT_FOUND,
            "unknown_producer",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_batch_with_something_impossible_beside_it_is_refused(
    stubs: Stubs, topic: str, change: dict[str, object], status: grpc.StatusCode | None, code: str | None
) -> None:
    request = publish_pb2.PublishRequest(**({"topic": topic, "partition": 0, "batch": raw(b"x")} | change))
    found = refused(stubs, request)
    assert found[0] in (INVALID, grpc.StatusCode.NOT_FOUND)
    if status is not None:
        assert found == (status, code)
    assert nothing_was_written(stubs, topic)


@pytest.mark.parametrize(
    "record",
    [
        records_pb2.Record(value=b"x", priority=5),
        records_pb2.Record(value=b"x", priority=-1),
        records_pb2.Record(value=b"x", delay_ms=-1),
        records_pb2.Record(value=b"x", delay_ms=1, deliver_at_ns=1),
        records_pb2.Record(value=b"x", delay_ms=2**62),
        records_pb2.Record(value=b"x", ttl_ms=0),
        records_pb2.Record(value=b"x", ttl_ms=1, expires_at_ns=1),
        records_pb2.Record(value=b"x", id=""),
        records_pb2.Record(value=b"x", key=b"k" * 70_000),
        records_pb2.Record(value=b"x", headers=[records_pb2.Header(name="n", value=b"v" * 70_000)]),
        records_pb2.Record(value=b"x" * (16 * 1024 * 1024 + 1)),
    ],
    ids=lambda record: str(record)[:30].replace("\n", " "),
)
def test_a_record_that_cannot_be_is_refused(stubs: Stubs, topic: str, record: records_pb2.Record) -> None:
    status, code = refused(stubs, publish_pb2.PublishRequest(topic=topic, records=[record]))
    assert status is INVALID
    assert code in ("invalid_record", "record_too_large")
    assert nothing_was_written(stubs, topic)


@pytest.mark.parametrize("field", ["ids", "deliver_at_ns", "partitions", "producer"])
def test_what_belongs_to_batches_is_refused_beside_single_records(stubs: Stubs, topic: str, field: str) -> None:
    more = {"ids": ["a"], "deliver_at_ns": [1], "partitions": 1, "producer": publish_pb2.ProducerSequence()}
    request = publish_pb2.PublishRequest(topic=topic, records=[{"value": b"x"}], **{field: more[field]})
    assert refused(stubs, request) == (INVALID, "invalid_request")
    assert nothing_was_written(stubs, topic)


def test_bytes_that_are_no_message_are_refused(stubs: Stubs) -> None:
    draw = random.Random(2)
    for method in ("PublishService/Publish", "ConsumeService/Fetch", "PublishService/InitProducer"):
        call = stubs.channel.unary_unary(f"/goqueue.v1.{method}", request_serializer=None, response_deserializer=None)
        for payload in (b"\xff\xff\xff", b"\x0a\xff", draw.randbytes(50) + b"\x07"):
            with pytest.raises(grpc.RpcError) as failed:
                call(payload, timeout=WITHIN_S)
            assert failed.value.code() is INVALID
            assert detail_of(failed.value).code == "invalid_request"


def test_a_message_that_is_too_large_is_refused_by_its_length(stubs: Stubs, topic: str) -> None:
    with pytest.raises(grpc.RpcError) as failed:
        stubs.publish.Publish(records_request(topic, b"x" * (25 * 1024 * 1024)), timeout=WITHIN_S)
    assert failed.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert nothing_was_written(stubs, topic)


def test_a_method_that_does_not_exist_is_said_to_be_so(stubs: Stubs) -> None:
    call = stubs.channel.unary_unary("/goqueue.v1.PublishService/Nonsense")
    with pytest.raises(grpc.RpcError) as failed:
        call(b"", timeout=WITHIN_S)
    assert failed.value.code() is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize(
    "change",
    [{"max_wait_ms": -1}, {"max_wait_ms": 60_001}, {"max_bytes": -1}, {"form": 9}, {"positions": []}],
    ids=str,
)
def test_a_fetch_that_cannot_be_is_refused(stubs: Stubs, topic: str, change: dict[str, object]) -> None:
    position = consume_pb2.PartitionPosition(topic=topic)
    request = consume_pb2.FetchRequest(**({"positions": [position]} | change))
    with pytest.raises(grpc.RpcError) as failed:
        stubs.consume.Fetch(request, timeout=WITHIN_S)
    assert failed.value.code() is INVALID
    assert detail_of(failed.value).code == "invalid_request"


def test_what_is_not_even_http_harms_nobody(server: Server, stubs: Stubs, topic: str) -> None:
    host, _, port = server.grpc.rpartition(":")
    for payload in (b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 1000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 1000):
        with socket.create_connection((host, int(port)), timeout=WITHIN_S) as connection:
            connection.sendall(payload)
            connection.settimeout(WITHIN_S)
            while True:
                try:
                    if not connection.recv(4096):
                        break
                except ConnectionError:
                    break
    assert stubs.publish.Publish(batch_request(topic, b"x"), timeout=WITHIN_S).batch.count == 1


def test_a_client_that_hangs_up_in_the_middle_of_streams_leaves_nothing_behind(server: Server, topic: str) -> None:
    for _ in range(20):
        with connected(server.grpc) as stubs:
            request = consume_pb2.ConsumeRequest(sources=[consume_pb2.ConsumeFrom(topic=topic)], heartbeat_ms=100)
            next(stubs.consume.Consume(request, timeout=WITHIN_S))
    server.check_log()
