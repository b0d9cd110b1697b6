from goqueue.wire.grpc.v1 import errors_pb2 as _errors_pb2
from goqueue.wire.grpc.v1 import groups_pb2 as _groups_pb2
from goqueue.wire.grpc.v1 import places_pb2 as _places_pb2
from goqueue.wire.grpc.v1 import records_pb2 as _records_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FetchRequest(_message.Message):
    __slots__ = ("positions", "max_bytes", "max_wait_ms", "isolation", "form", "member")
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    positions: _containers.RepeatedCompositeFieldContainer[PartitionPosition]
    max_bytes: int
    max_wait_ms: int
    isolation: _records_pb2.Isolation
    form: _records_pb2.RecordForm
    member: ReadingMember
    def __init__(self, positions: _Optional[_Iterable[_Union[PartitionPosition, _Mapping]]] = ..., max_bytes: _Optional[int] = ..., max_wait_ms: _Optional[int] = ..., isolation: _Optional[_Union[_records_pb2.Isolation, str]] = ..., form: _Optional[_Union[_records_pb2.RecordForm, str]] = ..., member: _Optional[_Union[ReadingMember, _Mapping]] = ...) -> None: ...

class PartitionPosition(_message.Message):
    __slots__ = ("topic", "partition", "offset")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    offset: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class ReadingMember(_message.Message):
    __slots__ = ("group", "member_id", "generation")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    group: str
    member_id: str
    generation: int
    def __init__(self, group: _Optional[str] = ..., member_id: _Optional[str] = ..., generation: _Optional[int] = ...) -> None: ...

class FetchResponse(_message.Message):
    __slots__ = ("batches",)
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    batches: _containers.RepeatedCompositeFieldContainer[ConsumedBatch]
    def __init__(self, batches: _Optional[_Iterable[_Union[ConsumedBatch, _Mapping]]] = ...) -> None: ...

class ConsumedBatch(_message.Message):
    __slots__ = ("topic", "partition", "batch", "records", "next_offset", "high_watermark", "start_offset", "stable_offset", "skip", "error")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    HIGH_WATERMARK_FIELD_NUMBER: _ClassVar[int]
    START_OFFSET_FIELD_NUMBER: _ClassVar[int]
    STABLE_OFFSET_FIELD_NUMBER: _ClassVar[int]
    SKIP_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    batch: _records_pb2.RecordBatch
    records: _containers.RepeatedCompositeFieldContainer[_records_pb2.StoredRecord]
    next_offset: int
    high_watermark: int
    start_offset: int
    stable_offset: int
    skip: _containers.RepeatedCompositeFieldContainer[_places_pb2.OffsetRun]
    error: _errors_pb2.ErrorDetail
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., batch: _Optional[_Union[_records_pb2.RecordBatch, _Mapping]] = ..., records: _Optional[_Iterable[_Union[_records_pb2.StoredRecord, _Mapping]]] = ..., next_offset: _Optional[int] = ..., high_watermark: _Optional[int] = ..., start_offset: _Optional[int] = ..., stable_offset: _Optional[int] = ..., skip: _Optional[_Iterable[_Union[_places_pb2.OffsetRun, _Mapping]]] = ..., error: _Optional[_Union[_errors_pb2.ErrorDetail, _Mapping]] = ...) -> None: ...

class ConsumeRequest(_message.Message):
    __slots__ = ("sources", "max_bytes", "isolation", "form", "heartbeat_ms")
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_MS_FIELD_NUMBER: _ClassVar[int]
    sources: _containers.RepeatedCompositeFieldContainer[ConsumeFrom]
    max_bytes: int
    isolation: _records_pb2.Isolation
    form: _records_pb2.RecordForm
    heartbeat_ms: int
    def __init__(self, sources: _Optional[_Iterable[_Union[ConsumeFrom, _Mapping]]] = ..., max_bytes: _Optional[int] = ..., isolation: _Optional[_Union[_records_pb2.Isolation, str]] = ..., form: _Optional[_Union[_records_pb2.RecordForm, str]] = ..., heartbeat_ms: _Optional[int] = ...) -> None: ...

class ConsumeFrom(_message.Message):
    __slots__ = ("topic", "partition", "offset", "timestamp_ns", "point")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_NS_FIELD_NUMBER: _ClassVar[int]
    POINT_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    offset: int
    timestamp_ns: int
    point: _records_pb2.StartPoint
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ..., timestamp_ns: _Optional[int] = ..., point: _Optional[_Union[_records_pb2.StartPoint, str]] = ...) -> None: ...

class ConsumeResponse(_message.Message):
    __slots__ = ("batch", "heartbeat")
    BATCH_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    batch: ConsumedBatch
    heartbeat: ConsumeHeartbeat
    def __init__(self, batch: _Optional[_Union[ConsumedBatch, _Mapping]] = ..., heartbeat: _Optional[_Union[ConsumeHeartbeat, _Mapping]] = ...) -> None: ...

class ConsumeHeartbeat(_message.Message):
    __slots__ = ("at_ns", "positions")
    AT_NS_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    at_ns: int
    positions: _containers.RepeatedCompositeFieldContainer[PartitionPosition]
    def __init__(self, at_ns: _Optional[int] = ..., positions: _Optional[_Iterable[_Union[PartitionPosition, _Mapping]]] = ...) -> None: ...

class SubscribeRequest(_message.Message):
    __slots__ = ("group", "topics", "pattern", "client_id", "protocol", "assignor", "session_ms", "instance_id", "start", "max_bytes", "isolation", "form", "heartbeat_ms", "auto_commit", "revocation_ms")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    ASSIGNOR_FIELD_NUMBER: _ClassVar[int]
    SESSION_MS_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_MS_FIELD_NUMBER: _ClassVar[int]
    AUTO_COMMIT_FIELD_NUMBER: _ClassVar[int]
    REVOCATION_MS_FIELD_NUMBER: _ClassVar[int]
    group: str
    topics: _containers.RepeatedScalarFieldContainer[str]
    pattern: str
    client_id: str
    protocol: _groups_pb2.GroupProtocol
    assignor: _groups_pb2.Assignor
    session_ms: int
    instance_id: str
    start: _records_pb2.StartPoint
    max_bytes: int
    isolation: _records_pb2.Isolation
    form: _records_pb2.RecordForm
    heartbeat_ms: int
    auto_commit: bool
    revocation_ms: int
    def __init__(self, group: _Optional[str] = ..., topics: _Optional[_Iterable[str]] = ..., pattern: _Optional[str] = ..., client_id: _Optional[str] = ..., protocol: _Optional[_Union[_groups_pb2.GroupProtocol, str]] = ..., assignor: _Optional[_Union[_groups_pb2.Assignor, str]] = ..., session_ms: _Optional[int] = ..., instance_id: _Optional[str] = ..., start: _Optional[_Union[_records_pb2.StartPoint, str]] = ..., max_bytes: _Optional[int] = ..., isolation: _Optional[_Union[_records_pb2.Isolation, str]] = ..., form: _Optional[_Union[_records_pb2.RecordForm, str]] = ..., heartbeat_ms: _Optional[int] = ..., auto_commit: _Optional[bool] = ..., revocation_ms: _Optional[int] = ...) -> None: ...

class SubscribeResponse(_message.Message):
    __slots__ = ("assigned", "revoking", "lost", "batch", "heartbeat")
    ASSIGNED_FIELD_NUMBER: _ClassVar[int]
    REVOKING_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    assigned: Assigned
    revoking: Revoking
    lost: Lost
    batch: ConsumedBatch
    heartbeat: SubscribeHeartbeat
    def __init__(self, assigned: _Optional[_Union[Assigned, _Mapping]] = ..., revoking: _Optional[_Union[Revoking, _Mapping]] = ..., lost: _Optional[_Union[Lost, _Mapping]] = ..., batch: _Optional[_Union[ConsumedBatch, _Mapping]] = ..., heartbeat: _Optional[_Union[SubscribeHeartbeat, _Mapping]] = ...) -> None: ...

class Assigned(_message.Message):
    __slots__ = ("member_id", "generation", "positions", "paused")
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    member_id: str
    generation: int
    positions: _containers.RepeatedCompositeFieldContainer[PartitionPosition]
    paused: bool
    def __init__(self, member_id: _Optional[str] = ..., generation: _Optional[int] = ..., positions: _Optional[_Iterable[_Union[PartitionPosition, _Mapping]]] = ..., paused: _Optional[bool] = ...) -> None: ...

class Revoking(_message.Message):
    __slots__ = ("member_id", "generation", "partitions")
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    member_id: str
    generation: int
    partitions: _containers.RepeatedCompositeFieldContainer[_places_pb2.TopicPartition]
    def __init__(self, member_id: _Optional[str] = ..., generation: _Optional[int] = ..., partitions: _Optional[_Iterable[_Union[_places_pb2.TopicPartition, _Mapping]]] = ...) -> None: ...

class Lost(_message.Message):
    __slots__ = ("partitions",)
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedCompositeFieldContainer[_places_pb2.TopicPartition]
    def __init__(self, partitions: _Optional[_Iterable[_Union[_places_pb2.TopicPartition, _Mapping]]] = ...) -> None: ...

class SubscribeHeartbeat(_message.Message):
    __slots__ = ("at_ns", "generation", "positions", "paused")
    AT_NS_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    at_ns: int
    generation: int
    positions: _containers.RepeatedCompositeFieldContainer[PartitionPosition]
    paused: bool
    def __init__(self, at_ns: _Optional[int] = ..., generation: _Optional[int] = ..., positions: _Optional[_Iterable[_Union[PartitionPosition, _Mapping]]] = ..., paused: _Optional[bool] = ...) -> None: ...
