"""A client of the gRPC API, for tests: stubs on one channel, and what errors say."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import grpc
from google.rpc import status_pb2

from goqueue import codec
from goqueue.client import Admin
from goqueue.model.record import Record
from goqueue.wire.grpc.v1 import (
    consume_pb2,
    consume_pb2_grpc,
    errors_pb2,
    groups_pb2_grpc,
    offsets_pb2_grpc,
    publish_pb2,
    publish_pb2_grpc,
    records_pb2,
)

__all__ = ["WITHIN_S", "Stubs", "batch_request", "connected", "create_topic", "detail_of", "raw", "records_request"]

WITHIN_S = 120.0
"""Long enough for a machine that does much else; nothing here takes that long."""
LARGEST_MESSAGE = 64 * 1024 * 1024


class Stubs:
    """Those of all services that the tests use."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.channel = channel
        self.publish = publish_pb2_grpc.PublishServiceStub(channel)
        self.consume = consume_pb2_grpc.ConsumeServiceStub(channel)
        self.groups = groups_pb2_grpc.GroupServiceStub(channel)
        self.offsets = offsets_pb2_grpc.OffsetServiceStub(channel)

    def fetch_all(self, topic: str, partition: int = 0) -> list[records_pb2.StoredRecord]:
        """What a reader sees, without waiting."""
        found: list[records_pb2.StoredRecord] = []
        offset = 0
        while True:
            position = consume_pb2.PartitionPosition(topic=topic, partition=partition, offset=offset)
            request = consume_pb2.FetchRequest(positions=[position], form=records_pb2.RECORD_FORM_TYPED)
            (batch,) = self.consume.Fetch(request, timeout=WITHIN_S).batches
            assert not batch.HasField("error"), batch.error
            found += batch.records
            if batch.next_offset == offset:
                return found
            offset = batch.next_offset


@contextmanager
def connected(
    address: str,
    credentials: grpc.ChannelCredentials | None = None,
    options: Sequence[tuple[str, object]] = (("grpc.max_receive_message_length", LARGEST_MESSAGE),),
) -> Iterator[Stubs]:
    made = (
        grpc.insecure_channel(address, options)
        if credentials is None
        else grpc.secure_channel(address, credentials, options)
    )
    with made as channel:
        yield Stubs(channel)


async def create_topic(native: str, name: str, partitions: int = 1) -> str:
    async with Admin(native) as admin:
        await admin.create_topic(name, partitions)
    return name


def raw(*values: bytes, key: bytes | None = None) -> records_pb2.RecordBatch:
    return records_pb2.RecordBatch(records=codec.encode([Record(value, key) for value in values]))


def batch_request(topic: str, *values: bytes, partition: int = 0) -> publish_pb2.PublishRequest:
    return publish_pb2.PublishRequest(topic=topic, partition=partition, batch=raw(*values))


def records_request(topic: str, *values: bytes) -> publish_pb2.PublishRequest:
    return publish_pb2.PublishRequest(topic=topic, records=[records_pb2.Record(value=value) for value in values])


def detail_of(error: grpc.RpcError) -> errors_pb2.ErrorDetail:
    """What stands in the details of a status; the same code stands in the metadata."""
    trailer = dict(error.trailing_metadata() or ())
    status = status_pb2.Status.FromString(trailer["grpc-status-details-bin"])
    detail = errors_pb2.ErrorDetail()
    assert status.details[0].Unpack(detail)
    assert trailer["goqueue-code"] == detail.code
    assert (status.code, status.message) == (error.code().value[0], error.details())
    return detail
