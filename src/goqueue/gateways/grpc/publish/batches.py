"""Batches of a request: their bytes go to the log as they are."""

from goqueue.engine.broker import Broker
from goqueue.engine.partition import ProducerBatch
from goqueue.engine.publish import PublishBatch, Published, RecordPlace
from goqueue.engine.transactions.joining import InTransaction
from goqueue.errors import InvalidRequest
from goqueue.gateways.grpc.choices import durability_of
from goqueue.model.topic import TopicName
from goqueue.wire.grpc.v1 import publish_pb2 as wire

__all__ = ["batch_of", "published_batch", "transaction_of", "wants_confirmation"]

_ACKS = frozenset({wire.ACKS_UNSPECIFIED, wire.ACKS_NONE, wire.ACKS_LEADER, wire.ACKS_ALL})


def batch_of(broker: Broker, request: wire.PublishRequest) -> PublishBatch:
    """The request, with the partition it means."""
    name = TopicName(request.topic)
    producer = None
    if request.HasField("producer"):
        given = request.producer
        producer = ProducerBatch(given.producer_id, given.epoch, given.sequence)
    return PublishBatch(
        name,
        request.partition if request.HasField("partition") else _only_partition(broker, name),
        bytearray(request.batch.records),
        durability_of(request.durability),
        producer,
        [one or None for one in request.ids] if request.ids else None,
        request.partitions if request.HasField("partitions") else None,
        tuple(request.deliver_at_ns) if request.deliver_at_ns else None,
        transaction_of(request),
    )


def _only_partition(broker: Broker, name: TopicName) -> int:
    count = len(broker.partitions(name))
    if count > 1:
        raise InvalidRequest(
            f"a batch for {name}, which has {count} partitions, without saying for which",
            hint="give the partition: the broker does not look at the keys in a batch; or send single records",
        )
    return 0


def transaction_of(request: wire.PublishRequest) -> InTransaction | None:
    if not request.HasField("transaction"):
        return None
    if not request.HasField("producer"):
        raise InvalidRequest("records of a transaction without a producer", hint="say whose transaction it is")
    if not wants_confirmation(request):
        raise InvalidRequest(
            "records of a transaction without a confirmation",
            hint="wait for it: a transaction must not be committed without all of its records",
        )
    return InTransaction(request.transaction, request.producer.producer_id, request.producer.epoch)


def wants_confirmation(request: wire.PublishRequest) -> bool:
    if request.acks not in _ACKS:
        raise InvalidRequest(f"there are no acks {request.acks}", hint="use none (1), leader (2) or all (3)")
    return request.acks != wire.ACKS_NONE


def published_batch(result: Published) -> wire.PublishResponse:
    return wire.PublishResponse(
        batch=wire.PublishedBatch(
            partition=result.partition,
            base_offset=result.base_offset,
            count=result.count,
            timestamp_ns=result.timestamp_ns,
            duplicate=result.duplicate,
            records=map(_place, result.places()) if result.originals else (),
        )
    )


def _place(place: RecordPlace) -> wire.PublishedRecord:
    return wire.PublishedRecord(partition=place.partition, offset=place.offset, duplicate=place.duplicate)
