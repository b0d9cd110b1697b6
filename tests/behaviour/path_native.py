"""The native protocol as a path: requests as they are, without what the client library makes of them."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from goqueue import codec
from goqueue.client.connection import error_from
from goqueue.client.link import Link
from goqueue.client.partitioner import TopicPartitioner
from goqueue.model.delay import due_ns
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.record_id import with_id
from goqueue.model.runs import offsets_of
from goqueue.wire.native import messages, transactions
from goqueue.wire.native.frames import Opcode
from tests.behaviour.path import Ability, Assignment, Got, Lent, Out, Place
from tests.behaviour.path_clients import AsyncioPath, refusals
from tests.behaviour.serving import Server

__all__ = ["NativePath"]


class NativePath(AsyncioPath):
    """Topics and looking at groups are one request each, for which the asyncio Admin stands."""

    abilities = frozenset(
        {
            Ability.TOPICS,
            Ability.RECORDS,
            Ability.READ_ERRORS,
            Ability.GROUPS,
            Ability.MEMBERS,
            Ability.DELAYS,
            Ability.TRANSACTIONS,
        }
    )

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self._link = Link(server.native)
        self._sequences: dict[int, dict[tuple[str, int], int]] = {}

    async def close(self) -> None:
        await super().close()
        await self._link.close()

    async def _request(self, opcode: Opcode, message: Any, reply: Any, tail: bytes = b"") -> Any:
        with refusals():
            connection = await self._link.connection()
            head, rest = await connection.request(opcode, message, reply, tail)
            return (head, rest) if reply is messages.Fetched else head

    # Delays.

    async def cancel_many(self, topic: str, places: Sequence[Place]) -> tuple[list[Place], dict[Place, str]]:
        """A run for each record: they need be neither in order nor joined."""
        records = tuple(messages.PendingRecords(partition, ((offset, 1),)) for partition, offset in places)
        request = messages.CancelDelayed(topic, records)
        parts = (await self._request(Opcode.CANCEL_DELAYED, request, messages.CancelDelayedReply)).parts
        cancelled = [Place(part.partition, offset) for part in parts for offset in offsets_of(part.cancelled)]
        refused = {
            Place(part.partition, offset): one.error.code
            for part in parts
            for one in part.refused
            for offset in offsets_of(one.runs)
        }
        return sorted(cancelled), refused

    # Records.

    async def publish(self, topic: str, records: Sequence[Out], *, durability: str | None = None) -> list[Place]:
        found = (await self._request(Opcode.METADATA, messages.Metadata((topic,)), messages.MetadataReply)).topics[0]
        partitioner = TopicPartitioner(found, "murmur3")
        places: list[Place | None] = [None] * len(records)
        batches: dict[int, list[int]] = {}
        with refusals():
            for number, record in enumerate(records):
                batches.setdefault(partitioner.pick(record.key, record.partition), []).append(number)
        for partition, numbers in batches.items():
            with refusals():
                some = [records[number] for number in numbers]
                tail = codec.encode([_record(one) for one in some])
            ids = tuple(one.id for one in some) if any(one.id for one in some) else None
            dues = tuple(map(_due, some)) if any(map(_due, some)) else None
            head = messages.Publish(topic, partition, durability, ids=ids, deliver_at=dues)  # type: ignore[arg-type]
            reply = await self._request(Opcode.PUBLISH, head, messages.Published, tail)
            for step, number in enumerate(numbers):
                offset = reply.offsets[step] if reply.offsets is not None else reply.base_offset + step
                places[number] = Place(partition, offset)
        return [place for place in places if place is not None]

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
            parts = (messages.FetchFrom(topic, partition, offset),)
            request = messages.Fetch(parts, isolation=isolation)  # type: ignore[arg-type]
            head, tail = await self._request(Opcode.FETCH, request, messages.Fetched)
            (part,) = head.parts
            if part.error is not None:
                with refusals():
                    raise error_from(part.error)
            if part.next_offset == offset:
                break
            offset = part.next_offset
            found += [
                Got(topic, partition, r.offset, r.timestamp_ns, r.key, r.value, r.headers, r.priority)
                for r in codec.decode(tail)
                if not any(first <= r.offset < first + count for first, count in part.skip)
            ]
        return found[:limit]

    # Transactions.

    async def begin_transaction(self, transactional_id: str, timeout_ms: int = 60_000) -> Any:
        init = transactions.InitTransactions(transactional_id, timeout_ms)
        producer = await self._request(Opcode.INIT_TRANSACTIONS, init, messages.ProducerIdentity)
        begin = transactions.BeginTransaction(producer.producer_id, producer.epoch)
        begun = await self._request(Opcode.BEGIN_TRANSACTION, begin, transactions.Begun)
        self._sequences[begun.number] = {}
        return transactions.TransactionRef(begun.number, begun.producer_id, begun.epoch)

    async def publish_in(
        self, handle: transactions.TransactionRef, topic: str, partition: int, values: Sequence[bytes]
    ) -> None:
        sent = self._sequences[handle.number]
        sequence = sent.get((topic, partition), 0)
        head = messages.Publish(
            topic,
            partition,
            producer_id=handle.producer_id,
            producer_epoch=handle.epoch,
            sequence=sequence,
            transaction=handle.number,
        )
        await self._request(Opcode.PUBLISH, head, messages.Published, codec.encode([Record(one) for one in values]))
        sent[topic, partition] = sequence + len(values)

    async def ack_in(self, handle: transactions.TransactionRef, lent: Lent, action: str = "ack") -> None:
        job = lent.receipt
        grant = job.grant
        lease = messages.LeasedRecords(
            grant.log.topic, grant.log.partition, grant.number, grant.token, ((job.message.offset, 1),)
        )
        request = transactions.AddAcks(handle, grant.group, action, (lease,))  # type: ignore[arg-type]
        await self._request(Opcode.ADD_ACKS, request, transactions.AcksAdded)

    async def offsets_in(
        self, handle: transactions.TransactionRef, group: str, topic: str, partition: int, offset: int
    ) -> None:
        request = transactions.AddOffsets(handle, group, (messages.PartitionOffset(topic, partition, offset),))
        await self._request(Opcode.ADD_OFFSETS, request, messages.Done)

    async def commit_transaction(self, handle: transactions.TransactionRef) -> None:
        await self._request(Opcode.COMMIT_TRANSACTION, transactions.EndTransaction(handle), messages.Done)

    async def abort_transaction(self, handle: transactions.TransactionRef) -> None:
        await self._request(Opcode.ABORT_TRANSACTION, transactions.EndTransaction(handle), messages.Done)

    # Members.

    async def join(self, group: str, topics: Sequence[str], **options: Any) -> Assignment:
        request = messages.JoinGroup(group, options.pop("client_id", "tester"), tuple(topics), **options)
        reply = await self._request(Opcode.JOIN_GROUP, request, messages.Joined)
        return Assignment(reply.member_id, reply.generation, _logs(reply.assigned))

    async def heartbeat(
        self, group: str, member: Assignment, owned: frozenset[LogId] | None = None, *, wait_ms: int = 0
    ) -> Assignment:
        held = None if owned is None else tuple(messages.TopicPartition(*log) for log in sorted(owned))
        request = messages.Heartbeat(group, member.member_id, member.generation, held, wait_ms)
        reply = await self._request(Opcode.HEARTBEAT, request, messages.Assigned)
        return Assignment(member.member_id, reply.generation, _logs(reply.assigned), _logs(reply.revoke))

    async def poll(self, group: str, member: Assignment, *, wait_ms: int = 0) -> list[Got]:
        parts = tuple(messages.FetchFrom(*log, 0) for log in sorted(member.partitions))
        who = messages.GroupMember(group, member.member_id, member.generation)
        head, tail = await self._request(Opcode.FETCH, messages.Fetch(parts, 1 << 20, wait_ms, who), messages.Fetched)
        assert {part.error.code for part in head.parts if part.error is not None} <= {"member_fenced"}
        found, at = [], 0
        for part in head.parts:
            for r in codec.decode(tail[at : at + part.length]):
                at_place = (part.topic, part.partition, r.offset, r.timestamp_ns)
                found.append(Got(*at_place, r.key, r.value, r.headers, r.priority))
            at += part.length
        return found

    async def leave(self, group: str, member_id: str) -> None:
        await self._request(Opcode.LEAVE_GROUP, messages.LeaveGroup(group, member_id), messages.Done)

    async def commit(self, group: str, offsets: Mapping[LogId, int], member: Assignment | None = None) -> None:
        wanted = tuple(messages.PartitionOffset(log.topic, log.partition, offset) for log, offset in offsets.items())
        who = (None, None) if member is None else (member.member_id, member.generation)
        await self._request(Opcode.COMMIT_OFFSETS, messages.CommitOffsets(group, wanted, *who), messages.Done)


def _due(given: Out) -> int:
    if given.deliver_at_ns is not None and given.delay_ms is None:
        # As it is: the broker has to find out what is wrong with it.
        return given.deliver_at_ns
    with refusals():
        return due_ns(given.delay_ms, given.deliver_at_ns, now_ns=time.time_ns())


def _record(given: Out) -> Record:
    record = Record(given.value, given.key, given.headers, given.priority)
    return record if given.id is None else with_id(record, given.id)


def _logs(partitions: Sequence[messages.TopicPartition]) -> frozenset[LogId]:
    return frozenset(LogId(one.topic, one.partition) for one in partitions)
