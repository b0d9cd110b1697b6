from goqueue.wire.grpc.v1 import records_pb2 as _records_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Cleanup(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CLEANUP_UNSPECIFIED: _ClassVar[Cleanup]
    CLEANUP_DELETE: _ClassVar[Cleanup]
    CLEANUP_COMPACT: _ClassVar[Cleanup]
    CLEANUP_COMPACT_DELETE: _ClassVar[Cleanup]

class Expired(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXPIRED_UNSPECIFIED: _ClassVar[Expired]
    EXPIRED_SKIP: _ClassVar[Expired]
    EXPIRED_DEAD_LETTER: _ClassVar[Expired]

class LaneMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LANE_MODE_UNSPECIFIED: _ClassVar[LaneMode]
    LANE_MODE_WEIGHTED: _ClassVar[LaneMode]
    LANE_MODE_STRICT: _ClassVar[LaneMode]

class SchemaValidation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SCHEMA_VALIDATION_UNSPECIFIED: _ClassVar[SchemaValidation]
    SCHEMA_VALIDATION_AUTO: _ClassVar[SchemaValidation]
    SCHEMA_VALIDATION_ON: _ClassVar[SchemaValidation]
    SCHEMA_VALIDATION_OFF: _ClassVar[SchemaValidation]
CLEANUP_UNSPECIFIED: Cleanup
CLEANUP_DELETE: Cleanup
CLEANUP_COMPACT: Cleanup
CLEANUP_COMPACT_DELETE: Cleanup
EXPIRED_UNSPECIFIED: Expired
EXPIRED_SKIP: Expired
EXPIRED_DEAD_LETTER: Expired
LANE_MODE_UNSPECIFIED: LaneMode
LANE_MODE_WEIGHTED: LaneMode
LANE_MODE_STRICT: LaneMode
SCHEMA_VALIDATION_UNSPECIFIED: SchemaValidation
SCHEMA_VALIDATION_AUTO: SchemaValidation
SCHEMA_VALIDATION_ON: SchemaValidation
SCHEMA_VALIDATION_OFF: SchemaValidation

class TopicSettings(_message.Message):
    __slots__ = ("durability", "cleanup", "retention_ms", "retention_bytes", "delete_retention_ms", "max_value_bytes", "dedup_window_ms", "visibility_timeout_ms", "max_attempts", "retry_backoff_ms", "retry_backoff_max_ms", "retry_jitter", "dead_letter_topic", "expired", "lane_weights", "lane_mode", "lane_starvation_ms", "dead_letter_breaker_per_minute", "schema_validation", "schema_subject", "trace_rate", "cleared", "offsets_retention_ms")
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    CLEANUP_FIELD_NUMBER: _ClassVar[int]
    RETENTION_MS_FIELD_NUMBER: _ClassVar[int]
    RETENTION_BYTES_FIELD_NUMBER: _ClassVar[int]
    DELETE_RETENTION_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_VALUE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DEDUP_WINDOW_MS_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    RETRY_BACKOFF_MS_FIELD_NUMBER: _ClassVar[int]
    RETRY_BACKOFF_MAX_MS_FIELD_NUMBER: _ClassVar[int]
    RETRY_JITTER_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTER_TOPIC_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    LANE_WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    LANE_MODE_FIELD_NUMBER: _ClassVar[int]
    LANE_STARVATION_MS_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTER_BREAKER_PER_MINUTE_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_VALIDATION_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_SUBJECT_FIELD_NUMBER: _ClassVar[int]
    TRACE_RATE_FIELD_NUMBER: _ClassVar[int]
    CLEARED_FIELD_NUMBER: _ClassVar[int]
    OFFSETS_RETENTION_MS_FIELD_NUMBER: _ClassVar[int]
    durability: _records_pb2.Durability
    cleanup: Cleanup
    retention_ms: int
    retention_bytes: int
    delete_retention_ms: int
    max_value_bytes: int
    dedup_window_ms: int
    visibility_timeout_ms: int
    max_attempts: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    retry_jitter: float
    dead_letter_topic: str
    expired: Expired
    lane_weights: _containers.RepeatedScalarFieldContainer[int]
    lane_mode: LaneMode
    lane_starvation_ms: int
    dead_letter_breaker_per_minute: int
    schema_validation: SchemaValidation
    schema_subject: str
    trace_rate: float
    cleared: _containers.RepeatedScalarFieldContainer[str]
    offsets_retention_ms: int
    def __init__(self, durability: _Optional[_Union[_records_pb2.Durability, str]] = ..., cleanup: _Optional[_Union[Cleanup, str]] = ..., retention_ms: _Optional[int] = ..., retention_bytes: _Optional[int] = ..., delete_retention_ms: _Optional[int] = ..., max_value_bytes: _Optional[int] = ..., dedup_window_ms: _Optional[int] = ..., visibility_timeout_ms: _Optional[int] = ..., max_attempts: _Optional[int] = ..., retry_backoff_ms: _Optional[int] = ..., retry_backoff_max_ms: _Optional[int] = ..., retry_jitter: _Optional[float] = ..., dead_letter_topic: _Optional[str] = ..., expired: _Optional[_Union[Expired, str]] = ..., lane_weights: _Optional[_Iterable[int]] = ..., lane_mode: _Optional[_Union[LaneMode, str]] = ..., lane_starvation_ms: _Optional[int] = ..., dead_letter_breaker_per_minute: _Optional[int] = ..., schema_validation: _Optional[_Union[SchemaValidation, str]] = ..., schema_subject: _Optional[str] = ..., trace_rate: _Optional[float] = ..., cleared: _Optional[_Iterable[str]] = ..., offsets_retention_ms: _Optional[int] = ...) -> None: ...

class Topic(_message.Message):
    __slots__ = ("name", "settings", "epoch", "created_ns", "size", "partitions")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    CREATED_NS_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    name: str
    settings: TopicSettings
    epoch: int
    created_ns: int
    size: int
    partitions: _containers.RepeatedCompositeFieldContainer[TopicPartitionInfo]
    def __init__(self, name: _Optional[str] = ..., settings: _Optional[_Union[TopicSettings, _Mapping]] = ..., epoch: _Optional[int] = ..., created_ns: _Optional[int] = ..., size: _Optional[int] = ..., partitions: _Optional[_Iterable[_Union[TopicPartitionInfo, _Mapping]]] = ...) -> None: ...

class TopicPartitionInfo(_message.Message):
    __slots__ = ("partition", "earliest", "latest", "stable", "size", "range_start", "range_stop", "segments", "read_only")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    EARLIEST_FIELD_NUMBER: _ClassVar[int]
    LATEST_FIELD_NUMBER: _ClassVar[int]
    STABLE_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    RANGE_START_FIELD_NUMBER: _ClassVar[int]
    RANGE_STOP_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    partition: int
    earliest: int
    latest: int
    stable: int
    size: int
    range_start: int
    range_stop: int
    segments: int
    read_only: str
    def __init__(self, partition: _Optional[int] = ..., earliest: _Optional[int] = ..., latest: _Optional[int] = ..., stable: _Optional[int] = ..., size: _Optional[int] = ..., range_start: _Optional[int] = ..., range_stop: _Optional[int] = ..., segments: _Optional[int] = ..., read_only: _Optional[str] = ...) -> None: ...

class CreateTopicRequest(_message.Message):
    __slots__ = ("name", "partitions", "settings")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    name: str
    partitions: int
    settings: TopicSettings
    def __init__(self, name: _Optional[str] = ..., partitions: _Optional[int] = ..., settings: _Optional[_Union[TopicSettings, _Mapping]] = ...) -> None: ...

class CreateTopicResponse(_message.Message):
    __slots__ = ("topic",)
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    topic: Topic
    def __init__(self, topic: _Optional[_Union[Topic, _Mapping]] = ...) -> None: ...

class ListTopicsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListTopicsResponse(_message.Message):
    __slots__ = ("topics",)
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[Topic]
    def __init__(self, topics: _Optional[_Iterable[_Union[Topic, _Mapping]]] = ...) -> None: ...

class GetTopicRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class GetTopicResponse(_message.Message):
    __slots__ = ("topic",)
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    topic: Topic
    def __init__(self, topic: _Optional[_Union[Topic, _Mapping]] = ...) -> None: ...

class UpdateTopicRequest(_message.Message):
    __slots__ = ("name", "settings")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    name: str
    settings: TopicSettings
    def __init__(self, name: _Optional[str] = ..., settings: _Optional[_Union[TopicSettings, _Mapping]] = ...) -> None: ...

class UpdateTopicResponse(_message.Message):
    __slots__ = ("topic",)
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    topic: Topic
    def __init__(self, topic: _Optional[_Union[Topic, _Mapping]] = ...) -> None: ...

class DeleteTopicRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class DeleteTopicResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CompactTopicRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class CompactTopicResponse(_message.Message):
    __slots__ = ("partitions",)
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedCompositeFieldContainer[CompactedPartition]
    def __init__(self, partitions: _Optional[_Iterable[_Union[CompactedPartition, _Mapping]]] = ...) -> None: ...

class CompactedPartition(_message.Message):
    __slots__ = ("partition", "size_before", "size")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    SIZE_BEFORE_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    partition: int
    size_before: int
    size: int
    def __init__(self, partition: _Optional[int] = ..., size_before: _Optional[int] = ..., size: _Optional[int] = ...) -> None: ...

class BrowseRecordsRequest(_message.Message):
    __slots__ = ("topic", "partition", "offset", "from_ns", "to_ns", "key", "priority", "limit", "cursor", "isolation")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    FROM_NS_FIELD_NUMBER: _ClassVar[int]
    TO_NS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    offset: int
    from_ns: int
    to_ns: int
    key: bytes
    priority: int
    limit: int
    cursor: str
    isolation: _records_pb2.Isolation
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ..., from_ns: _Optional[int] = ..., to_ns: _Optional[int] = ..., key: _Optional[bytes] = ..., priority: _Optional[int] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ..., isolation: _Optional[_Union[_records_pb2.Isolation, str]] = ...) -> None: ...

class BrowseRecordsResponse(_message.Message):
    __slots__ = ("records", "next_cursor")
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedCompositeFieldContainer[_records_pb2.StoredRecord]
    next_cursor: str
    def __init__(self, records: _Optional[_Iterable[_Union[_records_pb2.StoredRecord, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...
