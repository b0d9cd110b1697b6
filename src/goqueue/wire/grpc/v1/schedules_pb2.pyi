from goqueue.wire.grpc.v1 import records_pb2 as _records_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Misfire(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MISFIRE_UNSPECIFIED: _ClassVar[Misfire]
    MISFIRE_SKIP: _ClassVar[Misfire]
    MISFIRE_ONCE: _ClassVar[Misfire]
    MISFIRE_ALL: _ClassVar[Misfire]

class DstGap(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DST_GAP_UNSPECIFIED: _ClassVar[DstGap]
    DST_GAP_SKIP: _ClassVar[DstGap]
    DST_GAP_SHIFT: _ClassVar[DstGap]

class DstOverlap(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DST_OVERLAP_UNSPECIFIED: _ClassVar[DstOverlap]
    DST_OVERLAP_FIRST: _ClassVar[DstOverlap]
    DST_OVERLAP_SECOND: _ClassVar[DstOverlap]
    DST_OVERLAP_BOTH: _ClassVar[DstOverlap]

class ScheduleStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SCHEDULE_STATUS_UNSPECIFIED: _ClassVar[ScheduleStatus]
    SCHEDULE_STATUS_ACTIVE: _ClassVar[ScheduleStatus]
    SCHEDULE_STATUS_PAUSED: _ClassVar[ScheduleStatus]
    SCHEDULE_STATUS_ENDED: _ClassVar[ScheduleStatus]

class FiringOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FIRING_OUTCOME_UNSPECIFIED: _ClassVar[FiringOutcome]
    FIRING_OUTCOME_FIRED: _ClassVar[FiringOutcome]
    FIRING_OUTCOME_SKIPPED: _ClassVar[FiringOutcome]
    FIRING_OUTCOME_CAUGHT_UP: _ClassVar[FiringOutcome]
MISFIRE_UNSPECIFIED: Misfire
MISFIRE_SKIP: Misfire
MISFIRE_ONCE: Misfire
MISFIRE_ALL: Misfire
DST_GAP_UNSPECIFIED: DstGap
DST_GAP_SKIP: DstGap
DST_GAP_SHIFT: DstGap
DST_OVERLAP_UNSPECIFIED: DstOverlap
DST_OVERLAP_FIRST: DstOverlap
DST_OVERLAP_SECOND: DstOverlap
DST_OVERLAP_BOTH: DstOverlap
SCHEDULE_STATUS_UNSPECIFIED: ScheduleStatus
SCHEDULE_STATUS_ACTIVE: ScheduleStatus
SCHEDULE_STATUS_PAUSED: ScheduleStatus
SCHEDULE_STATUS_ENDED: ScheduleStatus
FIRING_OUTCOME_UNSPECIFIED: FiringOutcome
FIRING_OUTCOME_FIRED: FiringOutcome
FIRING_OUTCOME_SKIPPED: FiringOutcome
FIRING_OUTCOME_CAUGHT_UP: FiringOutcome

class ScheduleSettings(_message.Message):
    __slots__ = ("topic", "key", "value", "headers", "priority", "cron", "every_s", "zone", "start_ns", "end_ns", "misfire", "misfire_after_ms", "catch_up_most", "dst_gap", "dst_overlap", "jitter_ms", "max_firings", "paused", "description", "cleared")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    CRON_FIELD_NUMBER: _ClassVar[int]
    EVERY_S_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    START_NS_FIELD_NUMBER: _ClassVar[int]
    END_NS_FIELD_NUMBER: _ClassVar[int]
    MISFIRE_FIELD_NUMBER: _ClassVar[int]
    MISFIRE_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    CATCH_UP_MOST_FIELD_NUMBER: _ClassVar[int]
    DST_GAP_FIELD_NUMBER: _ClassVar[int]
    DST_OVERLAP_FIELD_NUMBER: _ClassVar[int]
    JITTER_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_FIRINGS_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CLEARED_FIELD_NUMBER: _ClassVar[int]
    topic: str
    key: bytes
    value: bytes
    headers: _containers.RepeatedCompositeFieldContainer[_records_pb2.Header]
    priority: int
    cron: str
    every_s: int
    zone: str
    start_ns: int
    end_ns: int
    misfire: Misfire
    misfire_after_ms: int
    catch_up_most: int
    dst_gap: DstGap
    dst_overlap: DstOverlap
    jitter_ms: int
    max_firings: int
    paused: bool
    description: str
    cleared: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, topic: _Optional[str] = ..., key: _Optional[bytes] = ..., value: _Optional[bytes] = ..., headers: _Optional[_Iterable[_Union[_records_pb2.Header, _Mapping]]] = ..., priority: _Optional[int] = ..., cron: _Optional[str] = ..., every_s: _Optional[int] = ..., zone: _Optional[str] = ..., start_ns: _Optional[int] = ..., end_ns: _Optional[int] = ..., misfire: _Optional[_Union[Misfire, str]] = ..., misfire_after_ms: _Optional[int] = ..., catch_up_most: _Optional[int] = ..., dst_gap: _Optional[_Union[DstGap, str]] = ..., dst_overlap: _Optional[_Union[DstOverlap, str]] = ..., jitter_ms: _Optional[int] = ..., max_firings: _Optional[int] = ..., paused: _Optional[bool] = ..., description: _Optional[str] = ..., cleared: _Optional[_Iterable[str]] = ...) -> None: ...

class Schedule(_message.Message):
    __slots__ = ("id", "status", "settings", "created_ns", "changed_ns", "next_due_ns", "fired", "history")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    CREATED_NS_FIELD_NUMBER: _ClassVar[int]
    CHANGED_NS_FIELD_NUMBER: _ClassVar[int]
    NEXT_DUE_NS_FIELD_NUMBER: _ClassVar[int]
    FIRED_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    id: str
    status: ScheduleStatus
    settings: ScheduleSettings
    created_ns: int
    changed_ns: int
    next_due_ns: int
    fired: int
    history: _containers.RepeatedCompositeFieldContainer[Firing]
    def __init__(self, id: _Optional[str] = ..., status: _Optional[_Union[ScheduleStatus, str]] = ..., settings: _Optional[_Union[ScheduleSettings, _Mapping]] = ..., created_ns: _Optional[int] = ..., changed_ns: _Optional[int] = ..., next_due_ns: _Optional[int] = ..., fired: _Optional[int] = ..., history: _Optional[_Iterable[_Union[Firing, _Mapping]]] = ...) -> None: ...

class Firing(_message.Message):
    __slots__ = ("occurrence_ns", "at_ns", "outcome", "count", "partition", "offset", "reason")
    OCCURRENCE_NS_FIELD_NUMBER: _ClassVar[int]
    AT_NS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    occurrence_ns: int
    at_ns: int
    outcome: FiringOutcome
    count: int
    partition: int
    offset: int
    reason: str
    def __init__(self, occurrence_ns: _Optional[int] = ..., at_ns: _Optional[int] = ..., outcome: _Optional[_Union[FiringOutcome, str]] = ..., count: _Optional[int] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class CreateScheduleRequest(_message.Message):
    __slots__ = ("id", "settings")
    ID_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    id: str
    settings: ScheduleSettings
    def __init__(self, id: _Optional[str] = ..., settings: _Optional[_Union[ScheduleSettings, _Mapping]] = ...) -> None: ...

class CreateScheduleResponse(_message.Message):
    __slots__ = ("schedule",)
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    schedule: Schedule
    def __init__(self, schedule: _Optional[_Union[Schedule, _Mapping]] = ...) -> None: ...

class ListSchedulesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListSchedulesResponse(_message.Message):
    __slots__ = ("schedules",)
    SCHEDULES_FIELD_NUMBER: _ClassVar[int]
    schedules: _containers.RepeatedCompositeFieldContainer[Schedule]
    def __init__(self, schedules: _Optional[_Iterable[_Union[Schedule, _Mapping]]] = ...) -> None: ...

class GetScheduleRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class GetScheduleResponse(_message.Message):
    __slots__ = ("schedule",)
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    schedule: Schedule
    def __init__(self, schedule: _Optional[_Union[Schedule, _Mapping]] = ...) -> None: ...

class UpdateScheduleRequest(_message.Message):
    __slots__ = ("id", "settings")
    ID_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    id: str
    settings: ScheduleSettings
    def __init__(self, id: _Optional[str] = ..., settings: _Optional[_Union[ScheduleSettings, _Mapping]] = ...) -> None: ...

class UpdateScheduleResponse(_message.Message):
    __slots__ = ("schedule",)
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    schedule: Schedule
    def __init__(self, schedule: _Optional[_Union[Schedule, _Mapping]] = ...) -> None: ...

class PauseScheduleRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class PauseScheduleResponse(_message.Message):
    __slots__ = ("schedule",)
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    schedule: Schedule
    def __init__(self, schedule: _Optional[_Union[Schedule, _Mapping]] = ...) -> None: ...

class ResumeScheduleRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class ResumeScheduleResponse(_message.Message):
    __slots__ = ("schedule",)
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    schedule: Schedule
    def __init__(self, schedule: _Optional[_Union[Schedule, _Mapping]] = ...) -> None: ...

class DeleteScheduleRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class DeleteScheduleResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
