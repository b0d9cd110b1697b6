"""gRPC as a path: the generated stubs, and nothing around them."""

import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import grpc

from goqueue import codec
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.wire.grpc.v1 import (
    consume_pb2,
    consume_pb2_grpc,
    delays_pb2,
    delays_pb2_grpc,
    groups_pb2,
    groups_pb2_grpc,
    offsets_pb2,
    offsets_pb2_grpc,
    places_pb2,
    publish_pb2,
    publish_pb2_grpc,
    queue_pb2,
    queue_pb2_grpc,
    records_pb2,
    topics_pb2,
    topics_pb2_grpc,
    transactions_pb2,
    transactions_pb2_grpc,
)
from tests.behaviour.beating import Beating, beating_consumer
from tests.behaviour.grpc_messages import (
    changed,
    check_item,
    delay_facts,
    got,
    logs,
    offsets_of,
    partitions_of,
    record_out,
    refusals,
    settings_in,
    settled,
    topic_facts,
)
from tests.behaviour.path import (
    Ability,
    Assignment,
    DelayFacts,
    Got,
    GroupFacts,
    Lent,
    Out,
    Place,
    Refused,
    TopicFacts,
    WorkerFacts,
)
from tests.behaviour.path_grpc_worker import GrpcWorking
from tests.behaviour.serving import Server

__all__ = ["GrpcPath"]

LARGEST_MESSAGE = 64 * 1024 * 1024


class GrpcPath:
    """Records go and come one by one, but for those of transactions and of workers, which go as bytes."""

    abilities = frozenset(Ability)

    def __init__(self, server: Server) -> None:
        self._address = server.grpc
        self._made: grpc.aio.Channel | None = None
        self._sequences: dict[int, dict[tuple[str, int], int]] = {}

    def _stub(self, kind: Any) -> Any:
        """On the one channel, which belongs to the event loop of whoever asks first."""
        if self._made is None:
            options = (("grpc.max_receive_message_length", LARGEST_MESSAGE), ("grpc.use_local_subchannel_pool", 1))
            self._made = grpc.aio.insecure_channel(self._address, options)
        return kind(self._made)

    @property
    def _topics(self) -> Any:
        return self._stub(topics_pb2_grpc.TopicServiceStub)

    @property
    def _publish(self) -> Any:
        return self._stub(publish_pb2_grpc.PublishServiceStub)

    @property
    def _consume(self) -> Any:
        return self._stub(consume_pb2_grpc.ConsumeServiceStub)

    @property
    def _groups(self) -> Any:
        return self._stub(groups_pb2_grpc.GroupServiceStub)

    @property
    def _offsets(self) -> Any:
        return self._stub(offsets_pb2_grpc.OffsetServiceStub)

    @property
    def _delays(self) -> Any:
        return self._stub(delays_pb2_grpc.DelayServiceStub)

    @property
    def _transactions(self) -> Any:
        return self._stub(transactions_pb2_grpc.TransactionServiceStub)

    @property
    def queue(self) -> Any:
        return self._stub(queue_pb2_grpc.QueueServiceStub)

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()

    # Topics.

    async def create_topic(self, name: str, partitions: int = 3, **config: Any) -> TopicFacts:
        with refusals():
            settings = settings_in(config)
            request = topics_pb2.CreateTopicRequest(name=name, partitions=partitions, settings=settings)
            return topic_facts((await self._topics.CreateTopic(request)).topic)

    async def topic(self, name: str) -> TopicFacts:
        return topic_facts(await self._topic(name))

    async def _topic(self, name: str) -> topics_pb2.Topic:
        with refusals():
            found: topics_pb2.Topic = (await self._topics.GetTopic(topics_pb2.GetTopicRequest(name=name))).topic
            return found

    async def topics(self) -> list[str]:
        with refusals():
            return [one.name for one in (await self._topics.ListTopics(topics_pb2.ListTopicsRequest())).topics]

    async def alter_topic(self, name: str, **config: Any) -> TopicFacts:
        with refusals():
            request = topics_pb2.UpdateTopicRequest(name=name, settings=settings_in(config))
            return topic_facts((await self._topics.UpdateTopic(request)).topic)

    async def delete_topic(self, name: str) -> None:
        with refusals():
            await self._topics.DeleteTopic(topics_pb2.DeleteTopicRequest(name=name))

    async def ends(self, topic: str) -> list[tuple[int, int]]:
        return [(one.earliest, one.latest) for one in (await self._topic(topic)).partitions]

    # Records.

    async def publish(self, topic: str, records: Sequence[Out], *, durability: str | None = None) -> list[Place]:
        with refusals():
            wanted = None if durability is None else f"DURABILITY_{durability.upper()}"
            request = publish_pb2.PublishRequest(topic=topic, records=map(record_out, records), durability=wanted)
            results = (await self._publish.Publish(request)).results
        for one in results:
            check_item(one)
        return [Place(one.record.partition, one.record.offset) for one in results]

    async def read(
        self,
        topic: str,
        partition: int,
        offset: int = 0,
        limit: int = 1000,
        *,
        isolation: str = "read_committed",
    ) -> list[Got]:
        found: list[Got] = []
        while len(found) < limit:
            request = consume_pb2.FetchRequest(
                positions=[consume_pb2.PartitionPosition(topic=topic, partition=partition, offset=offset)],
                isolation=f"ISOLATION_{isolation.removeprefix('read_').upper()}",
                form=records_pb2.RECORD_FORM_TYPED,
            )
            with refusals():
                (batch,) = (await self._consume.Fetch(request)).batches
            check_item(batch)
            if batch.next_offset == offset:
                break
            offset = batch.next_offset
            found += map(got, batch.records)
        return found[:limit]

    # Groups.

    async def group(self, name: str) -> GroupFacts:
        with refusals():
            found = (await self._groups.GetGroup(groups_pb2.GetGroupRequest(group=name))).group
        return GroupFacts(
            groups_pb2.GroupState.Name(found.state).removeprefix("GROUP_STATE_").capitalize(),
            {one.member_id: logs(one.partitions) for one in found.members},
            {LogId(one.topic, one.partition): one.lag for one in found.partitions},
            found.paused,
            found.delayed,
            tuple(
                WorkerFacts(
                    one.consumer,
                    one.address or None,
                    one.since_ns or None,
                    one.in_flight if one.HasField("in_flight") else None,
                )
                for one in found.workers
            ),
        )

    async def groups(self) -> list[str]:
        with refusals():
            return [one.group for one in (await self._groups.ListGroups(groups_pb2.ListGroupsRequest())).groups]

    async def committed(self, group: str) -> dict[LogId, int]:
        with refusals():
            found = (await self._offsets.FetchOffsets(offsets_pb2.FetchOffsetsRequest(group=group))).offsets
        return offsets_of(found)

    async def reset(
        self, group: str, to: str, value: int | None = None, *, topics: list[str], dry_run: bool = False
    ) -> dict[LogId, int]:
        request = offsets_pb2.ResetOffsetsRequest(
            group=group,
            to=f"OFFSET_POINT_{to.upper()}",
            offset=value if to == "offset" else None,
            timestamp_ns=value if to == "timestamp" else None,
            topics=topics,
            dry_run=dry_run,
        )
        with refusals():
            changes = (await self._offsets.ResetOffsets(request)).changes
        return {LogId(one.topic, one.partition): one.after for one in changes}

    async def pause_group(self, group: str, *, paused: bool) -> None:
        with refusals():
            if paused:
                await self._groups.PauseGroup(groups_pb2.PauseGroupRequest(group=group))
            else:
                await self._groups.ResumeGroup(groups_pb2.ResumeGroupRequest(group=group))

    async def delete_group(self, group: str) -> None:
        with refusals():
            await self._groups.DeleteGroup(groups_pb2.DeleteGroupRequest(group=group))

    # Delays.

    async def delayed(self, topic: str, *, skip: int = 0, limit: int = 100) -> list[DelayFacts]:
        request = delays_pb2.ListDelayedRequest(topic=topic, skip=skip, limit=limit)
        with refusals():
            return [delay_facts(one) for one in (await self._delays.ListDelayed(request)).delayed]

    async def delay(self, topic: str, place: Place) -> tuple[DelayFacts, bytes | None]:
        with refusals():
            request = delays_pb2.GetDelayedRequest(topic=topic, **place._asdict())
            found = await self._delays.GetDelayed(request)
        return delay_facts(found.delay), found.record.value

    async def cancel(self, topic: str, place: Place) -> DelayFacts:
        cancelled, refused = await self.cancel_many(topic, [place])
        if refused:
            raise Refused(refused[place], "not cancelled")
        assert cancelled == [place]
        return (await self.delay(topic, place))[0]

    async def cancel_many(self, topic: str, places: Sequence[Place]) -> tuple[list[Place], dict[Place, str]]:
        with refusals():
            records = [places_pb2.Place(**place._asdict()) for place in places]
            found = await self._delays.CancelDelayed(delays_pb2.CancelDelayedRequest(topic=topic, records=records))
        refused = {Place(one.partition, one.offset): one.error.code for one in found.not_cancelled}
        return [Place(one.partition, one.offset) for one in found.cancelled], refused

    async def reschedule(self, topic: str, place: Place, due_ns: int) -> DelayFacts:
        with refusals():
            request = delays_pb2.RescheduleDelayedRequest(topic=topic, deliver_at_ns=due_ns, **place._asdict())
            return delay_facts((await self._delays.RescheduleDelayed(request)).delay)

    async def delay_stats(self, topic: str) -> dict[str, int]:
        with refusals():
            topics = (await self._delays.GetDelayStats(delays_pb2.GetDelayStatsRequest())).topics
        (found,) = [one for one in topics if one.topic == topic]
        return {name: getattr(found, name) for name in ("pending", "delivered", "cancelled")}

    # Transactions.

    async def begin_transaction(
        self, transactional_id: str, timeout_ms: int = 60_000
    ) -> transactions_pb2.TransactionRef:
        init = transactions_pb2.InitTransactionsRequest(
            transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
        )
        with refusals():
            who = await self._transactions.InitTransactions(init)
            begin = transactions_pb2.BeginTransactionRequest(producer_id=who.producer_id, epoch=who.epoch)
            handle: transactions_pb2.TransactionRef = (await self._transactions.BeginTransaction(begin)).transaction
        self._sequences[handle.transaction] = {}
        return handle

    async def publish_in(
        self, handle: transactions_pb2.TransactionRef, topic: str, partition: int, values: Sequence[bytes]
    ) -> None:
        sent = self._sequences[handle.transaction]
        sequence = sent.get((topic, partition), 0)
        request = publish_pb2.PublishRequest(
            topic=topic,
            partition=partition,
            batch=records_pb2.RecordBatch(records=codec.encode([Record(one) for one in values])),
            producer=publish_pb2.ProducerSequence(
                producer_id=handle.producer_id, epoch=handle.epoch, sequence=sequence
            ),
            transaction=handle.transaction,
        )
        with refusals():
            await self._publish.Publish(request)
        sent[topic, partition] = sequence + len(values)

    async def ack_in(self, handle: transactions_pb2.TransactionRef, lent: Lent, action: str = "ack") -> None:
        request = transactions_pb2.AddAcksRequest(
            transaction=handle, records=settled([lent]), action=f"SETTLE_ACTION_{action.upper()}"
        )
        with refusals():
            await self._transactions.AddAcks(request)

    async def offsets_in(
        self, handle: transactions_pb2.TransactionRef, group: str, topic: str, partition: int, offset: int
    ) -> None:
        offsets = [places_pb2.PartitionOffset(topic=topic, partition=partition, offset=offset)]
        request = transactions_pb2.AddOffsetsRequest(transaction=handle, group=group, offsets=offsets)
        with refusals():
            await self._transactions.AddOffsets(request)

    async def commit_transaction(self, handle: transactions_pb2.TransactionRef) -> None:
        with refusals():
            request = transactions_pb2.CommitTransactionRequest(transaction=handle)
            await self._transactions.CommitTransaction(request)

    async def abort_transaction(self, handle: transactions_pb2.TransactionRef) -> None:
        with refusals():
            await self._transactions.AbortTransaction(transactions_pb2.AbortTransactionRequest(transaction=handle))

    # Members.

    async def join(self, group: str, topics: Sequence[str], **options: Any) -> Assignment:
        for name, prefix in (("protocol", "GROUP_PROTOCOL"), ("assignor", "ASSIGNOR")):
            if options.get(name) is not None:
                options[name] = f"{prefix}_{options[name].upper()}"
        options.setdefault("client_id", "tester")
        with refusals():
            request = groups_pb2.JoinGroupRequest(group=group, topics=topics, **options)
            found = await self._groups.JoinGroup(request)
        return Assignment(found.member_id, found.generation, logs(found.partitions))

    async def heartbeat(
        self, group: str, member: Assignment, owned: frozenset[LogId] | None = None, *, wait_ms: int = 0
    ) -> Assignment:
        held = None if owned is None else groups_pb2.Partitions(partitions=partitions_of(owned))
        request = groups_pb2.HeartbeatRequest(
            group=group, member_id=member.member_id, generation=member.generation, owned=held, wait_ms=wait_ms
        )
        with refusals():
            found = (await self._groups.Heartbeat(request)).assignment
        return Assignment(member.member_id, found.generation, logs(found.partitions), logs(found.revoke))

    async def poll(self, group: str, member: Assignment, *, wait_ms: int = 0) -> list[Got]:
        return (await self.poll_page(group, member, wait_ms, 1000))[0]

    async def poll_page(
        self, group: str, member: Assignment, wait_ms: int, limit: int
    ) -> tuple[list[Got], dict[LogId, int]]:
        """Records, and where each partition goes on behind them."""
        request = queue_pb2.PollRequest(
            group=group,
            consumer=member.member_id,
            generation=member.generation,
            wait_ms=wait_ms,
            limit=limit,
            form=records_pb2.RECORD_FORM_TYPED,
        )
        with refusals():
            found = await self.queue.Poll(request)
        records = [got(one.record) for lease in found.leases for one in lease.typed]
        return records, offsets_of(found.next_offsets)

    async def leave(self, group: str, member_id: str) -> None:
        with refusals():
            await self._groups.LeaveGroup(groups_pb2.LeaveGroupRequest(group=group, member_id=member_id))

    async def commit(self, group: str, offsets: Mapping[LogId, int], member: Assignment | None = None) -> None:
        request = offsets_pb2.CommitOffsetsRequest(
            group=group,
            offsets=[
                places_pb2.PartitionOffset(topic=log.topic, partition=log.partition, offset=offset)
                for log, offset in offsets.items()
            ],
            member_id=None if member is None else member.member_id,
            generation=None if member is None else member.generation,
        )
        with refusals():
            await self._offsets.CommitOffsets(request)

    def consumer(self, group: str, *topics: str, **options: Any) -> AbstractAsyncContextManager[Beating]:
        return beating_consumer(self, group, topics, **options)

    # Queue.

    @asynccontextmanager
    async def worker(
        self, group: str, *topics: str, visibility_ms: int | None = None, key_order: bool = False
    ) -> AsyncIterator[GrpcWorking]:
        request = queue_pb2.PollRequest(
            group=group,
            topics=topics,
            consumer=secrets.token_hex(8),
            visibility_ms=visibility_ms,
            key_order=key_order,
        )
        yield GrpcWorking(self.queue, request)

    def forged(self, lent: Lent) -> dict[str, Lent]:
        given: tuple[str, queue_pb2.LeasedRecords] = lent.receipt
        group, lease = given
        first = lease.runs[0].first
        other = lease.token[:-2] + ("AA" if lease.token[-2:] != "AA" else "BB")
        wrong = {
            "another token": (group, changed(lease, token=other)),
            "half a token": (group, changed(lease, token=lease.token[:8])),
            "no token": (group, changed(lease, token="")),
            "the next grant": (group, changed(lease, grant=lease.grant + 1)),
            "another group": (f"{group}-other", lease),
            "another partition": (group, changed(lease, partition=lease.partition + 1)),
            "another topic": (group, changed(lease, topic=f"{lease.topic}-other")),
            "an offset far away": (group, changed(lease, offset=2**62)),
            "an offset beyond all": (group, changed(lease, offset=2**63 - 1)),
            "an offset before all": (group, changed(lease, offset=-1)),
            "a neighbour": (group, changed(lease, offset=first + 1)),
        }
        return {what: lent._replace(receipt=receipt) for what, receipt in wrong.items()}
