from goqueue.wire.grpc.v1 import errors_pb2 as _errors_pb2
from goqueue.wire.grpc.v1 import places_pb2 as _places_pb2
from goqueue.wire.grpc.v1 import records_pb2 as _records_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DeadLetterSelect(_message.Message):
    __slots__ = ("all", "places", "reason", "cause", "key", "group", "from_ns", "to_ns")
    ALL_FIELD_NUMBER: _ClassVar[int]
    PLACES_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    FROM_NS_FIELD_NUMBER: _ClassVar[int]
    TO_NS_FIELD_NUMBER: _ClassVar[int]
    all: bool
    places: _containers.RepeatedCompositeFieldContainer[_places_pb2.Place]
    reason: str
    cause: str
    key: bytes
    group: str
    from_ns: int
    to_ns: int
    def __init__(self, all: _Optional[bool] = ..., places: _Optional[_Iterable[_Union[_places_pb2.Place, _Mapping]]] = ..., reason: _Optional[str] = ..., cause: _Optional[str] = ..., key: _Optional[bytes] = ..., group: _Optional[str] = ..., from_ns: _Optional[int] = ..., to_ns: _Optional[int] = ...) -> None: ...

class DeadLetter(_message.Message):
    __slots__ = ("record", "origin")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    record: _records_pb2.StoredRecord
    origin: DeadLetterOrigin
    def __init__(self, record: _Optional[_Union[_records_pb2.StoredRecord, _Mapping]] = ..., origin: _Optional[_Union[DeadLetterOrigin, _Mapping]] = ...) -> None: ...

class DeadLetterOrigin(_message.Message):
    __slots__ = ("topic", "partition", "offset", "timestamp_ns", "group", "cause", "reason", "deliveries", "failures", "history")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_NS_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    offset: int
    timestamp_ns: int
    group: str
    cause: str
    reason: str
    deliveries: int
    failures: int
    history: _containers.RepeatedCompositeFieldContainer[DeliveryFailure]
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ..., timestamp_ns: _Optional[int] = ..., group: _Optional[str] = ..., cause: _Optional[str] = ..., reason: _Optional[str] = ..., deliveries: _Optional[int] = ..., failures: _Optional[int] = ..., history: _Optional[_Iterable[_Union[DeliveryFailure, _Mapping]]] = ...) -> None: ...

class DeliveryFailure(_message.Message):
    __slots__ = ("at_ns", "reason")
    AT_NS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    at_ns: int
    reason: str
    def __init__(self, at_ns: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class ListDeadLettersRequest(_message.Message):
    __slots__ = ("topic", "select", "limit", "cursor")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    SELECT_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    topic: str
    select: DeadLetterSelect
    limit: int
    cursor: str
    def __init__(self, topic: _Optional[str] = ..., select: _Optional[_Union[DeadLetterSelect, _Mapping]] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListDeadLettersResponse(_message.Message):
    __slots__ = ("dead_letter_topic", "letters", "next_cursor")
    DEAD_LETTER_TOPIC_FIELD_NUMBER: _ClassVar[int]
    LETTERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    dead_letter_topic: str
    letters: _containers.RepeatedCompositeFieldContainer[DeadLetter]
    next_cursor: str
    def __init__(self, dead_letter_topic: _Optional[str] = ..., letters: _Optional[_Iterable[_Union[DeadLetter, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class GetDeadLetterRequest(_message.Message):
    __slots__ = ("topic", "partition", "offset")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    offset: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class GetDeadLetterResponse(_message.Message):
    __slots__ = ("letter",)
    LETTER_FIELD_NUMBER: _ClassVar[int]
    letter: DeadLetter
    def __init__(self, letter: _Optional[_Union[DeadLetter, _Mapping]] = ...) -> None: ...

class GetDeadLetterStatsRequest(_message.Message):
    __slots__ = ("topic",)
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    topic: str
    def __init__(self, topic: _Optional[str] = ...) -> None: ...

class GetDeadLetterStatsResponse(_message.Message):
    __slots__ = ("dead_letter_topic", "count", "by_cause", "by_reason", "by_group", "oldest_ns", "newest_ns")
    class ByCauseEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class ByReasonEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class ByGroupEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    DEAD_LETTER_TOPIC_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    BY_CAUSE_FIELD_NUMBER: _ClassVar[int]
    BY_REASON_FIELD_NUMBER: _ClassVar[int]
    BY_GROUP_FIELD_NUMBER: _ClassVar[int]
    OLDEST_NS_FIELD_NUMBER: _ClassVar[int]
    NEWEST_NS_FIELD_NUMBER: _ClassVar[int]
    dead_letter_topic: str
    count: int
    by_cause: _containers.ScalarMap[str, int]
    by_reason: _containers.ScalarMap[str, int]
    by_group: _containers.ScalarMap[str, int]
    oldest_ns: int
    newest_ns: int
    def __init__(self, dead_letter_topic: _Optional[str] = ..., count: _Optional[int] = ..., by_cause: _Optional[_Mapping[str, int]] = ..., by_reason: _Optional[_Mapping[str, int]] = ..., by_group: _Optional[_Mapping[str, int]] = ..., oldest_ns: _Optional[int] = ..., newest_ns: _Optional[int] = ...) -> None: ...

class DeadLetterEdit(_message.Message):
    __slots__ = ("value", "without_value", "key", "without_key", "headers", "topic")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_VALUE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_KEY_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    value: bytes
    without_value: bool
    key: bytes
    without_key: bool
    headers: HeaderList
    topic: str
    def __init__(self, value: _Optional[bytes] = ..., without_value: _Optional[bool] = ..., key: _Optional[bytes] = ..., without_key: _Optional[bool] = ..., headers: _Optional[_Union[HeaderList, _Mapping]] = ..., topic: _Optional[str] = ...) -> None: ...

class HeaderList(_message.Message):
    __slots__ = ("headers",)
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    headers: _containers.RepeatedCompositeFieldContainer[_records_pb2.Header]
    def __init__(self, headers: _Optional[_Iterable[_Union[_records_pb2.Header, _Mapping]]] = ...) -> None: ...

class RedriveDeadLettersRequest(_message.Message):
    __slots__ = ("topic", "select", "edit", "rate", "dry_run", "limit", "cursor")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    SELECT_FIELD_NUMBER: _ClassVar[int]
    EDIT_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    topic: str
    select: DeadLetterSelect
    edit: DeadLetterEdit
    rate: float
    dry_run: bool
    limit: int
    cursor: str
    def __init__(self, topic: _Optional[str] = ..., select: _Optional[_Union[DeadLetterSelect, _Mapping]] = ..., edit: _Optional[_Union[DeadLetterEdit, _Mapping]] = ..., rate: _Optional[float] = ..., dry_run: _Optional[bool] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class RedriveDeadLettersResponse(_message.Message):
    __slots__ = ("dead_letter_topic", "matched", "redriven", "failed", "missing", "stopped", "moves", "failures", "next_cursor")
    DEAD_LETTER_TOPIC_FIELD_NUMBER: _ClassVar[int]
    MATCHED_FIELD_NUMBER: _ClassVar[int]
    REDRIVEN_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    STOPPED_FIELD_NUMBER: _ClassVar[int]
    MOVES_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    dead_letter_topic: str
    matched: int
    redriven: int
    failed: int
    missing: int
    stopped: str
    moves: _containers.RepeatedCompositeFieldContainer[DeadLetterMove]
    failures: _containers.RepeatedCompositeFieldContainer[DeadLetterRefusal]
    next_cursor: str
    def __init__(self, dead_letter_topic: _Optional[str] = ..., matched: _Optional[int] = ..., redriven: _Optional[int] = ..., failed: _Optional[int] = ..., missing: _Optional[int] = ..., stopped: _Optional[str] = ..., moves: _Optional[_Iterable[_Union[DeadLetterMove, _Mapping]]] = ..., failures: _Optional[_Iterable[_Union[DeadLetterRefusal, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class DeadLetterMove(_message.Message):
    __slots__ = ("partition", "offset", "topic", "target_partition", "target_offset")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    TARGET_PARTITION_FIELD_NUMBER: _ClassVar[int]
    TARGET_OFFSET_FIELD_NUMBER: _ClassVar[int]
    partition: int
    offset: int
    topic: str
    target_partition: int
    target_offset: int
    def __init__(self, partition: _Optional[int] = ..., offset: _Optional[int] = ..., topic: _Optional[str] = ..., target_partition: _Optional[int] = ..., target_offset: _Optional[int] = ...) -> None: ...

class DeadLetterRefusal(_message.Message):
    __slots__ = ("partition", "offset", "error")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    partition: int
    offset: int
    error: _errors_pb2.ErrorDetail
    def __init__(self, partition: _Optional[int] = ..., offset: _Optional[int] = ..., error: _Optional[_Union[_errors_pb2.ErrorDetail, _Mapping]] = ...) -> None: ...

class PurgeDeadLettersRequest(_message.Message):
    __slots__ = ("topic", "select", "dry_run", "limit", "cursor")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    SELECT_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    topic: str
    select: DeadLetterSelect
    dry_run: bool
    limit: int
    cursor: str
    def __init__(self, topic: _Optional[str] = ..., select: _Optional[_Union[DeadLetterSelect, _Mapping]] = ..., dry_run: _Optional[bool] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class PurgeDeadLettersResponse(_message.Message):
    __slots__ = ("dead_letter_topic", "matched", "purged", "missing", "stopped", "next_cursor")
    DEAD_LETTER_TOPIC_FIELD_NUMBER: _ClassVar[int]
    MATCHED_FIELD_NUMBER: _ClassVar[int]
    PURGED_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    STOPPED_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    dead_letter_topic: str
    matched: int
    purged: int
    missing: int
    stopped: str
    next_cursor: str
    def __init__(self, dead_letter_topic: _Optional[str] = ..., matched: _Optional[int] = ..., purged: _Optional[int] = ..., missing: _Optional[int] = ..., stopped: _Optional[str] = ..., next_cursor: _Optional[str] = ...) -> None: ...
