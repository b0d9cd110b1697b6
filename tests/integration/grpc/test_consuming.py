import itertools
import os
import time
from collections.abc import Iterator

import grpc
import pytest

from goqueue import codec
from goqueue.client import Admin, Producer
from goqueue.wire.grpc.v1 import consume_pb2, publish_pb2, records_pb2
from tests.behaviour.serving import Server
from tests.integration.grpc.talking import WITHIN_S, Stubs, batch_request, connected, create_topic, detail_of

TYPED = records_pb2.RECORD_FORM_TYPED


def publish(stubs: Stubs, topic: str, *values: bytes, partition: int = 0) -> None:
    stubs.publish.Publish(batch_request(topic, *values, partition=partition), timeout=WITHIN_S)


def fetch(stubs: Stubs, topic: str, offset: int = 0, **more: object) -> consume_pb2.ConsumedBatch:
    position = consume_pb2.PartitionPosition(topic=topic, partition=0, offset=offset)
    (batch,) = stubs.consume.Fetch(consume_pb2.FetchRequest(positions=[position], **more), timeout=WITHIN_S).batches
    return batch


def records_of(events: Iterator[consume_pb2.ConsumeResponse], count: int) -> list[records_pb2.StoredRecord]:
    found: list[records_pb2.StoredRecord] = []
    while len(found) < count:
        found += next(events).batch.records
    return found


# Once.


def test_a_fetch_waits_for_the_first_record(stubs: Stubs, topic: str) -> None:
    position = consume_pb2.PartitionPosition(topic=topic, partition=0, offset=0)
    request = consume_pb2.FetchRequest(positions=[position], max_wait_ms=60_000, form=TYPED)
    waiting = stubs.consume.Fetch.future(request, timeout=WITHIN_S)
    publish(stubs, topic, b"awaited")
    assert [one.value for one in waiting.result().batches[0].records] == [b"awaited"]


def test_a_fetch_with_nothing_to_read_says_where_the_end_is(stubs: Stubs, topic: str) -> None:
    publish(stubs, topic, b"a", b"b")
    batch = fetch(stubs, topic, 2)
    assert (batch.batch.records, batch.next_offset, batch.high_watermark, batch.start_offset) == (b"", 2, 2, 0)


def test_a_fetch_answers_for_each_position_also_when_one_is_wrong(stubs: Stubs, topic: str) -> None:
    publish(stubs, topic, b"x")
    places = [("there-is-no-such-topic", 0), (topic, 0), (topic, 77)]
    positions = [consume_pb2.PartitionPosition(topic=name, partition=0, offset=offset) for name, offset in places]

    batches = stubs.consume.Fetch(consume_pb2.FetchRequest(positions=positions), timeout=WITHIN_S).batches

    assert [one.error.code for one in batches] == ["unknown_topic", "", "offset_out_of_range"]
    assert [one.value for one in codec.decode(batches[1].batch.records)] == [b"x"]


def test_a_fetch_gives_no_more_than_was_asked_for_and_goes_on_from_there(stubs: Stubs, topic: str) -> None:
    publish(stubs, topic, *[b"x" * 1000] * 50)
    offset, steps = 0, 0
    while offset < 50:
        batch = fetch(stubs, topic, offset, max_bytes=5000)
        assert 0 < len(batch.batch.records) <= 5000 + 1100
        offset, steps = batch.next_offset, steps + 1
    assert steps >= 9


async def test_compressed_values_come_as_their_producer_gave_them(server: Server, stubs: Stubs, topic: str) -> None:
    async with Producer(server.native, compression="zstd") as producer:
        await producer.send(topic, b"again and again " * 1000)
    assert [one.value for one in fetch(stubs, topic, form=TYPED).records] == [b"again and again " * 1000]


# As a stream.


def test_a_stream_gives_what_is_there_and_what_comes(stubs: Stubs, wide_topic: str) -> None:
    for partition in range(4):
        publish(stubs, wide_topic, b"old %d" % partition, partition=partition)
    request = consume_pb2.ConsumeRequest(sources=[consume_pb2.ConsumeFrom(topic=wide_topic)], form=TYPED)
    events = stubs.consume.Consume(request, timeout=WITHIN_S)

    assert {one.value for one in records_of(events, 4)} == {b"old %d" % partition for partition in range(4)}
    publish(stubs, wide_topic, b"new", partition=2)
    (new,) = records_of(events, 1)
    assert (new.value, new.partition, new.offset) == (b"new", 2, 1)
    events.cancel()


@pytest.mark.parametrize("kind", ["offset", "timestamp", "latest"])
def test_a_stream_begins_where_it_is_told_to(stubs: Stubs, topic: str, kind: str) -> None:
    publish(stubs, topic, b"zero", b"one")
    between = time.time_ns()
    while time.time_ns() == between:
        pass
    publish(stubs, topic, b"two")
    source = consume_pb2.ConsumeFrom(topic=topic, partition=0)
    if kind == "offset":
        source.offset = 1
    elif kind == "timestamp":
        source.timestamp_ns = between
    else:
        source.point = records_pb2.START_POINT_LATEST
    request = consume_pb2.ConsumeRequest(sources=[source], form=TYPED, heartbeat_ms=100)
    events = stubs.consume.Consume(request, timeout=WITHIN_S)
    if kind == "latest":
        # From the first heartbeat on it is certain where the stream began.
        assert next(events).heartbeat.positions[0].offset == 3
        publish(stubs, topic, b"three")
    wanted = {"offset": [b"one", b"two"], "timestamp": [b"two"], "latest": [b"three"]}[kind]
    found = [one.value for event in itertools.islice(_batches(events), 1) for one in event.batch.records]
    assert found == wanted
    events.cancel()


def _batches(events: Iterator[consume_pb2.ConsumeResponse]) -> Iterator[consume_pb2.ConsumeResponse]:
    return (event for event in events if event.HasField("batch"))


def test_a_quiet_stream_has_heartbeats_with_positions(stubs: Stubs, topic: str) -> None:
    publish(stubs, topic, b"x")
    request = consume_pb2.ConsumeRequest(sources=[consume_pb2.ConsumeFrom(topic=topic)], heartbeat_ms=100)
    events = stubs.consume.Consume(request, timeout=WITHIN_S)
    assert next(events).HasField("batch")
    for _ in range(3):
        (position,) = next(events).heartbeat.positions
        assert (position.topic, position.partition, position.offset) == (topic, 0, 1)
    events.cancel()


def test_uncommitted_records_are_for_those_who_ask_for_them(stubs: Stubs, topic: str) -> None:
    """Without transactions both see the same; an isolation that does not exist is refused."""
    publish(stubs, topic, b"x")
    for isolation in (records_pb2.ISOLATION_COMMITTED, records_pb2.ISOLATION_UNCOMMITTED):
        assert [one.value for one in fetch(stubs, topic, form=TYPED, isolation=isolation).records] == [b"x"]
    with pytest.raises(grpc.RpcError) as failed:
        fetch(stubs, topic, isolation=9)
    assert detail_of(failed.value).code == "invalid_request"


async def test_a_topic_that_goes_ends_the_stream_with_the_reason(server: Server, stubs: Stubs, topic: str) -> None:
    publish(stubs, topic, b"x")
    request = consume_pb2.ConsumeRequest(sources=[consume_pb2.ConsumeFrom(topic=topic)], heartbeat_ms=100)
    events = stubs.consume.Consume(request, timeout=WITHIN_S)
    assert next(events).HasField("batch")
    async with Admin(server.native) as admin:
        await admin.delete_topic(topic)
    with pytest.raises(grpc.RpcError) as failed:
        for _ in events:
            pass
    assert failed.value.code() is grpc.StatusCode.NOT_FOUND
    assert detail_of(failed.value).code == "unknown_topic"


def test_a_stream_from_an_offset_that_is_not_there_is_refused(stubs: Stubs, topic: str) -> None:
    publish(stubs, topic, b"x")
    source = consume_pb2.ConsumeFrom(topic=topic, partition=0, offset=77)
    with pytest.raises(grpc.RpcError) as failed:
        next(stubs.consume.Consume(consume_pb2.ConsumeRequest(sources=[source]), timeout=WITHIN_S))
    assert failed.value.code() is grpc.StatusCode.OUT_OF_RANGE
    assert detail_of(failed.value).code == "offset_out_of_range"


async def test_a_backlog_waits_on_the_disk_for_a_slow_reader(server: Server, stubs: Stubs) -> None:
    """200 MB to read by somebody who takes nothing for a while: the broker's memory does not grow with it."""
    topic = await create_topic(server.native, "backlog")
    value, each, count = b"x" * 10_000, 100, 200
    for _ in range(count):
        request = batch_request(topic, *[value] * each)
        request.durability = records_pb2.DURABILITY_MEMORY
        stubs.publish.Publish(request, timeout=WITHIN_S)
    request = consume_pb2.ConsumeRequest(sources=[consume_pb2.ConsumeFrom(topic=topic)])
    with connected(server.grpc) as slow:
        readers = [slow.consume.Consume(request, timeout=WITHIN_S) for _ in range(8)]
        firsts = [next(reader) for reader in readers]
        assert all(first.batch.next_offset for first in firsts)
        before = _resident_bytes(server.pid)
        # Others are served meanwhile, which also gives the broker time to read ahead, if it would.
        for _ in range(50):
            assert fetch(stubs, topic, 19_000, max_bytes=1_000_000).next_offset > 19_000
        assert _resident_bytes(server.pid) - before < 100_000_000
        for reader in readers[1:]:
            reader.cancel()
        offset = firsts[0].batch.next_offset
        for event in _batches(readers[0]):
            records = codec.decode(event.batch.batch.records)
            assert [one.offset for one in records] == list(range(offset, event.batch.next_offset))
            offset = event.batch.next_offset
            if offset == each * count:
                break
        readers[0].cancel()


def _resident_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (consume_pb2.ConsumeRequest(), "invalid_request"),
        (consume_pb2.ConsumeRequest(sources=[consume_pb2.ConsumeFrom(topic="no")]), "unknown_topic"),
        (consume_pb2.ConsumeRequest(sources=[consume_pb2.ConsumeFrom(topic="../x")]), "invalid_request"),
        (consume_pb2.ConsumeRequest(sources=[consume_pb2.ConsumeFrom(topic="no")], heartbeat_ms=1), "invalid_request"),
        (consume_pb2.ConsumeRequest(sources=[consume_pb2.ConsumeFrom(topic="no")], max_bytes=0), "invalid_request"),
        (consume_pb2.ConsumeRequest(sources=[consume_pb2.ConsumeFrom(topic="no")], form=9), "invalid_request"),
    ],
    ids=["nothing", "unknown topic", "bad name", "heartbeat", "bytes", "form"],
)
def test_a_stream_that_cannot_be_is_refused(stubs: Stubs, request_: consume_pb2.ConsumeRequest, code: str) -> None:
    with pytest.raises(grpc.RpcError) as failed:
        next(stubs.consume.Consume(request_, timeout=WITHIN_S))
    assert detail_of(failed.value).code == code


def test_a_partition_named_twice_is_refused(stubs: Stubs, topic: str) -> None:
    sources = [consume_pb2.ConsumeFrom(topic=topic), consume_pb2.ConsumeFrom(topic=topic, partition=0)]
    with pytest.raises(grpc.RpcError) as failed:
        next(stubs.consume.Consume(consume_pb2.ConsumeRequest(sources=sources), timeout=WITHIN_S))
    assert "twice" in failed.value.details()


def test_the_offsets_of_published_records_are_those_that_are_read(stubs: Stubs, topic: str) -> None:
    placed = stubs.publish.Publish(
        publish_pb2.PublishRequest(topic=topic, records=[records_pb2.Record(value=b"%d" % n) for n in range(5)]),
        timeout=WITHIN_S,
    ).results
    assert [one.record.offset for one in placed] == [one.offset for one in stubs.fetch_all(topic)]
