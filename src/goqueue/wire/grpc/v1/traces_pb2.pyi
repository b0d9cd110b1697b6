from goqueue.wire.grpc.v1 import records_pb2 as _records_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SpanOperation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SPAN_OPERATION_UNSPECIFIED: _ClassVar[SpanOperation]
    SPAN_OPERATION_PUBLISH: _ClassVar[SpanOperation]
    SPAN_OPERATION_CONSUME: _ClassVar[SpanOperation]
    SPAN_OPERATION_ACK: _ClassVar[SpanOperation]
    SPAN_OPERATION_NACK: _ClassVar[SpanOperation]
    SPAN_OPERATION_REJECT: _ClassVar[SpanOperation]
    SPAN_OPERATION_DELAY: _ClassVar[SpanOperation]
    SPAN_OPERATION_EXPIRE: _ClassVar[SpanOperation]
    SPAN_OPERATION_DLQ: _ClassVar[SpanOperation]
    SPAN_OPERATION_REDRIVE: _ClassVar[SpanOperation]
    SPAN_OPERATION_TRANSACTION: _ClassVar[SpanOperation]

class RecordFound(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECORD_FOUND_UNSPECIFIED: _ClassVar[RecordFound]
    RECORD_FOUND_THERE: _ClassVar[RecordFound]
    RECORD_FOUND_REMOVED: _ClassVar[RecordFound]
    RECORD_FOUND_COMPACTED: _ClassVar[RecordFound]
    RECORD_FOUND_UNREADABLE: _ClassVar[RecordFound]
SPAN_OPERATION_UNSPECIFIED: SpanOperation
SPAN_OPERATION_PUBLISH: SpanOperation
SPAN_OPERATION_CONSUME: SpanOperation
SPAN_OPERATION_ACK: SpanOperation
SPAN_OPERATION_NACK: SpanOperation
SPAN_OPERATION_REJECT: SpanOperation
SPAN_OPERATION_DELAY: SpanOperation
SPAN_OPERATION_EXPIRE: SpanOperation
SPAN_OPERATION_DLQ: SpanOperation
SPAN_OPERATION_REDRIVE: SpanOperation
SPAN_OPERATION_TRANSACTION: SpanOperation
RECORD_FOUND_UNSPECIFIED: RecordFound
RECORD_FOUND_THERE: RecordFound
RECORD_FOUND_REMOVED: RecordFound
RECORD_FOUND_COMPACTED: RecordFound
RECORD_FOUND_UNREADABLE: RecordFound

class Span(_message.Message):
    __slots__ = ("trace_id", "span_id", "parent_id", "operation", "start_ns", "end_ns", "topic", "partition", "offset", "group", "delivery", "member", "error", "key", "id", "target", "transaction", "error_type", "tracestate", "links")
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    START_NS_FIELD_NUMBER: _ClassVar[int]
    END_NS_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    ERROR_TYPE_FIELD_NUMBER: _ClassVar[int]
    TRACESTATE_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    trace_id: str
    span_id: str
    parent_id: str
    operation: SpanOperation
    start_ns: int
    end_ns: int
    topic: str
    partition: int
    offset: int
    group: str
    delivery: int
    member: str
    error: str
    key: bytes
    id: str
    target: str
    transaction: int
    error_type: str
    tracestate: str
    links: _containers.RepeatedCompositeFieldContainer[SpanLink]
    def __init__(self, trace_id: _Optional[str] = ..., span_id: _Optional[str] = ..., parent_id: _Optional[str] = ..., operation: _Optional[_Union[SpanOperation, str]] = ..., start_ns: _Optional[int] = ..., end_ns: _Optional[int] = ..., topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ..., group: _Optional[str] = ..., delivery: _Optional[int] = ..., member: _Optional[str] = ..., error: _Optional[str] = ..., key: _Optional[bytes] = ..., id: _Optional[str] = ..., target: _Optional[str] = ..., transaction: _Optional[int] = ..., error_type: _Optional[str] = ..., tracestate: _Optional[str] = ..., links: _Optional[_Iterable[_Union[SpanLink, _Mapping]]] = ...) -> None: ...

class SpanLink(_message.Message):
    __slots__ = ("trace_id", "span_id", "tracestate")
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    TRACESTATE_FIELD_NUMBER: _ClassVar[int]
    trace_id: str
    span_id: str
    tracestate: str
    def __init__(self, trace_id: _Optional[str] = ..., span_id: _Optional[str] = ..., tracestate: _Optional[str] = ...) -> None: ...

class ListTracesRequest(_message.Message):
    __slots__ = ("limit",)
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    def __init__(self, limit: _Optional[int] = ...) -> None: ...

class ListTracesResponse(_message.Message):
    __slots__ = ("traces",)
    TRACES_FIELD_NUMBER: _ClassVar[int]
    traces: _containers.RepeatedCompositeFieldContainer[TraceSummary]
    def __init__(self, traces: _Optional[_Iterable[_Union[TraceSummary, _Mapping]]] = ...) -> None: ...

class TraceSummary(_message.Message):
    __slots__ = ("trace_id", "start_ns", "end_ns", "spans", "errors", "operations", "first")
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    START_NS_FIELD_NUMBER: _ClassVar[int]
    END_NS_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    trace_id: str
    start_ns: int
    end_ns: int
    spans: int
    errors: int
    operations: _containers.RepeatedScalarFieldContainer[SpanOperation]
    first: Span
    def __init__(self, trace_id: _Optional[str] = ..., start_ns: _Optional[int] = ..., end_ns: _Optional[int] = ..., spans: _Optional[int] = ..., errors: _Optional[int] = ..., operations: _Optional[_Iterable[_Union[SpanOperation, str]]] = ..., first: _Optional[_Union[Span, _Mapping]] = ...) -> None: ...

class GetTraceRequest(_message.Message):
    __slots__ = ("trace_id",)
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    trace_id: str
    def __init__(self, trace_id: _Optional[str] = ...) -> None: ...

class GetTraceResponse(_message.Message):
    __slots__ = ("spans",)
    SPANS_FIELD_NUMBER: _ClassVar[int]
    spans: _containers.RepeatedCompositeFieldContainer[Span]
    def __init__(self, spans: _Optional[_Iterable[_Union[Span, _Mapping]]] = ...) -> None: ...

class SearchSpansRequest(_message.Message):
    __slots__ = ("topic", "partition", "group", "start_ns", "end_ns", "is_error", "operation", "key", "id", "limit")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    START_NS_FIELD_NUMBER: _ClassVar[int]
    END_NS_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    group: str
    start_ns: int
    end_ns: int
    is_error: bool
    operation: SpanOperation
    key: bytes
    id: str
    limit: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., group: _Optional[str] = ..., start_ns: _Optional[int] = ..., end_ns: _Optional[int] = ..., is_error: _Optional[bool] = ..., operation: _Optional[_Union[SpanOperation, str]] = ..., key: _Optional[bytes] = ..., id: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class SearchSpansResponse(_message.Message):
    __slots__ = ("spans",)
    SPANS_FIELD_NUMBER: _ClassVar[int]
    spans: _containers.RepeatedCompositeFieldContainer[Span]
    def __init__(self, spans: _Optional[_Iterable[_Union[Span, _Mapping]]] = ...) -> None: ...

class GetJourneyRequest(_message.Message):
    __slots__ = ("topic", "partition", "offset", "id", "key")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    offset: int
    id: str
    key: bytes
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ..., id: _Optional[str] = ..., key: _Optional[bytes] = ...) -> None: ...

class GetJourneyResponse(_message.Message):
    __slots__ = ("topic", "partition", "offset", "trace_id", "found", "record", "size", "delay", "delayed_until_ns", "expires_ns", "is_expired", "transaction", "groups", "is_traced", "spans")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    DELAY_FIELD_NUMBER: _ClassVar[int]
    DELAYED_UNTIL_NS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_NS_FIELD_NUMBER: _ClassVar[int]
    IS_EXPIRED_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    IS_TRACED_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    offset: int
    trace_id: str
    found: RecordFound
    record: _records_pb2.StoredRecord
    size: int
    delay: str
    delayed_until_ns: int
    expires_ns: int
    is_expired: bool
    transaction: str
    groups: _containers.RepeatedCompositeFieldContainer[GroupStand]
    is_traced: bool
    spans: _containers.RepeatedCompositeFieldContainer[Span]
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ..., trace_id: _Optional[str] = ..., found: _Optional[_Union[RecordFound, str]] = ..., record: _Optional[_Union[_records_pb2.StoredRecord, _Mapping]] = ..., size: _Optional[int] = ..., delay: _Optional[str] = ..., delayed_until_ns: _Optional[int] = ..., expires_ns: _Optional[int] = ..., is_expired: _Optional[bool] = ..., transaction: _Optional[str] = ..., groups: _Optional[_Iterable[_Union[GroupStand, _Mapping]]] = ..., is_traced: _Optional[bool] = ..., spans: _Optional[_Iterable[_Union[Span, _Mapping]]] = ...) -> None: ...

class GroupStand(_message.Message):
    __slots__ = ("group", "state", "deliveries", "failures", "last_failure", "until_ns", "member", "dead_letter")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    LAST_FAILURE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_NS_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTER_FIELD_NUMBER: _ClassVar[int]
    group: str
    state: str
    deliveries: int
    failures: int
    last_failure: str
    until_ns: int
    member: str
    dead_letter: str
    def __init__(self, group: _Optional[str] = ..., state: _Optional[str] = ..., deliveries: _Optional[int] = ..., failures: _Optional[int] = ..., last_failure: _Optional[str] = ..., until_ns: _Optional[int] = ..., member: _Optional[str] = ..., dead_letter: _Optional[str] = ...) -> None: ...

class GetTraceStatsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetTraceStatsResponse(_message.Message):
    __slots__ = ("enabled", "rate", "capacity", "kept", "recorded", "sampled_out", "dropped", "oldest_ns", "operations")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    RECORDED_FIELD_NUMBER: _ClassVar[int]
    SAMPLED_OUT_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    OLDEST_NS_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    rate: float
    capacity: int
    kept: int
    recorded: int
    sampled_out: int
    dropped: int
    oldest_ns: int
    operations: _containers.RepeatedCompositeFieldContainer[OperationStats]
    def __init__(self, enabled: _Optional[bool] = ..., rate: _Optional[float] = ..., capacity: _Optional[int] = ..., kept: _Optional[int] = ..., recorded: _Optional[int] = ..., sampled_out: _Optional[int] = ..., dropped: _Optional[int] = ..., oldest_ns: _Optional[int] = ..., operations: _Optional[_Iterable[_Union[OperationStats, _Mapping]]] = ...) -> None: ...

class OperationStats(_message.Message):
    __slots__ = ("operation", "spans", "errors", "p50_ns", "p99_ns")
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    P50_NS_FIELD_NUMBER: _ClassVar[int]
    P99_NS_FIELD_NUMBER: _ClassVar[int]
    operation: SpanOperation
    spans: int
    errors: int
    p50_ns: int
    p99_ns: int
    def __init__(self, operation: _Optional[_Union[SpanOperation, str]] = ..., spans: _Optional[int] = ..., errors: _Optional[int] = ..., p50_ns: _Optional[int] = ..., p99_ns: _Optional[int] = ...) -> None: ...
