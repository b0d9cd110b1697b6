import time

import grpc
import pytest

from goqueue import codec
from goqueue.model.expiry import EXPIRES_HEADER
from goqueue.model.record import Record
from goqueue.model.record_id import with_id
from goqueue.wire.grpc.v1 import consume_pb2, publish_pb2, records_pb2
from tests.integration.grpc.talking import WITHIN_S, Stubs, batch_request, detail_of, raw, records_request


def test_the_bytes_of_a_batch_come_back_as_they_were_sent(stubs: Stubs, topic: str) -> None:
    records = [Record(b"value %d" % number, b"key", (("name", b"\x00\xff"),), number % 5) for number in range(1000)]
    request = publish_pb2.PublishRequest(topic=topic, batch=records_pb2.RecordBatch(records=codec.encode(records)))

    placed = stubs.publish.Publish(request, timeout=WITHIN_S).batch

    assert (placed.partition, placed.base_offset, placed.count, placed.duplicate) == (0, 0, 1000, False)
    position = consume_pb2.PartitionPosition(topic=topic, partition=0, offset=0)
    (batch,) = stubs.consume.Fetch(consume_pb2.FetchRequest(positions=[position]), timeout=WITHIN_S).batches
    assert (batch.next_offset, batch.high_watermark) == (1000, 1000)
    read = codec.decode(batch.batch.records)
    assert [(one.value, one.key, one.headers, one.priority) for one in read] == [
        (one.value, one.key, one.headers, one.priority) for one in records
    ]
    assert [one.offset for one in read] == list(range(1000))
    assert {one.timestamp_ns for one in read} == {placed.timestamp_ns}


def test_a_single_record_comes_back_with_all_that_was_said_of_it(stubs: Stubs, topic: str) -> None:
    record = records_pb2.Record(
        key=b"",
        value=b"content",
        headers=[records_pb2.Header(name="a", value=b"1"), records_pb2.Header(name="a", value=b"\xff")],
        priority=0,
    )
    tombstone = records_pb2.Record(key=b"gone")
    request = publish_pb2.PublishRequest(topic=topic, records=[record, tombstone])

    results = stubs.publish.Publish(request, timeout=WITHIN_S).results

    assert [(one.record.partition, one.record.offset) for one in results] == [(0, 0), (0, 1)]
    first, second = stubs.fetch_all(topic)
    assert (first.key, first.value, first.priority, first.topic, first.partition) == (b"", b"content", 0, topic, 0)
    assert [(header.name, header.value) for header in first.headers] == [("a", b"1"), ("a", b"\xff")]
    assert first.HasField("key")
    assert (second.key, second.HasField("value"), second.priority) == (b"gone", False, 2)
    assert abs(first.timestamp_ns - time.time_ns()) < 3600 * 10**9


def test_records_without_a_partition_go_where_their_keys_belong(stubs: Stubs, wide_topic: str) -> None:
    records = [records_pb2.Record(key=b"key %d" % (number % 10), value=b"%d" % number) for number in range(40)]
    request = publish_pb2.PublishRequest(topic=wide_topic, records=records)

    results = stubs.publish.Publish(request, timeout=WITHIN_S).results

    by_key: dict[bytes, set[int]] = {}
    for record, result in zip(records, results, strict=True):
        by_key.setdefault(record.key, set()).add(result.record.partition)
    assert all(len(partitions) == 1 for partitions in by_key.values())
    assert len(set.union(*by_key.values())) > 1
    assert sum(len(stubs.fetch_all(wide_topic, partition)) for partition in range(4)) == 40


def test_records_of_a_request_fail_one_by_one(stubs: Stubs, topic: str) -> None:
    good, bad = records_pb2.Record(value=b"good"), records_pb2.Record(value=b"bad", partition=9)

    response = stubs.publish.Publish(publish_pb2.PublishRequest(topic=topic, records=[bad, good]), timeout=WITHIN_S)

    assert [one.WhichOneof("outcome") for one in response.results] == ["error", "record"]
    assert response.results[0].error.code == "unknown_partition"
    assert [one.value for one in stubs.fetch_all(topic)] == [b"good"]


def test_a_request_of_which_nothing_is_written_is_an_error(stubs: Stubs, topic: str) -> None:
    records = [records_pb2.Record(value=b"x", priority=7), records_pb2.Record(value=b"x", partition=9)]

    with pytest.raises(grpc.RpcError) as failed:
        stubs.publish.Publish(publish_pb2.PublishRequest(topic=topic, records=records), timeout=WITHIN_S)

    assert failed.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert detail_of(failed.value).code == "invalid_record"
    assert stubs.fetch_all(topic) == []


def test_a_record_with_a_known_id_is_not_written_again(stubs: Stubs, topic: str) -> None:
    request = publish_pb2.PublishRequest(topic=topic, records=[records_pb2.Record(value=b"once", id="order-1")])
    (first,) = stubs.publish.Publish(request, timeout=WITHIN_S).results
    (second,) = stubs.publish.Publish(request, timeout=WITHIN_S).results

    assert (first.record.duplicate, second.record.duplicate) == (False, True)
    assert first.record.offset == second.record.offset == 0

    named = codec.encode([with_id(Record(b"once"), "order-1"), with_id(Record(b"new"), "order-2")])
    batch = publish_pb2.PublishRequest(
        topic=topic, batch=records_pb2.RecordBatch(records=named), ids=["order-1", "order-2"]
    )
    placed = stubs.publish.Publish(batch, timeout=WITHIN_S).batch
    assert [(one.offset, one.duplicate) for one in placed.records] == [(0, True), (1, False)]
    assert [one.value for one in stubs.fetch_all(topic)] == [b"once", b"new"]


def test_a_delayed_record_is_hidden_until_it_is_due(stubs: Stubs, topic: str) -> None:
    at = time.time_ns() + 3600 * 10**9
    records = [
        records_pb2.Record(value=b"later", delay_ms=3_600_000),
        records_pb2.Record(value=b"at", deliver_at_ns=at),
        records_pb2.Record(value=b"now", delay_ms=0),
    ]
    results = stubs.publish.Publish(publish_pb2.PublishRequest(topic=topic, records=records), timeout=WITHIN_S).results
    assert abs(results[0].record.deliver_at_ns - at) < 600 * 10**9
    assert results[1].record.deliver_at_ns == at
    assert not results[2].record.HasField("deliver_at_ns")

    batch = batch_request(topic, b"hidden", b"seen")
    batch.deliver_at_ns.extend([at, 0])
    stubs.publish.Publish(batch, timeout=WITHIN_S)

    assert [one.value for one in stubs.fetch_all(topic)] == [b"now", b"seen"]
    position = consume_pb2.PartitionPosition(topic=topic, partition=0, offset=0)
    (read,) = stubs.consume.Fetch(consume_pb2.FetchRequest(positions=[position]), timeout=WITHIN_S).batches
    assert [(run.first, run.count) for run in read.skip] == [(0, 2), (3, 1)]


def test_an_expiry_travels_with_the_record(stubs: Stubs, topic: str) -> None:
    records = [records_pb2.Record(value=b"a", expires_at_ns=5), records_pb2.Record(value=b"b", ttl_ms=60_000)]
    stubs.publish.Publish(publish_pb2.PublishRequest(topic=topic, records=records), timeout=WITHIN_S)

    first, second = [{h.name: h.value for h in one.headers} for one in stubs.fetch_all(topic)]
    assert first[EXPIRES_HEADER] == b"5"
    assert abs(int(second[EXPIRES_HEADER]) - time.time_ns()) < 3600 * 10**9


@pytest.mark.parametrize("acks", [publish_pb2.ACKS_LEADER, publish_pb2.ACKS_ALL])
@pytest.mark.parametrize("durability", [records_pb2.DURABILITY_FSYNC, records_pb2.DURABILITY_MEMORY])
def test_records_are_confirmed_with_their_offsets(
    stubs: Stubs, topic: str, acks: publish_pb2.Acks, durability: records_pb2.Durability
) -> None:
    request = batch_request(topic, b"x")
    request.acks, request.durability = acks, durability
    assert stubs.publish.Publish(request, timeout=WITHIN_S).batch.base_offset == 0
    single = records_request(topic, b"y")
    single.acks, single.durability = acks, durability
    assert stubs.publish.Publish(single, timeout=WITHIN_S).results[0].record.offset == 1


def test_without_acks_nobody_learns_the_offset(stubs: Stubs, topic: str) -> None:
    batch, single = batch_request(topic, b"x"), records_request(topic, b"y")
    batch.acks = single.acks = publish_pb2.ACKS_NONE

    assert not stubs.publish.Publish(batch, timeout=WITHIN_S).batch.HasField("base_offset")
    assert not stubs.publish.Publish(single, timeout=WITHIN_S).results[0].record.HasField("offset")

    stubs.publish.Publish(batch_request(topic, b"z"), timeout=WITHIN_S)
    assert [one.value for one in stubs.fetch_all(topic)] == [b"x", b"y", b"z"]


def test_a_batch_of_a_producer_is_written_once_however_often_it_is_sent(stubs: Stubs, topic: str) -> None:
    who = stubs.publish.InitProducer(publish_pb2.InitProducerRequest(), timeout=WITHIN_S)
    request = batch_request(topic, b"a", b"b")
    request.producer.producer_id, request.producer.epoch = who.producer_id, who.epoch
    first = stubs.publish.Publish(request, timeout=WITHIN_S).batch
    again = stubs.publish.Publish(request, timeout=WITHIN_S).batch
    assert (first.duplicate, again.duplicate, again.base_offset) == (False, True, first.base_offset)

    request.producer.sequence = 7
    with pytest.raises(grpc.RpcError) as gap:
        stubs.publish.Publish(request, timeout=WITHIN_S)
    assert detail_of(gap.value).code == "out_of_order_sequence"

    renewed = publish_pb2.InitProducerRequest(producer_id=who.producer_id, epoch=who.epoch)
    assert stubs.publish.InitProducer(renewed, timeout=WITHIN_S).epoch == who.epoch + 1
    request.producer.sequence = 2
    with pytest.raises(grpc.RpcError) as fenced:
        stubs.publish.Publish(request, timeout=WITHIN_S)
    assert fenced.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert detail_of(fenced.value).code == "producer_fenced"
    assert [one.value for one in stubs.fetch_all(topic)] == [b"a", b"b"]


def test_a_batch_for_keys_of_another_number_of_partitions_is_refused(stubs: Stubs, wide_topic: str) -> None:
    request = publish_pb2.PublishRequest(topic=wide_topic, partition=1, batch=raw(b"x", key=b"k"), partitions=3)
    with pytest.raises(grpc.RpcError) as failed:
        stubs.publish.Publish(request, timeout=WITHIN_S)
    assert detail_of(failed.value).code == "unknown_partition"
    request.partitions = 4
    assert stubs.publish.Publish(request, timeout=WITHIN_S).batch.partition == 1
