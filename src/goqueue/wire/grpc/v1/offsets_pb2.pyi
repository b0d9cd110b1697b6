from goqueue.wire.grpc.v1 import places_pb2 as _places_pb2
from goqueue.wire.grpc.v1 import records_pb2 as _records_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OffsetPoint(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OFFSET_POINT_UNSPECIFIED: _ClassVar[OffsetPoint]
    OFFSET_POINT_EARLIEST: _ClassVar[OffsetPoint]
    OFFSET_POINT_LATEST: _ClassVar[OffsetPoint]
    OFFSET_POINT_OFFSET: _ClassVar[OffsetPoint]
    OFFSET_POINT_TIMESTAMP: _ClassVar[OffsetPoint]
OFFSET_POINT_UNSPECIFIED: OffsetPoint
OFFSET_POINT_EARLIEST: OffsetPoint
OFFSET_POINT_LATEST: OffsetPoint
OFFSET_POINT_OFFSET: OffsetPoint
OFFSET_POINT_TIMESTAMP: OffsetPoint

class CommitOffsetsRequest(_message.Message):
    __slots__ = ("group", "offsets", "member_id", "generation")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    group: str
    offsets: _containers.RepeatedCompositeFieldContainer[_places_pb2.PartitionOffset]
    member_id: str
    generation: int
    def __init__(self, group: _Optional[str] = ..., offsets: _Optional[_Iterable[_Union[_places_pb2.PartitionOffset, _Mapping]]] = ..., member_id: _Optional[str] = ..., generation: _Optional[int] = ...) -> None: ...

class CommitOffsetsResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class FetchOffsetsRequest(_message.Message):
    __slots__ = ("group", "topics")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    group: str
    topics: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, group: _Optional[str] = ..., topics: _Optional[_Iterable[str]] = ...) -> None: ...

class FetchOffsetsResponse(_message.Message):
    __slots__ = ("offsets",)
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    offsets: _containers.RepeatedCompositeFieldContainer[_places_pb2.PartitionOffset]
    def __init__(self, offsets: _Optional[_Iterable[_Union[_places_pb2.PartitionOffset, _Mapping]]] = ...) -> None: ...

class ResetOffsetsRequest(_message.Message):
    __slots__ = ("group", "to", "offset", "timestamp_ns", "topics", "dry_run")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_NS_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    group: str
    to: OffsetPoint
    offset: int
    timestamp_ns: int
    topics: _containers.RepeatedScalarFieldContainer[str]
    dry_run: bool
    def __init__(self, group: _Optional[str] = ..., to: _Optional[_Union[OffsetPoint, str]] = ..., offset: _Optional[int] = ..., timestamp_ns: _Optional[int] = ..., topics: _Optional[_Iterable[str]] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class ResetOffsetsResponse(_message.Message):
    __slots__ = ("changes", "dry_run")
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    changes: _containers.RepeatedCompositeFieldContainer[OffsetChange]
    dry_run: bool
    def __init__(self, changes: _Optional[_Iterable[_Union[OffsetChange, _Mapping]]] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class OffsetChange(_message.Message):
    __slots__ = ("topic", "partition", "before", "after")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    before: int
    after: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., before: _Optional[int] = ..., after: _Optional[int] = ...) -> None: ...

class ListOffsetsRequest(_message.Message):
    __slots__ = ("questions", "isolation")
    QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    questions: _containers.RepeatedCompositeFieldContainer[OffsetQuestion]
    isolation: _records_pb2.Isolation
    def __init__(self, questions: _Optional[_Iterable[_Union[OffsetQuestion, _Mapping]]] = ..., isolation: _Optional[_Union[_records_pb2.Isolation, str]] = ...) -> None: ...

class OffsetQuestion(_message.Message):
    __slots__ = ("topic", "partition", "at", "timestamp_ns")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_NS_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    at: OffsetPoint
    timestamp_ns: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., at: _Optional[_Union[OffsetPoint, str]] = ..., timestamp_ns: _Optional[int] = ...) -> None: ...

class ListOffsetsResponse(_message.Message):
    __slots__ = ("offsets",)
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    offsets: _containers.RepeatedCompositeFieldContainer[_places_pb2.PartitionOffset]
    def __init__(self, offsets: _Optional[_Iterable[_Union[_places_pb2.PartitionOffset, _Mapping]]] = ...) -> None: ...
