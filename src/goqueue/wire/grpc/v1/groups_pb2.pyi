from goqueue.wire.grpc.v1 import places_pb2 as _places_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GroupProtocol(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GROUP_PROTOCOL_UNSPECIFIED: _ClassVar[GroupProtocol]
    GROUP_PROTOCOL_COOPERATIVE: _ClassVar[GroupProtocol]
    GROUP_PROTOCOL_EAGER: _ClassVar[GroupProtocol]

class Assignor(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ASSIGNOR_UNSPECIFIED: _ClassVar[Assignor]
    ASSIGNOR_STICKY: _ClassVar[Assignor]
    ASSIGNOR_RANGE: _ClassVar[Assignor]
    ASSIGNOR_ROUND_ROBIN: _ClassVar[Assignor]

class GroupState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GROUP_STATE_UNSPECIFIED: _ClassVar[GroupState]
    GROUP_STATE_EMPTY: _ClassVar[GroupState]
    GROUP_STATE_REBALANCING: _ClassVar[GroupState]
    GROUP_STATE_STABLE: _ClassVar[GroupState]
    GROUP_STATE_DEAD: _ClassVar[GroupState]
    GROUP_STATE_WORKING: _ClassVar[GroupState]
GROUP_PROTOCOL_UNSPECIFIED: GroupProtocol
GROUP_PROTOCOL_COOPERATIVE: GroupProtocol
GROUP_PROTOCOL_EAGER: GroupProtocol
ASSIGNOR_UNSPECIFIED: Assignor
ASSIGNOR_STICKY: Assignor
ASSIGNOR_RANGE: Assignor
ASSIGNOR_ROUND_ROBIN: Assignor
GROUP_STATE_UNSPECIFIED: GroupState
GROUP_STATE_EMPTY: GroupState
GROUP_STATE_REBALANCING: GroupState
GROUP_STATE_STABLE: GroupState
GROUP_STATE_DEAD: GroupState
GROUP_STATE_WORKING: GroupState

class JoinGroupRequest(_message.Message):
    __slots__ = ("group", "client_id", "topics", "pattern", "protocol", "assignor", "session_ms", "instance_id", "member_id")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    ASSIGNOR_FIELD_NUMBER: _ClassVar[int]
    SESSION_MS_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    group: str
    client_id: str
    topics: _containers.RepeatedScalarFieldContainer[str]
    pattern: str
    protocol: GroupProtocol
    assignor: Assignor
    session_ms: int
    instance_id: str
    member_id: str
    def __init__(self, group: _Optional[str] = ..., client_id: _Optional[str] = ..., topics: _Optional[_Iterable[str]] = ..., pattern: _Optional[str] = ..., protocol: _Optional[_Union[GroupProtocol, str]] = ..., assignor: _Optional[_Union[Assignor, str]] = ..., session_ms: _Optional[int] = ..., instance_id: _Optional[str] = ..., member_id: _Optional[str] = ...) -> None: ...

class JoinGroupResponse(_message.Message):
    __slots__ = ("member_id", "generation", "leader_id", "partitions", "members", "heartbeat_ms", "paused")
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    LEADER_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_MS_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    member_id: str
    generation: int
    leader_id: str
    partitions: _containers.RepeatedCompositeFieldContainer[_places_pb2.TopicPartition]
    members: _containers.RepeatedScalarFieldContainer[str]
    heartbeat_ms: int
    paused: bool
    def __init__(self, member_id: _Optional[str] = ..., generation: _Optional[int] = ..., leader_id: _Optional[str] = ..., partitions: _Optional[_Iterable[_Union[_places_pb2.TopicPartition, _Mapping]]] = ..., members: _Optional[_Iterable[str]] = ..., heartbeat_ms: _Optional[int] = ..., paused: _Optional[bool] = ...) -> None: ...

class HeartbeatRequest(_message.Message):
    __slots__ = ("group", "member_id", "generation", "owned", "wait_ms")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    OWNED_FIELD_NUMBER: _ClassVar[int]
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    group: str
    member_id: str
    generation: int
    owned: Partitions
    wait_ms: int
    def __init__(self, group: _Optional[str] = ..., member_id: _Optional[str] = ..., generation: _Optional[int] = ..., owned: _Optional[_Union[Partitions, _Mapping]] = ..., wait_ms: _Optional[int] = ...) -> None: ...

class HeartbeatResponse(_message.Message):
    __slots__ = ("assignment",)
    ASSIGNMENT_FIELD_NUMBER: _ClassVar[int]
    assignment: Assignment
    def __init__(self, assignment: _Optional[_Union[Assignment, _Mapping]] = ...) -> None: ...

class RevokePartitionsRequest(_message.Message):
    __slots__ = ("group", "member_id", "generation", "partitions")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    group: str
    member_id: str
    generation: int
    partitions: _containers.RepeatedCompositeFieldContainer[_places_pb2.TopicPartition]
    def __init__(self, group: _Optional[str] = ..., member_id: _Optional[str] = ..., generation: _Optional[int] = ..., partitions: _Optional[_Iterable[_Union[_places_pb2.TopicPartition, _Mapping]]] = ...) -> None: ...

class RevokePartitionsResponse(_message.Message):
    __slots__ = ("assignment",)
    ASSIGNMENT_FIELD_NUMBER: _ClassVar[int]
    assignment: Assignment
    def __init__(self, assignment: _Optional[_Union[Assignment, _Mapping]] = ...) -> None: ...

class LeaveGroupRequest(_message.Message):
    __slots__ = ("group", "member_id")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    group: str
    member_id: str
    def __init__(self, group: _Optional[str] = ..., member_id: _Optional[str] = ...) -> None: ...

class LeaveGroupResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetAssignmentRequest(_message.Message):
    __slots__ = ("group", "member_id")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    group: str
    member_id: str
    def __init__(self, group: _Optional[str] = ..., member_id: _Optional[str] = ...) -> None: ...

class GetAssignmentResponse(_message.Message):
    __slots__ = ("assignment",)
    ASSIGNMENT_FIELD_NUMBER: _ClassVar[int]
    assignment: Assignment
    def __init__(self, assignment: _Optional[_Union[Assignment, _Mapping]] = ...) -> None: ...

class Partitions(_message.Message):
    __slots__ = ("partitions",)
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedCompositeFieldContainer[_places_pb2.TopicPartition]
    def __init__(self, partitions: _Optional[_Iterable[_Union[_places_pb2.TopicPartition, _Mapping]]] = ...) -> None: ...

class Assignment(_message.Message):
    __slots__ = ("member_id", "generation", "state", "partitions", "revoke", "paused")
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    REVOKE_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    member_id: str
    generation: int
    state: GroupState
    partitions: _containers.RepeatedCompositeFieldContainer[_places_pb2.TopicPartition]
    revoke: _containers.RepeatedCompositeFieldContainer[_places_pb2.TopicPartition]
    paused: bool
    def __init__(self, member_id: _Optional[str] = ..., generation: _Optional[int] = ..., state: _Optional[_Union[GroupState, str]] = ..., partitions: _Optional[_Iterable[_Union[_places_pb2.TopicPartition, _Mapping]]] = ..., revoke: _Optional[_Iterable[_Union[_places_pb2.TopicPartition, _Mapping]]] = ..., paused: _Optional[bool] = ...) -> None: ...

class ListGroupsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListGroupsResponse(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[GroupSummary]
    def __init__(self, groups: _Optional[_Iterable[_Union[GroupSummary, _Mapping]]] = ...) -> None: ...

class GroupSummary(_message.Message):
    __slots__ = ("group", "state", "protocol", "members", "lag", "delayed", "workers")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    DELAYED_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    group: str
    state: GroupState
    protocol: GroupProtocol
    members: int
    lag: int
    delayed: int
    workers: int
    def __init__(self, group: _Optional[str] = ..., state: _Optional[_Union[GroupState, str]] = ..., protocol: _Optional[_Union[GroupProtocol, str]] = ..., members: _Optional[int] = ..., lag: _Optional[int] = ..., delayed: _Optional[int] = ..., workers: _Optional[int] = ...) -> None: ...

class GetGroupRequest(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: str
    def __init__(self, group: _Optional[str] = ...) -> None: ...

class GetGroupResponse(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: Group
    def __init__(self, group: _Optional[_Union[Group, _Mapping]] = ...) -> None: ...

class Group(_message.Message):
    __slots__ = ("group", "state", "protocol", "assignor", "generation", "paused", "pause_reason", "leader_id", "members", "lag", "partitions", "expires_at_ns", "delayed", "workers", "worker_count")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    ASSIGNOR_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    PAUSE_REASON_FIELD_NUMBER: _ClassVar[int]
    LEADER_ID_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_NS_FIELD_NUMBER: _ClassVar[int]
    DELAYED_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    WORKER_COUNT_FIELD_NUMBER: _ClassVar[int]
    group: str
    state: GroupState
    protocol: GroupProtocol
    assignor: Assignor
    generation: int
    paused: bool
    pause_reason: str
    leader_id: str
    members: _containers.RepeatedCompositeFieldContainer[GroupMember]
    lag: int
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionLag]
    expires_at_ns: int
    delayed: int
    workers: _containers.RepeatedCompositeFieldContainer[GroupWorker]
    worker_count: int
    def __init__(self, group: _Optional[str] = ..., state: _Optional[_Union[GroupState, str]] = ..., protocol: _Optional[_Union[GroupProtocol, str]] = ..., assignor: _Optional[_Union[Assignor, str]] = ..., generation: _Optional[int] = ..., paused: _Optional[bool] = ..., pause_reason: _Optional[str] = ..., leader_id: _Optional[str] = ..., members: _Optional[_Iterable[_Union[GroupMember, _Mapping]]] = ..., lag: _Optional[int] = ..., partitions: _Optional[_Iterable[_Union[PartitionLag, _Mapping]]] = ..., expires_at_ns: _Optional[int] = ..., delayed: _Optional[int] = ..., workers: _Optional[_Iterable[_Union[GroupWorker, _Mapping]]] = ..., worker_count: _Optional[int] = ...) -> None: ...

class GroupWorker(_message.Message):
    __slots__ = ("consumer", "protocol", "address", "since_ns", "in_flight")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    SINCE_NS_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    protocol: str
    address: str
    since_ns: int
    in_flight: int
    def __init__(self, consumer: _Optional[str] = ..., protocol: _Optional[str] = ..., address: _Optional[str] = ..., since_ns: _Optional[int] = ..., in_flight: _Optional[int] = ...) -> None: ...

class GroupMember(_message.Message):
    __slots__ = ("member_id", "client_id", "instance_id", "generation", "partitions", "revoking")
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    REVOKING_FIELD_NUMBER: _ClassVar[int]
    member_id: str
    client_id: str
    instance_id: str
    generation: int
    partitions: _containers.RepeatedCompositeFieldContainer[_places_pb2.TopicPartition]
    revoking: _containers.RepeatedCompositeFieldContainer[_places_pb2.TopicPartition]
    def __init__(self, member_id: _Optional[str] = ..., client_id: _Optional[str] = ..., instance_id: _Optional[str] = ..., generation: _Optional[int] = ..., partitions: _Optional[_Iterable[_Union[_places_pb2.TopicPartition, _Mapping]]] = ..., revoking: _Optional[_Iterable[_Union[_places_pb2.TopicPartition, _Mapping]]] = ...) -> None: ...

class PartitionLag(_message.Message):
    __slots__ = ("topic", "partition", "committed", "end", "lag", "member_id", "delayed")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    DELAYED_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    committed: int
    end: int
    lag: int
    member_id: str
    delayed: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., committed: _Optional[int] = ..., end: _Optional[int] = ..., lag: _Optional[int] = ..., member_id: _Optional[str] = ..., delayed: _Optional[int] = ...) -> None: ...

class DeleteGroupRequest(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: str
    def __init__(self, group: _Optional[str] = ...) -> None: ...

class DeleteGroupResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PauseGroupRequest(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: str
    def __init__(self, group: _Optional[str] = ...) -> None: ...

class PauseGroupResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ResumeGroupRequest(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: str
    def __init__(self, group: _Optional[str] = ...) -> None: ...

class ResumeGroupResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GroupPolicy(_message.Message):
    __slots__ = ("visibility_timeout_ms", "max_attempts", "retry_backoff_ms", "retry_backoff_max_ms", "retry_jitter", "offsets_retention_ms")
    VISIBILITY_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    RETRY_BACKOFF_MS_FIELD_NUMBER: _ClassVar[int]
    RETRY_BACKOFF_MAX_MS_FIELD_NUMBER: _ClassVar[int]
    RETRY_JITTER_FIELD_NUMBER: _ClassVar[int]
    OFFSETS_RETENTION_MS_FIELD_NUMBER: _ClassVar[int]
    visibility_timeout_ms: int
    max_attempts: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    retry_jitter: float
    offsets_retention_ms: int
    def __init__(self, visibility_timeout_ms: _Optional[int] = ..., max_attempts: _Optional[int] = ..., retry_backoff_ms: _Optional[int] = ..., retry_backoff_max_ms: _Optional[int] = ..., retry_jitter: _Optional[float] = ..., offsets_retention_ms: _Optional[int] = ...) -> None: ...

class GetGroupPolicyRequest(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: str
    def __init__(self, group: _Optional[str] = ...) -> None: ...

class GetGroupPolicyResponse(_message.Message):
    __slots__ = ("policy",)
    POLICY_FIELD_NUMBER: _ClassVar[int]
    policy: GroupPolicy
    def __init__(self, policy: _Optional[_Union[GroupPolicy, _Mapping]] = ...) -> None: ...

class SetGroupPolicyRequest(_message.Message):
    __slots__ = ("group", "policy")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    group: str
    policy: GroupPolicy
    def __init__(self, group: _Optional[str] = ..., policy: _Optional[_Union[GroupPolicy, _Mapping]] = ...) -> None: ...

class SetGroupPolicyResponse(_message.Message):
    __slots__ = ("policy",)
    POLICY_FIELD_NUMBER: _ClassVar[int]
    policy: GroupPolicy
    def __init__(self, policy: _Optional[_Union[GroupPolicy, _Mapping]] = ...) -> None: ...

class ListRebalancesRequest(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: str
    def __init__(self, group: _Optional[str] = ...) -> None: ...

class ListRebalancesResponse(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[Rebalances]
    def __init__(self, groups: _Optional[_Iterable[_Union[Rebalances, _Mapping]]] = ...) -> None: ...

class Rebalances(_message.Message):
    __slots__ = ("group", "count", "last_reason", "last_duration_ms", "last_moved", "total_moved", "awaited")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_REASON_FIELD_NUMBER: _ClassVar[int]
    LAST_DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    LAST_MOVED_FIELD_NUMBER: _ClassVar[int]
    TOTAL_MOVED_FIELD_NUMBER: _ClassVar[int]
    AWAITED_FIELD_NUMBER: _ClassVar[int]
    group: str
    count: int
    last_reason: str
    last_duration_ms: float
    last_moved: int
    total_moved: int
    awaited: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, group: _Optional[str] = ..., count: _Optional[int] = ..., last_reason: _Optional[str] = ..., last_duration_ms: _Optional[float] = ..., last_moved: _Optional[int] = ..., total_moved: _Optional[int] = ..., awaited: _Optional[_Iterable[str]] = ...) -> None: ...
