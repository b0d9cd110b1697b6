import queue
import threading
from collections import Counter
from collections.abc import Callable

import grpc
import pytest

from goqueue.client import Admin
from goqueue.wire.grpc.v1 import consume_pb2, groups_pb2, offsets_pb2, places_pb2, records_pb2
from tests.behaviour.serving import Server, eventually
from tests.integration.grpc.talking import WITHIN_S, Stubs, batch_request, connected, detail_of

TYPED = records_pb2.RECORD_FORM_TYPED


class Member:
    """A subscriber in a thread of its own: it commits what it got, and gives up what it is asked to."""

    def __init__(self, stubs: Stubs, topic: str, group: str, **more: object) -> None:
        self._stubs = stubs
        self._group = group
        request = consume_pb2.SubscribeRequest(group=group, topics=[topic], form=TYPED, heartbeat_ms=100, **more)
        self._call = stubs.consume.Subscribe(request, timeout=WITHIN_S)
        self.commits = not request.auto_commit
        self.confirms = True
        self._is_stopping = False
        self.seen: list[tuple[int, int]] = []
        self.assigned: dict[int, int] = {}
        self.kinds: list[str] = []
        self.failures: queue.SimpleQueue[Exception] = queue.SimpleQueue()
        self.member_id = ""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._is_stopping = True
        self._call.cancel()
        self._thread.join(WITHIN_S)
        assert not self._thread.is_alive()
        assert self.failures.empty(), self.failures.get()

    def _read(self) -> None:
        try:
            for event in self._call:
                kind = event.WhichOneof("event")
                self.kinds.append(kind)
                getattr(self, f"_on_{kind}")(getattr(event, kind))
        except grpc.RpcError as error:
            if not self._is_stopping:
                self.failures.put(error)

    def _on_assigned(self, event: consume_pb2.Assigned) -> None:
        self.member_id = event.member_id
        self.assigned = {one.partition: one.offset for one in event.positions}

    def _on_revoking(self, event: consume_pb2.Revoking) -> None:
        if self.confirms:
            request = groups_pb2.RevokePartitionsRequest(
                group=self._group,
                member_id=event.member_id,
                partitions=event.partitions,
            )
            self._stubs.groups.RevokePartitions(request, timeout=WITHIN_S)

    def _on_lost(self, event: consume_pb2.Lost) -> None:
        pass

    def _on_heartbeat(self, event: consume_pb2.SubscribeHeartbeat) -> None:
        pass

    def _on_batch(self, batch: consume_pb2.ConsumedBatch) -> None:
        """A record counts as seen when it is certain not to come again."""
        if not self.commits or self._is_committed(batch):
            self.seen += [(one.partition, one.offset) for one in batch.records]

    def _is_committed(self, batch: consume_pb2.ConsumedBatch) -> bool:
        offset = places_pb2.PartitionOffset(topic=batch.topic, partition=batch.partition, offset=batch.next_offset)
        request = offsets_pb2.CommitOffsetsRequest(group=self._group, offsets=[offset], member_id=self.member_id)
        try:
            self._stubs.offsets.CommitOffsets(request, timeout=WITHIN_S)
        except grpc.RpcError as error:
            # It went to another member while it was on its way, or this one is leaving.
            if detail_of(error).code not in ("member_fenced", "unknown_member"):
                raise
            return False
        return True


def publish(stubs: Stubs, topic: str, per_partition: int) -> None:
    for partition in range(4):
        stubs.publish.Publish(batch_request(topic, *[b"x"] * per_partition, partition=partition), timeout=WITHIN_S)


def everything(per_partition: int) -> set[tuple[int, int]]:
    return {(partition, offset) for partition in range(4) for offset in range(per_partition)}


def waiting_for(holds: Callable[[], object]) -> None:
    eventually(holds, within_s=WITHIN_S)


def test_a_member_alone_reads_everything_and_goes_on_where_it_was(stubs: Stubs, wide_topic: str) -> None:
    publish(stubs, wide_topic, 10)
    first = Member(stubs, wide_topic, wide_topic)
    waiting_for(lambda: set(first.seen) == everything(10))
    first.stop()
    assert first.kinds[0] == "assigned"

    publish(stubs, wide_topic, 10)
    second = Member(stubs, wide_topic, wide_topic)
    waiting_for(lambda: len(second.seen) == 40)
    second.stop()
    assert sorted(first.seen + second.seen) == sorted(everything(20))


def test_two_members_share_the_partitions_and_lose_and_repeat_nothing(stubs: Stubs, wide_topic: str) -> None:
    publish(stubs, wide_topic, 50)
    first = Member(stubs, wide_topic, wide_topic)
    waiting_for(lambda: len(first.seen) == 200)
    second = Member(stubs, wide_topic, wide_topic)
    waiting_for(lambda: len(first.assigned) == len(second.assigned) == 2)
    assert "revoking" in first.kinds
    assert first.assigned.keys() | second.assigned.keys() == {0, 1, 2, 3}

    publish(stubs, wide_topic, 50)
    waiting_for(lambda: len(first.seen) + len(second.seen) >= 400)
    assert {partition for partition, _ in second.seen} == set(second.assigned)

    second.stop()
    waiting_for(lambda: len(first.assigned) == 4)
    publish(stubs, wide_topic, 50)
    waiting_for(lambda: len(first.seen) + len(second.seen) >= 600)
    first.stop()
    assert Counter(first.seen + second.seen) == dict.fromkeys(everything(150), 1)


def test_members_come_and_go_under_load_and_nothing_is_lost(server: Server, stubs: Stubs, wide_topic: str) -> None:
    """A batch that is on its way when its partition changes hands may come twice; none may be left out."""
    with connected(server.grpc) as others:
        members = [Member(stubs, wide_topic, wide_topic)]
        for turn in range(4):
            publish(stubs, wide_topic, 25)
            if turn % 2 == 0:
                members.append(Member(others, wide_topic, wide_topic))
            else:
                members[turn // 2].stop()
            publish(stubs, wide_topic, 25)
        waiting_for(lambda: {one for member in members for one in member.seen} == everything(200))
        members[-1].stop()


def test_what_is_not_confirmed_in_time_goes_to_the_other_member_all_the_same(stubs: Stubs, wide_topic: str) -> None:
    first = Member(stubs, wide_topic, wide_topic, revocation_ms=200)
    first.confirms = False
    waiting_for(lambda: len(first.assigned) == 4)
    second = Member(stubs, wide_topic, wide_topic)
    waiting_for(lambda: len(second.assigned) == 2)
    waiting_for(lambda: "lost" in first.kinds)
    assert first.kinds.index("revoking") < first.kinds.index("lost")
    publish(stubs, wide_topic, 5)
    waiting_for(lambda: set(first.seen) | set(second.seen) == everything(5))
    first.stop()
    second.stop()


def test_the_broker_commits_for_those_who_ask_it_to(stubs: Stubs, wide_topic: str) -> None:
    publish(stubs, wide_topic, 10)
    first = Member(stubs, wide_topic, wide_topic, auto_commit=True)
    waiting_for(lambda: len(first.seen) == 40)
    second = Member(stubs, wide_topic, wide_topic, auto_commit=True)
    waiting_for(lambda: len(first.assigned) == len(second.assigned) == 2)
    first.stop()
    second.stop()

    def committed() -> list[int]:
        request = offsets_pb2.FetchOffsetsRequest(group=wide_topic)
        return [one.offset for one in stubs.offsets.FetchOffsets(request, timeout=WITHIN_S).offsets]

    waiting_for(lambda: committed() == [10, 10, 10, 10])
    assert second.seen == []


def test_a_stream_that_ends_leaves_the_group(stubs: Stubs, wide_topic: str) -> None:
    member = Member(stubs, wide_topic, wide_topic)
    waiting_for(lambda: len(member.assigned) == 4)
    request = groups_pb2.GetGroupRequest(group=wide_topic)
    assert len(stubs.groups.GetGroup(request, timeout=WITHIN_S).group.members) == 1
    member.stop()
    waiting_for(lambda: not stubs.groups.GetGroup(request, timeout=WITHIN_S).group.members)


def test_a_paused_group_gets_nothing_until_it_goes_on(stubs: Stubs, wide_topic: str) -> None:
    member = Member(stubs, wide_topic, wide_topic)
    waiting_for(lambda: len(member.assigned) == 4)
    stubs.groups.PauseGroup(groups_pb2.PauseGroupRequest(group=wide_topic), timeout=WITHIN_S)
    waiting_for(lambda: member.kinds.count("assigned") == 2)
    publish(stubs, wide_topic, 3)
    signs = member.kinds.count("heartbeat")
    waiting_for(lambda: member.kinds.count("heartbeat") >= signs + 2)
    assert member.seen == []
    stubs.groups.ResumeGroup(groups_pb2.ResumeGroupRequest(group=wide_topic), timeout=WITHIN_S)
    waiting_for(lambda: set(member.seen) == everything(3))
    member.stop()


@pytest.mark.parametrize("protocol", [groups_pb2.GROUP_PROTOCOL_COOPERATIVE, groups_pb2.GROUP_PROTOCOL_EAGER])
def test_both_protocols_share_out_all_partitions(
    stubs: Stubs, wide_topic: str, protocol: groups_pb2.GroupProtocol
) -> None:
    members = [Member(stubs, wide_topic, wide_topic, protocol=protocol, start=1) for _ in range(3)]
    waiting_for(lambda: sorted(len(one.assigned) for one in members) == [1, 1, 2])
    publish(stubs, wide_topic, 5)
    waiting_for(lambda: {place for one in members for place in one.seen} == everything(5))
    for one in members:
        one.stop()


async def test_a_topic_that_is_made_later_is_taken_in_by_a_pattern(server: Server, stubs: Stubs, topic: str) -> None:
    request = consume_pb2.SubscribeRequest(group=topic, pattern=f"{topic}.*", form=TYPED)
    events = stubs.consume.Subscribe(request, timeout=WITHIN_S)
    assert [one.topic for one in next(events).assigned.positions] == [topic]
    async with Admin(server.native) as admin:
        await admin.create_topic(f"{topic}-more", 1)
    for event in events:
        if event.HasField("assigned") and len(event.assigned.positions) == 2:
            break
    stubs.publish.Publish(batch_request(f"{topic}-more", b"new"), timeout=WITHIN_S)
    batch = next(event.batch for event in events if event.HasField("batch"))
    assert [(one.topic, one.value) for one in batch.records] == [(f"{topic}-more", b"new")]
    async with Admin(server.native) as admin:
        await admin.delete_topic(topic)
    lost = next(event.lost for event in events if event.HasField("lost"))
    assert [one.topic for one in lost.partitions] == [topic]
    events.cancel()


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({}, "invalid_request"),
        ({"topics": ["x"], "revocation_ms": 70_000}, "invalid_request"),
        ({"topics": ["x"], "protocol": 9}, "invalid_request"),
        ({"topics": ["x"], "session_ms": 1}, "invalid_request"),
        ({"topics": ["x"], "group": "__internal"}, "invalid_request"),
    ],
    ids=["nothing to read", "revocation", "protocol", "session", "group"],
)
def test_a_subscription_that_cannot_be_is_refused(stubs: Stubs, more: dict[str, object], code: str) -> None:
    request = consume_pb2.SubscribeRequest(**({"group": "some-group"} | more))
    with pytest.raises(grpc.RpcError) as failed:
        next(stubs.consume.Subscribe(request, timeout=WITHIN_S))
    assert detail_of(failed.value).code == code
