from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Isolation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ISOLATION_UNSPECIFIED: _ClassVar[Isolation]
    ISOLATION_COMMITTED: _ClassVar[Isolation]
    ISOLATION_UNCOMMITTED: _ClassVar[Isolation]

class Durability(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DURABILITY_UNSPECIFIED: _ClassVar[Durability]
    DURABILITY_FSYNC: _ClassVar[Durability]
    DURABILITY_MEMORY: _ClassVar[Durability]

class RecordForm(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECORD_FORM_UNSPECIFIED: _ClassVar[RecordForm]
    RECORD_FORM_BYTES: _ClassVar[RecordForm]
    RECORD_FORM_TYPED: _ClassVar[RecordForm]

class StartPoint(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    START_POINT_UNSPECIFIED: _ClassVar[StartPoint]
    START_POINT_EARLIEST: _ClassVar[StartPoint]
    START_POINT_LATEST: _ClassVar[StartPoint]
ISOLATION_UNSPECIFIED: Isolation
ISOLATION_COMMITTED: Isolation
ISOLATION_UNCOMMITTED: Isolation
DURABILITY_UNSPECIFIED: Durability
DURABILITY_FSYNC: Durability
DURABILITY_MEMORY: Durability
RECORD_FORM_UNSPECIFIED: RecordForm
RECORD_FORM_BYTES: RecordForm
RECORD_FORM_TYPED: RecordForm
START_POINT_UNSPECIFIED: StartPoint
START_POINT_EARLIEST: StartPoint
START_POINT_LATEST: StartPoint

class RecordBatch(_message.Message):
    __slots__ = ("records",)
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    records: bytes
    def __init__(self, records: _Optional[bytes] = ...) -> None: ...

class Header(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: bytes
    def __init__(self, name: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...

class Record(_message.Message):
    __slots__ = ("key", "value", "headers", "priority", "partition", "id", "delay_ms", "deliver_at_ns", "ttl_ms", "expires_at_ns")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    DELAY_MS_FIELD_NUMBER: _ClassVar[int]
    DELIVER_AT_NS_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_NS_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    value: bytes
    headers: _containers.RepeatedCompositeFieldContainer[Header]
    priority: int
    partition: int
    id: str
    delay_ms: int
    deliver_at_ns: int
    ttl_ms: int
    expires_at_ns: int
    def __init__(self, key: _Optional[bytes] = ..., value: _Optional[bytes] = ..., headers: _Optional[_Iterable[_Union[Header, _Mapping]]] = ..., priority: _Optional[int] = ..., partition: _Optional[int] = ..., id: _Optional[str] = ..., delay_ms: _Optional[int] = ..., deliver_at_ns: _Optional[int] = ..., ttl_ms: _Optional[int] = ..., expires_at_ns: _Optional[int] = ...) -> None: ...

class StoredRecord(_message.Message):
    __slots__ = ("topic", "partition", "offset", "timestamp_ns", "key", "value", "headers", "priority", "value_error")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_NS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    VALUE_ERROR_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    offset: int
    timestamp_ns: int
    key: bytes
    value: bytes
    headers: _containers.RepeatedCompositeFieldContainer[Header]
    priority: int
    value_error: str
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ..., timestamp_ns: _Optional[int] = ..., key: _Optional[bytes] = ..., value: _Optional[bytes] = ..., headers: _Optional[_Iterable[_Union[Header, _Mapping]]] = ..., priority: _Optional[int] = ..., value_error: _Optional[str] = ...) -> None: ...
