"""Calls that take from the queue and settle what they took: by receipts, by leases, and over a stream."""

from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from goqueue import codec
from goqueue.wire.grpc.v1 import places_pb2, records_pb2
from tests.behaviour.serving import eventually, running_server
from tests.integration.grpc.calling import every_method, service_of
from tests.integration.grpc.talking import WITHIN_S, connected, records_request

TYPED = records_pb2.RECORD_FORM_TYPED
LONG = {"visibility_ms": 3_600_000}
"""However busy the machine is, no lease runs out."""


def published(stubs, topic, *values):
    stubs.publish.Publish(records_request(topic, *values), timeout=WITHIN_S)


def typed(queue, topic, **more):
    """Records with their receipts, by value."""
    found = queue.Poll(group=topic, topics=[topic], form=TYPED, **LONG, **more)
    return {one.record.value: one for lease in found.leases for one in lease.typed}


def test_every_call_of_the_queue_does_what_it_is_for(stubs, topic):
    published(stubs, topic, b"done", b"later", b"never", b"longer", b"back")
    with every_method(stubs, "QueueService") as queue:
        (lease,) = queue.Poll(group=topic, topics=[topic], form=TYPED, **LONG).leases
        held = {one.record.value: one for one in lease.typed}
        assert [one.record.value for one in lease.typed] == [b"done", b"later", b"never", b"longer", b"back"]
        assert (lease.count, lease.records) == (5, b"")
        assert {(one.deliveries, one.failures) for one in lease.typed} == {(1, 0)}

        (acked,) = queue.Ack(records={"receipts": [held[b"done"].receipt]}).results
        assert (acked.topic, acked.partition, acked.offset) == (topic, 0, 0)
        assert (acked.committed_offset, acked.in_flight) == (1, 4)

        (nacked,) = queue.Nack(records={"receipts": [held[b"later"].receipt]}, delay_ms=0, reason="busy").results
        assert nacked.HasField("next_visible_at_ns")
        assert nacked.dead == 0

        (rejected,) = queue.Reject(records={"receipts": [held[b"never"].receipt]}, reason="broken").results
        assert (rejected.dead, rejected.dead_letter_topic) == (1, f"{topic}.dlq")

        (extended,) = queue.Extend(records={"receipts": [held[b"longer"].receipt]}, visibility_ms=7_200_000).results
        assert extended.deadline_ns > lease.deadline_ns

        (released,) = queue.Release(records={"receipts": [held[b"back"].receipt]}).results
        assert not released.HasField("error")

        again = typed(queue, topic)
        assert {value: (one.deliveries, one.failures) for value, one in again.items()} == {
            b"later": (2, 1),
            b"back": (2, 0),
        }
        (stats,) = [one for one in queue.GetDeliveryStats().queues if one.group == topic]
        counts = (stats.topic, stats.in_flight, stats.acked, stats.nacked, stats.rejected, stats.dead_lettered)
        assert counts == (topic, 3, 1, 1, 1, 1)
        (lanes,) = queue.GetLaneStats(group=topic, topic=topic).queues
        assert [lane.in_flight for lane in lanes.lanes] == [0, 0, 3, 0, 0]
        stream = queue.Work(group=topic, topics=[topic])
        stream.cancel()


def test_one_wrong_receipt_among_others_spoils_none_of_them(stubs, topic):
    published(stubs, topic, b"0", b"1")
    queue = service_of(stubs, "QueueService")
    held = typed(queue, topic)
    receipts = [held[b"0"].receipt, "receipt", held[b"1"].receipt, held[b"0"].receipt.replace(":0:1:", ":7:1:")]
    results = queue.Ack(records={"receipts": receipts}).results
    codes = [one.error.code for one in results]
    assert codes == ["", "unknown_receipt", "", "unknown_receipt"]
    assert [one.committed_offset for one in results][:3:2] == [1, 2]


def test_receipts_and_leases_can_be_settled_together(stubs, topic):
    published(stubs, topic, b"0", b"1", b"2", b"3")
    queue = service_of(stubs, "QueueService")
    one = typed(queue, topic, limit=1)[b"0"]
    (lease,) = queue.Poll(group=topic, **LONG).leases
    assert [record.value for record in codec.decode(lease.records)] == [b"1", b"2", b"3"]
    assert (lease.count, len(lease.typed)) == (3, 0)
    runs = [places_pb2.OffsetRun(first=1, count=3)]
    given = {"topic": topic, "partition": 0, "grant": lease.grant, "token": lease.token, "runs": runs}
    forged = {**given, "token": lease.token[::-1]}
    first, second, third = queue.Ack(
        records={"receipts": [one.receipt], "group": topic, "leases": [given, forged]}
    ).results
    assert (first.offset, first.committed_offset) == (0, 1)
    assert (second.HasField("offset"), second.committed_offset, second.in_flight) == (False, 4, 0)
    assert (third.error.code, third.topic) == ("unknown_receipt", topic)
    assert not queue.Poll(group=topic).leases


@pytest.mark.parametrize("form", [records_pb2.RECORD_FORM_BYTES, TYPED])
def test_a_worker_never_has_more_records_than_it_has_room_for(stubs, topic, form):
    values = [b"%d" % number for number in range(5)]
    published(stubs, topic, *values)
    queue = service_of(stubs, "QueueService")
    stream = queue.Work(group=topic, topics=[topic], max_in_flight=2, form=form, consumer="worker", **LONG)
    seen = []
    while len(seen) < 5:
        answer = next(stream)
        assert answer.consumer == "worker"
        for lease in answer.leases:
            offsets = [one.record.offset for one in lease.typed] or [one.offset for one in codec.decode(lease.records)]
            assert len(offsets) <= 2
            seen += offsets
            (stats,) = [one for one in queue.GetDeliveryStats().queues if one.group == topic]
            assert stats.in_flight <= 2
            runs = [places_pb2.OffsetRun(first=offset, count=1) for offset in offsets]
            given = {"topic": topic, "partition": 0, "grant": lease.grant, "token": lease.token, "runs": runs}
            (done,) = queue.Ack(records={"group": topic, "leases": [given]}).results
            assert not done.HasField("error")
    assert seen == list(range(5))
    stream.cancel()


def test_a_worker_gets_what_is_published_while_it_waits(stubs, topic):
    stream = service_of(stubs, "QueueService").Work(group=topic, topics=[topic], form=TYPED)
    published(stubs, topic, b"late")
    (lease,) = next(stream).leases
    assert [one.record.value for one in lease.typed] == [b"late"]
    stream.cancel()
    with pytest.raises(grpc.RpcError):
        next(stream)


def test_records_for_a_worker_that_went_away_are_for_others(stubs, topic):
    queue = service_of(stubs, "QueueService")
    stream = queue.Work(group=topic, topics=[topic], form=TYPED, **LONG)
    published(stubs, topic, b"first")
    assert next(stream).leases
    stream.cancel()
    published(stubs, topic, b"second")
    found = {}
    while b"second" not in found:
        # The first one may come, too: the broker may not have known that it had arrived.
        assert found.keys() <= {b"first"}
        found |= typed(queue, topic, wait_ms=60_000)
    assert found[b"second"].failures == 0


def test_waits_and_streams_end_when_the_broker_stops(tmp_path):
    with (
        running_server(tmp_path / "broker") as server,
        connected(server.grpc) as stubs,
        ThreadPoolExecutor() as threads,
    ):
        queue = service_of(stubs, "QueueService")
        service_of(stubs, "TopicService").CreateTopic(name="orders", partitions=1)
        published(stubs, "orders", b"0")
        stream = queue.Work(group="workers", topics=["orders"], max_in_flight=1, **LONG)
        assert next(stream).leases
        waits = [
            threads.submit(list, stream),
            *(threads.submit(queue.Poll, group="others", topics=["orders"], wait_ms=60_000, **LONG) for _ in range(2)),
        ]
        eventually(lambda: sum(one.done() for one in waits) == 1, within_s=60)
        assert server.stop() < 20
        codes = [dict(one.exception().trailing_metadata())["goqueue-code"] for one in waits if one.exception()]
        assert codes == ["not_ready", "not_ready"]


def test_a_member_polls_its_partitions_and_commits_what_the_poll_says(stubs, topic):
    published(stubs, topic, b"0", b"1")
    queue, groups = service_of(stubs, "QueueService"), service_of(stubs, "GroupService")
    member = groups.JoinGroup(group=topic, topics=[topic], session_ms=300_000)
    who = {"consumer": member.member_id, "generation": member.generation}
    found = queue.Poll(group=topic, **who)
    (after,) = found.next_offsets
    assert (after.topic, after.partition, after.offset) == (topic, 0, 2)
    assert queue.refusal("Poll", group=topic, consumer=member.member_id, generation=99) == "stale_generation"
    offsets = service_of(stubs, "OffsetService")
    commit = {"group": topic, "member_id": member.member_id, "generation": member.generation}
    offsets.CommitOffsets(**commit, offsets=[after])
    assert list(offsets.FetchOffsets(group=topic).offsets) == [after]


def test_a_forgotten_choice_is_refused_and_nothing_is_taken(stubs, topic):
    published(stubs, topic, b"0")
    queue = service_of(stubs, "QueueService")
    for field in ("form", "start"):
        assert queue.refusal("Poll", group=topic, topics=[topic], **{field: 77}) == "invalid_request"
    assert sum(lease.count for lease in queue.Poll(group=topic, topics=[topic]).leases) == 1
