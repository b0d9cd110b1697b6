from goqueue.wire.grpc.v1 import errors_pb2 as _errors_pb2
from goqueue.wire.grpc.v1 import records_pb2 as _records_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Acks(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACKS_UNSPECIFIED: _ClassVar[Acks]
    ACKS_NONE: _ClassVar[Acks]
    ACKS_LEADER: _ClassVar[Acks]
    ACKS_ALL: _ClassVar[Acks]
ACKS_UNSPECIFIED: Acks
ACKS_NONE: Acks
ACKS_LEADER: Acks
ACKS_ALL: Acks

class PublishRequest(_message.Message):
    __slots__ = ("topic", "partition", "batch", "records", "durability", "acks", "producer", "partitions", "ids", "deliver_at_ns", "transaction")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    ACKS_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    DELIVER_AT_NS_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    batch: _records_pb2.RecordBatch
    records: _containers.RepeatedCompositeFieldContainer[_records_pb2.Record]
    durability: _records_pb2.Durability
    acks: Acks
    producer: ProducerSequence
    partitions: int
    ids: _containers.RepeatedScalarFieldContainer[str]
    deliver_at_ns: _containers.RepeatedScalarFieldContainer[int]
    transaction: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., batch: _Optional[_Union[_records_pb2.RecordBatch, _Mapping]] = ..., records: _Optional[_Iterable[_Union[_records_pb2.Record, _Mapping]]] = ..., durability: _Optional[_Union[_records_pb2.Durability, str]] = ..., acks: _Optional[_Union[Acks, str]] = ..., producer: _Optional[_Union[ProducerSequence, _Mapping]] = ..., partitions: _Optional[int] = ..., ids: _Optional[_Iterable[str]] = ..., deliver_at_ns: _Optional[_Iterable[int]] = ..., transaction: _Optional[int] = ...) -> None: ...

class ProducerSequence(_message.Message):
    __slots__ = ("producer_id", "epoch", "sequence")
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    producer_id: int
    epoch: int
    sequence: int
    def __init__(self, producer_id: _Optional[int] = ..., epoch: _Optional[int] = ..., sequence: _Optional[int] = ...) -> None: ...

class PublishResponse(_message.Message):
    __slots__ = ("results", "batch")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[PublishResult]
    batch: PublishedBatch
    def __init__(self, results: _Optional[_Iterable[_Union[PublishResult, _Mapping]]] = ..., batch: _Optional[_Union[PublishedBatch, _Mapping]] = ...) -> None: ...

class PublishResult(_message.Message):
    __slots__ = ("record", "error")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    record: PublishedRecord
    error: _errors_pb2.ErrorDetail
    def __init__(self, record: _Optional[_Union[PublishedRecord, _Mapping]] = ..., error: _Optional[_Union[_errors_pb2.ErrorDetail, _Mapping]] = ...) -> None: ...

class PublishedRecord(_message.Message):
    __slots__ = ("partition", "offset", "duplicate", "deliver_at_ns")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    DELIVER_AT_NS_FIELD_NUMBER: _ClassVar[int]
    partition: int
    offset: int
    duplicate: bool
    deliver_at_ns: int
    def __init__(self, partition: _Optional[int] = ..., offset: _Optional[int] = ..., duplicate: _Optional[bool] = ..., deliver_at_ns: _Optional[int] = ...) -> None: ...

class PublishedBatch(_message.Message):
    __slots__ = ("partition", "base_offset", "count", "timestamp_ns", "duplicate", "records")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    BASE_OFFSET_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_NS_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    partition: int
    base_offset: int
    count: int
    timestamp_ns: int
    duplicate: bool
    records: _containers.RepeatedCompositeFieldContainer[PublishedRecord]
    def __init__(self, partition: _Optional[int] = ..., base_offset: _Optional[int] = ..., count: _Optional[int] = ..., timestamp_ns: _Optional[int] = ..., duplicate: _Optional[bool] = ..., records: _Optional[_Iterable[_Union[PublishedRecord, _Mapping]]] = ...) -> None: ...

class PublishStreamRequest(_message.Message):
    __slots__ = ("correlation_id", "publish")
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    PUBLISH_FIELD_NUMBER: _ClassVar[int]
    correlation_id: int
    publish: PublishRequest
    def __init__(self, correlation_id: _Optional[int] = ..., publish: _Optional[_Union[PublishRequest, _Mapping]] = ...) -> None: ...

class PublishStreamResponse(_message.Message):
    __slots__ = ("correlation_id", "published", "error")
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    correlation_id: int
    published: PublishResponse
    error: _errors_pb2.ErrorDetail
    def __init__(self, correlation_id: _Optional[int] = ..., published: _Optional[_Union[PublishResponse, _Mapping]] = ..., error: _Optional[_Union[_errors_pb2.ErrorDetail, _Mapping]] = ...) -> None: ...

class InitProducerRequest(_message.Message):
    __slots__ = ("producer_id", "epoch")
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    producer_id: int
    epoch: int
    def __init__(self, producer_id: _Optional[int] = ..., epoch: _Optional[int] = ...) -> None: ...

class InitProducerResponse(_message.Message):
    __slots__ = ("producer_id", "epoch")
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    producer_id: int
    epoch: int
    def __init__(self, producer_id: _Optional[int] = ..., epoch: _Optional[int] = ...) -> None: ...
