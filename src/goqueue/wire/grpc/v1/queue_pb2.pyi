from goqueue.wire.grpc.v1 import errors_pb2 as _errors_pb2
from goqueue.wire.grpc.v1 import places_pb2 as _places_pb2
from goqueue.wire.grpc.v1 import records_pb2 as _records_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PollRequest(_message.Message):
    __slots__ = ("group", "topics", "consumer", "generation", "limit", "max_bytes", "wait_ms", "visibility_ms", "key_order", "start", "form")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_MS_FIELD_NUMBER: _ClassVar[int]
    KEY_ORDER_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    group: str
    topics: _containers.RepeatedScalarFieldContainer[str]
    consumer: str
    generation: int
    limit: int
    max_bytes: int
    wait_ms: int
    visibility_ms: int
    key_order: bool
    start: _records_pb2.StartPoint
    form: _records_pb2.RecordForm
    def __init__(self, group: _Optional[str] = ..., topics: _Optional[_Iterable[str]] = ..., consumer: _Optional[str] = ..., generation: _Optional[int] = ..., limit: _Optional[int] = ..., max_bytes: _Optional[int] = ..., wait_ms: _Optional[int] = ..., visibility_ms: _Optional[int] = ..., key_order: _Optional[bool] = ..., start: _Optional[_Union[_records_pb2.StartPoint, str]] = ..., form: _Optional[_Union[_records_pb2.RecordForm, str]] = ...) -> None: ...

class PollResponse(_message.Message):
    __slots__ = ("leases", "next_offsets")
    LEASES_FIELD_NUMBER: _ClassVar[int]
    NEXT_OFFSETS_FIELD_NUMBER: _ClassVar[int]
    leases: _containers.RepeatedCompositeFieldContainer[Lease]
    next_offsets: _containers.RepeatedCompositeFieldContainer[_places_pb2.PartitionOffset]
    def __init__(self, leases: _Optional[_Iterable[_Union[Lease, _Mapping]]] = ..., next_offsets: _Optional[_Iterable[_Union[_places_pb2.PartitionOffset, _Mapping]]] = ...) -> None: ...

class Lease(_message.Message):
    __slots__ = ("topic", "partition", "grant", "token", "deadline_ns", "count", "records", "redelivered", "typed")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    GRANT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_NS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    REDELIVERED_FIELD_NUMBER: _ClassVar[int]
    TYPED_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    grant: int
    token: str
    deadline_ns: int
    count: int
    records: bytes
    redelivered: _containers.RepeatedCompositeFieldContainer[Redelivery]
    typed: _containers.RepeatedCompositeFieldContainer[LeasedRecord]
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., grant: _Optional[int] = ..., token: _Optional[str] = ..., deadline_ns: _Optional[int] = ..., count: _Optional[int] = ..., records: _Optional[bytes] = ..., redelivered: _Optional[_Iterable[_Union[Redelivery, _Mapping]]] = ..., typed: _Optional[_Iterable[_Union[LeasedRecord, _Mapping]]] = ...) -> None: ...

class Redelivery(_message.Message):
    __slots__ = ("offset", "deliveries", "failures")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    offset: int
    deliveries: int
    failures: int
    def __init__(self, offset: _Optional[int] = ..., deliveries: _Optional[int] = ..., failures: _Optional[int] = ...) -> None: ...

class LeasedRecord(_message.Message):
    __slots__ = ("record", "receipt", "deliveries", "failures")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    record: _records_pb2.StoredRecord
    receipt: str
    deliveries: int
    failures: int
    def __init__(self, record: _Optional[_Union[_records_pb2.StoredRecord, _Mapping]] = ..., receipt: _Optional[str] = ..., deliveries: _Optional[int] = ..., failures: _Optional[int] = ...) -> None: ...

class WorkRequest(_message.Message):
    __slots__ = ("group", "topics", "consumer", "max_in_flight", "visibility_ms", "key_order", "start", "form")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    MAX_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_MS_FIELD_NUMBER: _ClassVar[int]
    KEY_ORDER_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    group: str
    topics: _containers.RepeatedScalarFieldContainer[str]
    consumer: str
    max_in_flight: int
    visibility_ms: int
    key_order: bool
    start: _records_pb2.StartPoint
    form: _records_pb2.RecordForm
    def __init__(self, group: _Optional[str] = ..., topics: _Optional[_Iterable[str]] = ..., consumer: _Optional[str] = ..., max_in_flight: _Optional[int] = ..., visibility_ms: _Optional[int] = ..., key_order: _Optional[bool] = ..., start: _Optional[_Union[_records_pb2.StartPoint, str]] = ..., form: _Optional[_Union[_records_pb2.RecordForm, str]] = ...) -> None: ...

class WorkResponse(_message.Message):
    __slots__ = ("leases", "consumer")
    LEASES_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    leases: _containers.RepeatedCompositeFieldContainer[Lease]
    consumer: str
    def __init__(self, leases: _Optional[_Iterable[_Union[Lease, _Mapping]]] = ..., consumer: _Optional[str] = ...) -> None: ...

class LeasedRecords(_message.Message):
    __slots__ = ("topic", "partition", "grant", "token", "runs")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    GRANT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    grant: int
    token: str
    runs: _containers.RepeatedCompositeFieldContainer[_places_pb2.OffsetRun]
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., grant: _Optional[int] = ..., token: _Optional[str] = ..., runs: _Optional[_Iterable[_Union[_places_pb2.OffsetRun, _Mapping]]] = ...) -> None: ...

class Settled(_message.Message):
    __slots__ = ("receipts", "group", "leases")
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    LEASES_FIELD_NUMBER: _ClassVar[int]
    receipts: _containers.RepeatedScalarFieldContainer[str]
    group: str
    leases: _containers.RepeatedCompositeFieldContainer[LeasedRecords]
    def __init__(self, receipts: _Optional[_Iterable[str]] = ..., group: _Optional[str] = ..., leases: _Optional[_Iterable[_Union[LeasedRecords, _Mapping]]] = ...) -> None: ...

class SettleResult(_message.Message):
    __slots__ = ("error", "topic", "partition", "offset", "committed_offset", "in_flight", "dead", "dead_letter_topic", "next_visible_at_ns", "deadline_ns")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_OFFSET_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    DEAD_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTER_TOPIC_FIELD_NUMBER: _ClassVar[int]
    NEXT_VISIBLE_AT_NS_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_NS_FIELD_NUMBER: _ClassVar[int]
    error: _errors_pb2.ErrorDetail
    topic: str
    partition: int
    offset: int
    committed_offset: int
    in_flight: int
    dead: int
    dead_letter_topic: str
    next_visible_at_ns: int
    deadline_ns: int
    def __init__(self, error: _Optional[_Union[_errors_pb2.ErrorDetail, _Mapping]] = ..., topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ..., committed_offset: _Optional[int] = ..., in_flight: _Optional[int] = ..., dead: _Optional[int] = ..., dead_letter_topic: _Optional[str] = ..., next_visible_at_ns: _Optional[int] = ..., deadline_ns: _Optional[int] = ...) -> None: ...

class AckRequest(_message.Message):
    __slots__ = ("records",)
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    records: Settled
    def __init__(self, records: _Optional[_Union[Settled, _Mapping]] = ...) -> None: ...

class AckResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[SettleResult]
    def __init__(self, results: _Optional[_Iterable[_Union[SettleResult, _Mapping]]] = ...) -> None: ...

class NackRequest(_message.Message):
    __slots__ = ("records", "reason", "delay_ms")
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DELAY_MS_FIELD_NUMBER: _ClassVar[int]
    records: Settled
    reason: str
    delay_ms: int
    def __init__(self, records: _Optional[_Union[Settled, _Mapping]] = ..., reason: _Optional[str] = ..., delay_ms: _Optional[int] = ...) -> None: ...

class NackResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[SettleResult]
    def __init__(self, results: _Optional[_Iterable[_Union[SettleResult, _Mapping]]] = ...) -> None: ...

class RejectRequest(_message.Message):
    __slots__ = ("records", "reason")
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    records: Settled
    reason: str
    def __init__(self, records: _Optional[_Union[Settled, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class RejectResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[SettleResult]
    def __init__(self, results: _Optional[_Iterable[_Union[SettleResult, _Mapping]]] = ...) -> None: ...

class ExtendRequest(_message.Message):
    __slots__ = ("records", "visibility_ms")
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_MS_FIELD_NUMBER: _ClassVar[int]
    records: Settled
    visibility_ms: int
    def __init__(self, records: _Optional[_Union[Settled, _Mapping]] = ..., visibility_ms: _Optional[int] = ...) -> None: ...

class ExtendResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[SettleResult]
    def __init__(self, results: _Optional[_Iterable[_Union[SettleResult, _Mapping]]] = ...) -> None: ...

class ReleaseRequest(_message.Message):
    __slots__ = ("records",)
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    records: Settled
    def __init__(self, records: _Optional[_Union[Settled, _Mapping]] = ...) -> None: ...

class ReleaseResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[SettleResult]
    def __init__(self, results: _Optional[_Iterable[_Union[SettleResult, _Mapping]]] = ...) -> None: ...

class GetDeliveryStatsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetDeliveryStatsResponse(_message.Message):
    __slots__ = ("queues",)
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedCompositeFieldContainer[DeliveryStats]
    def __init__(self, queues: _Optional[_Iterable[_Union[DeliveryStats, _Mapping]]] = ...) -> None: ...

class DeliveryStats(_message.Message):
    __slots__ = ("group", "topic", "in_flight", "waiting_for_retry", "deferred", "acked", "nacked", "rejected", "expired", "dead_lettered", "ready", "lag", "delayed", "workers")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    WAITING_FOR_RETRY_FIELD_NUMBER: _ClassVar[int]
    DEFERRED_FIELD_NUMBER: _ClassVar[int]
    ACKED_FIELD_NUMBER: _ClassVar[int]
    NACKED_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTERED_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    DELAYED_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    group: str
    topic: str
    in_flight: int
    waiting_for_retry: int
    deferred: int
    acked: int
    nacked: int
    rejected: int
    expired: int
    dead_lettered: int
    ready: int
    lag: int
    delayed: int
    workers: int
    def __init__(self, group: _Optional[str] = ..., topic: _Optional[str] = ..., in_flight: _Optional[int] = ..., waiting_for_retry: _Optional[int] = ..., deferred: _Optional[int] = ..., acked: _Optional[int] = ..., nacked: _Optional[int] = ..., rejected: _Optional[int] = ..., expired: _Optional[int] = ..., dead_lettered: _Optional[int] = ..., ready: _Optional[int] = ..., lag: _Optional[int] = ..., delayed: _Optional[int] = ..., workers: _Optional[int] = ...) -> None: ...

class GetLaneStatsRequest(_message.Message):
    __slots__ = ("group", "topic")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    group: str
    topic: str
    def __init__(self, group: _Optional[str] = ..., topic: _Optional[str] = ...) -> None: ...

class GetLaneStatsResponse(_message.Message):
    __slots__ = ("queues",)
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedCompositeFieldContainer[QueueLanes]
    def __init__(self, queues: _Optional[_Iterable[_Union[QueueLanes, _Mapping]]] = ...) -> None: ...

class QueueLanes(_message.Message):
    __slots__ = ("group", "topic", "partition", "lanes")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    LANES_FIELD_NUMBER: _ClassVar[int]
    group: str
    topic: str
    partition: int
    lanes: _containers.RepeatedCompositeFieldContainer[Lane]
    def __init__(self, group: _Optional[str] = ..., topic: _Optional[str] = ..., partition: _Optional[int] = ..., lanes: _Optional[_Iterable[_Union[Lane, _Mapping]]] = ...) -> None: ...

class Lane(_message.Message):
    __slots__ = ("priority", "ready", "in_flight", "enqueued_per_s", "dequeued_per_s", "last_served_ns", "oldest_waiting_ns")
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    ENQUEUED_PER_S_FIELD_NUMBER: _ClassVar[int]
    DEQUEUED_PER_S_FIELD_NUMBER: _ClassVar[int]
    LAST_SERVED_NS_FIELD_NUMBER: _ClassVar[int]
    OLDEST_WAITING_NS_FIELD_NUMBER: _ClassVar[int]
    priority: int
    ready: int
    in_flight: int
    enqueued_per_s: float
    dequeued_per_s: float
    last_served_ns: int
    oldest_waiting_ns: int
    def __init__(self, priority: _Optional[int] = ..., ready: _Optional[int] = ..., in_flight: _Optional[int] = ..., enqueued_per_s: _Optional[float] = ..., dequeued_per_s: _Optional[float] = ..., last_served_ns: _Optional[int] = ..., oldest_waiting_ns: _Optional[int] = ...) -> None: ...
