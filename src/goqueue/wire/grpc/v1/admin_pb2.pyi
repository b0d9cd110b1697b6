from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class GetBrokerInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetBrokerInfoResponse(_message.Message):
    __slots__ = ("version", "python", "codec", "max_value_bytes", "max_poll_records", "max_wait_ms", "max_visibility_ms")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PYTHON_FIELD_NUMBER: _ClassVar[int]
    CODEC_FIELD_NUMBER: _ClassVar[int]
    MAX_VALUE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_POLL_RECORDS_FIELD_NUMBER: _ClassVar[int]
    MAX_WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_VISIBILITY_MS_FIELD_NUMBER: _ClassVar[int]
    version: str
    python: str
    codec: str
    max_value_bytes: int
    max_poll_records: int
    max_wait_ms: int
    max_visibility_ms: int
    def __init__(self, version: _Optional[str] = ..., python: _Optional[str] = ..., codec: _Optional[str] = ..., max_value_bytes: _Optional[int] = ..., max_poll_records: _Optional[int] = ..., max_wait_ms: _Optional[int] = ..., max_visibility_ms: _Optional[int] = ...) -> None: ...

class GetBrokerStatsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetBrokerStatsResponse(_message.Message):
    __slots__ = ("topics", "partitions", "records", "bytes", "journal_bytes", "disk_used_share")
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    JOURNAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_USED_SHARE_FIELD_NUMBER: _ClassVar[int]
    topics: int
    partitions: int
    records: int
    bytes: int
    journal_bytes: int
    disk_used_share: float
    def __init__(self, topics: _Optional[int] = ..., partitions: _Optional[int] = ..., records: _Optional[int] = ..., bytes: _Optional[int] = ..., journal_bytes: _Optional[int] = ..., disk_used_share: _Optional[float] = ...) -> None: ...

class CheckReadinessRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CheckReadinessResponse(_message.Message):
    __slots__ = ("ready", "checks")
    class ChecksEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    READY_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    ready: bool
    checks: _containers.ScalarMap[str, str]
    def __init__(self, ready: _Optional[bool] = ..., checks: _Optional[_Mapping[str, str]] = ...) -> None: ...
