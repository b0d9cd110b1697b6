"""Transactions of producers: begin one, publish and acknowledge and move groups in it, commit or abort; and parts."""

from typing import Any

from msgspec import UNSET

from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.engine.broker import Broker
from goqueue.engine.placement import Placement
from goqueue.engine.producers import init_producer
from goqueue.engine.publish_records import Outgoing, publish_in_transaction
from goqueue.engine.queue.by_receipt import leases_of
from goqueue.engine.transactions import beginning, ending
from goqueue.engine.transactions.joining import check
from goqueue.engine.transactions.pledging import pledge_all
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.gateways.http.api.groups import partition_number
from goqueue.gateways.http.api.publishing import Published, messages_of, outgoing_of, result_of
from goqueue.gateways.http.api.transaction_shapes import (
    AddAcksBody,
    Added,
    AddedAcks,
    AddOffsetsBody,
    AddPartitionBody,
    Alive,
    BeginBody,
    BeginPartBody,
    Begun,
    DecideBody,
    Decided,
    EndBody,
    Ended,
    HeartbeatBody,
    InitBody,
    InTransactionBody,
    ManyRecords,
    OneRecord,
    Prepared,
    Producer,
    ProducerParams,
    RecordIn,
    RecordsBody,
)
from goqueue.gateways.http.endpoint import Endpoint, Nothing
from goqueue.gateways.http.forms.times import duration_ms, instant_text
from goqueue.gateways.http.rules import RuleBroken, check_rules
from goqueue.model.log import LogId
from goqueue.model.topic import TopicName, topic_name

__all__ = ["endpoints"]

TAG = "Transactions"


# Who may have transactions.


async def init(broker: Broker, _: Nothing, __: Nothing, body: InitBody) -> Producer:
    if body.transactional_id is UNSET:
        return Producer(*await init_producer(broker, None, 0))
    enlisted = await beginning.enlist(broker, body.transactional_id, body.transaction_timeout_ms)
    return Producer(enlisted.producer_id, enlisted.epoch)


async def heartbeat(broker: Broker, params: ProducerParams, _: Nothing, body: HeartbeatBody) -> Alive:
    beginning.check_alive(broker, params.producer_id, body.epoch)
    return Alive(params.producer_id, body.epoch, broker.transactions.open_of(params.producer_id))


# A transaction and what belongs to it.


async def begin(broker: Broker, _: Nothing, __: Nothing, body: BeginBody) -> Begun:
    return _begun(await beginning.begin(broker, body.producer_id, body.epoch))


async def add_partition(broker: Broker, _: Nothing, __: Nothing, body: AddPartitionBody) -> Added:
    """Nothing needs to be remembered: whatever is published makes its partition part of the transaction."""
    check(broker, body.ref)
    broker.partition(topic_name(body.topic), body.partition)
    return Added(body.transaction)


async def add_acks(broker: Broker, _: Nothing, __: Nothing, body: AddAcksBody) -> AddedAcks:
    check(broker, body.ref)
    pause_ms = None if body.delay is UNSET else duration_ms(body.delay, "delay")
    leases = leases_of(body.receipts)
    records, dead = await pledge_all(broker, body.ref, leases, body.action, body.reason, pause_ms)
    return AddedAcks(body.transaction, records, dead)


async def add_offsets(broker: Broker, _: Nothing, __: Nothing, body: AddOffsetsBody) -> Added:
    wanted = {
        LogId(topic, partition_number(partition)): OffsetAndMetadata(offset)
        for topic, by_partition in body.offsets.items()
        for partition, offset in by_partition.items()
    }
    await beginning.add_offsets(broker, body.ref, body.group, wanted, body.member_id, body.generation)
    return Added(body.transaction)


async def commit(broker: Broker, _: Nothing, __: Nothing, body: EndBody) -> Ended:
    await ending.commit(broker, *body.ref)
    return Ended(body.transaction, "committed")


async def abort(broker: Broker, _: Nothing, __: Nothing, body: EndBody) -> Ended:
    await ending.abort(broker, *body.ref)
    return Ended(body.transaction, "aborted")


# Parts of larger ones.


async def begin_part(broker: Broker, _: Nothing, __: Nothing, body: BeginPartBody) -> Begun:
    return _begun(await beginning.begin_part(broker, body.key, body.timeout_ms))


async def prepare(broker: Broker, _: Nothing, __: Nothing, body: InTransactionBody) -> Prepared:
    await beginning.prepare(broker, body.ref)
    return Prepared(body.transaction)


async def decide(broker: Broker, _: Nothing, __: Nothing, body: DecideBody) -> Decided:
    decided = await ending.decide(broker, body.key, body.transactions)
    return Decided(decided.key, list(decided.committed), list(decided.aborted), instant_text(decided.at))


def _begun(began: Any) -> Begun:
    return Begun(began.number, began.producer_id, began.epoch, began.timeout_ms, instant_text(began.deadline))


def _with_topics(broker: Broker, body: RecordsBody) -> list[tuple[TopicName, Outgoing]]:
    try:
        check_rules(body)
    except RuleBroken as broken:
        raise InvalidRequest(broken.message, hint=broken.hint) from None
    now = broker.clock.now_ns()
    found: list[tuple[TopicName, Outgoing]] = []
    for number, message in enumerate(messages_of(body)):
        assert isinstance(message, RecordIn | RecordsBody)
        topic = body.topic if message.topic is UNSET else message.topic
        assert topic is not UNSET
        try:
            found.append((topic_name(topic), outgoing_of(message, body, now)))
        except GoQueueError as refusal:
            refusal.message = f"record {number}: {refusal.message}"
            raise
    return found


def _post(path: str, summary: str, handler: Any, body: type, response: type, **more: Any) -> Endpoint:
    return Endpoint(
        method="POST",
        path=path,
        tag=TAG,
        summary=summary,
        handler=handler,
        body=body,
        response=response,
        **{"errors": (404, 409), **more},
    )


def endpoints(placement: Placement) -> tuple[Endpoint, ...]:
    async def publish(broker: Broker, _: Nothing, __: Nothing, body: RecordsBody) -> Published:
        check(broker, body.ref)
        messages = messages_of(body)
        placed = await publish_in_transaction(broker, placement, body.ref, _with_topics(broker, body))
        return Published([result_of(message, one) for message, one in zip(messages, placed, strict=True)])

    return (
        _post(
            "/transactions/publish",
            "Publish records of any topics in a transaction, all of them or none",
            publish,
            RecordsBody,
            Published,
            body_forms=(OneRecord, ManyRecords),
            errors=(404, 409, 422),
            traced=True,
        ),
        _post("/producers/init", "Become a producer, with transactions or without", init, InitBody, Producer),
        _post(
            "/producers/{producer_id}/heartbeat",
            "Whether this is still the newest instance of the producer",
            heartbeat,
            HeartbeatBody,
            Alive,
            params=ProducerParams,
        ),
        _post("/transactions/begin", "Begin a transaction", begin, BeginBody, Begun),
        _post(
            "/transactions/add-partition",
            "Check that a partition can be written to; the first record adds it by itself, so this is not needed",
            add_partition,
            AddPartitionBody,
            Added,
        ),
        _post(
            "/transactions/add-acks", "Records of the queue are done when it commits", add_acks, AddAcksBody, AddedAcks
        ),
        _post(
            "/transactions/add-offsets", "A group goes on from here when it commits", add_offsets, AddOffsetsBody, Added
        ),
        _post("/transactions/commit", "All of it counts, from now on", commit, EndBody, Ended),
        _post("/transactions/abort", "Nothing of it ever happened", abort, EndBody, Ended),
        _post("/transactions/parts/begin", "Begin a part of a larger transaction", begin_part, BeginPartBody, Begun),
        _post("/transactions/parts/prepare", "The part is complete", prepare, InTransactionBody, Prepared),
        _post("/transactions/decide", "Which parts are the larger transaction", decide, DecideBody, Decided),
    )
