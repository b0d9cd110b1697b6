from goqueue.wire.grpc.v1 import errors_pb2 as _errors_pb2
from goqueue.wire.grpc.v1 import places_pb2 as _places_pb2
from goqueue.wire.grpc.v1 import records_pb2 as _records_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DelayState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DELAY_STATE_UNSPECIFIED: _ClassVar[DelayState]
    DELAY_STATE_PENDING: _ClassVar[DelayState]
    DELAY_STATE_DELIVERED: _ClassVar[DelayState]
    DELAY_STATE_CANCELLED: _ClassVar[DelayState]
    DELAY_STATE_EXPIRED: _ClassVar[DelayState]
DELAY_STATE_UNSPECIFIED: DelayState
DELAY_STATE_PENDING: DelayState
DELAY_STATE_DELIVERED: DelayState
DELAY_STATE_CANCELLED: DelayState
DELAY_STATE_EXPIRED: DelayState

class Delay(_message.Message):
    __slots__ = ("partition", "offset", "state", "deliver_at_ns")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    DELIVER_AT_NS_FIELD_NUMBER: _ClassVar[int]
    partition: int
    offset: int
    state: DelayState
    deliver_at_ns: int
    def __init__(self, partition: _Optional[int] = ..., offset: _Optional[int] = ..., state: _Optional[_Union[DelayState, str]] = ..., deliver_at_ns: _Optional[int] = ...) -> None: ...

class ListDelayedRequest(_message.Message):
    __slots__ = ("topic", "limit", "skip")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SKIP_FIELD_NUMBER: _ClassVar[int]
    topic: str
    limit: int
    skip: int
    def __init__(self, topic: _Optional[str] = ..., limit: _Optional[int] = ..., skip: _Optional[int] = ...) -> None: ...

class ListDelayedResponse(_message.Message):
    __slots__ = ("delayed", "total")
    DELAYED_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    delayed: _containers.RepeatedCompositeFieldContainer[Delay]
    total: int
    def __init__(self, delayed: _Optional[_Iterable[_Union[Delay, _Mapping]]] = ..., total: _Optional[int] = ...) -> None: ...

class GetDelayedRequest(_message.Message):
    __slots__ = ("topic", "partition", "offset")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    offset: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class GetDelayedResponse(_message.Message):
    __slots__ = ("delay", "record")
    DELAY_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    delay: Delay
    record: _records_pb2.StoredRecord
    def __init__(self, delay: _Optional[_Union[Delay, _Mapping]] = ..., record: _Optional[_Union[_records_pb2.StoredRecord, _Mapping]] = ...) -> None: ...

class RescheduleDelayedRequest(_message.Message):
    __slots__ = ("topic", "partition", "offset", "delay_ms", "deliver_at_ns")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DELAY_MS_FIELD_NUMBER: _ClassVar[int]
    DELIVER_AT_NS_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    offset: int
    delay_ms: int
    deliver_at_ns: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ..., delay_ms: _Optional[int] = ..., deliver_at_ns: _Optional[int] = ...) -> None: ...

class RescheduleDelayedResponse(_message.Message):
    __slots__ = ("delay",)
    DELAY_FIELD_NUMBER: _ClassVar[int]
    delay: Delay
    def __init__(self, delay: _Optional[_Union[Delay, _Mapping]] = ...) -> None: ...

class CancelDelayedRequest(_message.Message):
    __slots__ = ("topic", "records")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    topic: str
    records: _containers.RepeatedCompositeFieldContainer[_places_pb2.Place]
    def __init__(self, topic: _Optional[str] = ..., records: _Optional[_Iterable[_Union[_places_pb2.Place, _Mapping]]] = ...) -> None: ...

class CancelDelayedResponse(_message.Message):
    __slots__ = ("cancelled", "not_cancelled")
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    NOT_CANCELLED_FIELD_NUMBER: _ClassVar[int]
    cancelled: _containers.RepeatedCompositeFieldContainer[_places_pb2.Place]
    not_cancelled: _containers.RepeatedCompositeFieldContainer[NotCancelled]
    def __init__(self, cancelled: _Optional[_Iterable[_Union[_places_pb2.Place, _Mapping]]] = ..., not_cancelled: _Optional[_Iterable[_Union[NotCancelled, _Mapping]]] = ...) -> None: ...

class NotCancelled(_message.Message):
    __slots__ = ("partition", "offset", "error")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    partition: int
    offset: int
    error: _errors_pb2.ErrorDetail
    def __init__(self, partition: _Optional[int] = ..., offset: _Optional[int] = ..., error: _Optional[_Union[_errors_pb2.ErrorDetail, _Mapping]] = ...) -> None: ...

class GetDelayStatsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetDelayStatsResponse(_message.Message):
    __slots__ = ("topics",)
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[TopicDelays]
    def __init__(self, topics: _Optional[_Iterable[_Union[TopicDelays, _Mapping]]] = ...) -> None: ...

class TopicDelays(_message.Message):
    __slots__ = ("topic", "pending", "delivered", "cancelled", "expired", "next_due_ns")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    DELIVERED_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    NEXT_DUE_NS_FIELD_NUMBER: _ClassVar[int]
    topic: str
    pending: int
    delivered: int
    cancelled: int
    expired: int
    next_due_ns: int
    def __init__(self, topic: _Optional[str] = ..., pending: _Optional[int] = ..., delivered: _Optional[int] = ..., cancelled: _Optional[int] = ..., expired: _Optional[int] = ..., next_due_ns: _Optional[int] = ...) -> None: ...
