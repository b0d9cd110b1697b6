from goqueue.wire.grpc.v1 import places_pb2 as _places_pb2
from goqueue.wire.grpc.v1 import queue_pb2 as _queue_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SettleAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SETTLE_ACTION_UNSPECIFIED: _ClassVar[SettleAction]
    SETTLE_ACTION_ACK: _ClassVar[SettleAction]
    SETTLE_ACTION_NACK: _ClassVar[SettleAction]
    SETTLE_ACTION_REJECT: _ClassVar[SettleAction]

class TransactionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRANSACTION_STATE_UNSPECIFIED: _ClassVar[TransactionState]
    TRANSACTION_STATE_OPEN: _ClassVar[TransactionState]
    TRANSACTION_STATE_PREPARED: _ClassVar[TransactionState]
    TRANSACTION_STATE_ENDING: _ClassVar[TransactionState]
    TRANSACTION_STATE_COMMITTED: _ClassVar[TransactionState]
    TRANSACTION_STATE_ABORTED: _ClassVar[TransactionState]
SETTLE_ACTION_UNSPECIFIED: SettleAction
SETTLE_ACTION_ACK: SettleAction
SETTLE_ACTION_NACK: SettleAction
SETTLE_ACTION_REJECT: SettleAction
TRANSACTION_STATE_UNSPECIFIED: TransactionState
TRANSACTION_STATE_OPEN: TransactionState
TRANSACTION_STATE_PREPARED: TransactionState
TRANSACTION_STATE_ENDING: TransactionState
TRANSACTION_STATE_COMMITTED: TransactionState
TRANSACTION_STATE_ABORTED: TransactionState

class TransactionRef(_message.Message):
    __slots__ = ("transaction", "producer_id", "epoch")
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    transaction: int
    producer_id: int
    epoch: int
    def __init__(self, transaction: _Optional[int] = ..., producer_id: _Optional[int] = ..., epoch: _Optional[int] = ...) -> None: ...

class InitTransactionsRequest(_message.Message):
    __slots__ = ("transactional_id", "transaction_timeout_ms", "producer_id", "epoch", "instance")
    TRANSACTIONAL_ID_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    transactional_id: str
    transaction_timeout_ms: int
    producer_id: int
    epoch: int
    instance: str
    def __init__(self, transactional_id: _Optional[str] = ..., transaction_timeout_ms: _Optional[int] = ..., producer_id: _Optional[int] = ..., epoch: _Optional[int] = ..., instance: _Optional[str] = ...) -> None: ...

class InitTransactionsResponse(_message.Message):
    __slots__ = ("producer_id", "epoch")
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    producer_id: int
    epoch: int
    def __init__(self, producer_id: _Optional[int] = ..., epoch: _Optional[int] = ...) -> None: ...

class CheckProducerRequest(_message.Message):
    __slots__ = ("producer_id", "epoch")
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    producer_id: int
    epoch: int
    def __init__(self, producer_id: _Optional[int] = ..., epoch: _Optional[int] = ...) -> None: ...

class CheckProducerResponse(_message.Message):
    __slots__ = ("transaction",)
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    transaction: int
    def __init__(self, transaction: _Optional[int] = ...) -> None: ...

class BeginTransactionRequest(_message.Message):
    __slots__ = ("producer_id", "epoch")
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    producer_id: int
    epoch: int
    def __init__(self, producer_id: _Optional[int] = ..., epoch: _Optional[int] = ...) -> None: ...

class BeginTransactionResponse(_message.Message):
    __slots__ = ("transaction", "timeout_ms", "deadline_ns")
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_NS_FIELD_NUMBER: _ClassVar[int]
    transaction: TransactionRef
    timeout_ms: int
    deadline_ns: int
    def __init__(self, transaction: _Optional[_Union[TransactionRef, _Mapping]] = ..., timeout_ms: _Optional[int] = ..., deadline_ns: _Optional[int] = ...) -> None: ...

class AddAcksRequest(_message.Message):
    __slots__ = ("transaction", "records", "action", "reason", "delay_ms")
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DELAY_MS_FIELD_NUMBER: _ClassVar[int]
    transaction: TransactionRef
    records: _queue_pb2.Settled
    action: SettleAction
    reason: str
    delay_ms: int
    def __init__(self, transaction: _Optional[_Union[TransactionRef, _Mapping]] = ..., records: _Optional[_Union[_queue_pb2.Settled, _Mapping]] = ..., action: _Optional[_Union[SettleAction, str]] = ..., reason: _Optional[str] = ..., delay_ms: _Optional[int] = ...) -> None: ...

class AddAcksResponse(_message.Message):
    __slots__ = ("records", "dead_letters")
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTERS_FIELD_NUMBER: _ClassVar[int]
    records: int
    dead_letters: int
    def __init__(self, records: _Optional[int] = ..., dead_letters: _Optional[int] = ...) -> None: ...

class AddOffsetsRequest(_message.Message):
    __slots__ = ("transaction", "group", "offsets", "member_id", "generation")
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    transaction: TransactionRef
    group: str
    offsets: _containers.RepeatedCompositeFieldContainer[_places_pb2.PartitionOffset]
    member_id: str
    generation: int
    def __init__(self, transaction: _Optional[_Union[TransactionRef, _Mapping]] = ..., group: _Optional[str] = ..., offsets: _Optional[_Iterable[_Union[_places_pb2.PartitionOffset, _Mapping]]] = ..., member_id: _Optional[str] = ..., generation: _Optional[int] = ...) -> None: ...

class AddOffsetsResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CommitTransactionRequest(_message.Message):
    __slots__ = ("transaction",)
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    transaction: TransactionRef
    def __init__(self, transaction: _Optional[_Union[TransactionRef, _Mapping]] = ...) -> None: ...

class CommitTransactionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AbortTransactionRequest(_message.Message):
    __slots__ = ("transaction",)
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    transaction: TransactionRef
    def __init__(self, transaction: _Optional[_Union[TransactionRef, _Mapping]] = ...) -> None: ...

class AbortTransactionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class BeginPartRequest(_message.Message):
    __slots__ = ("key", "timeout_ms")
    KEY_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    key: str
    timeout_ms: int
    def __init__(self, key: _Optional[str] = ..., timeout_ms: _Optional[int] = ...) -> None: ...

class BeginPartResponse(_message.Message):
    __slots__ = ("transaction", "timeout_ms", "deadline_ns")
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_NS_FIELD_NUMBER: _ClassVar[int]
    transaction: TransactionRef
    timeout_ms: int
    deadline_ns: int
    def __init__(self, transaction: _Optional[_Union[TransactionRef, _Mapping]] = ..., timeout_ms: _Optional[int] = ..., deadline_ns: _Optional[int] = ...) -> None: ...

class PreparePartRequest(_message.Message):
    __slots__ = ("transaction",)
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    transaction: TransactionRef
    def __init__(self, transaction: _Optional[_Union[TransactionRef, _Mapping]] = ...) -> None: ...

class PreparePartResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DecidePartsRequest(_message.Message):
    __slots__ = ("key", "transactions")
    KEY_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONS_FIELD_NUMBER: _ClassVar[int]
    key: str
    transactions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, key: _Optional[str] = ..., transactions: _Optional[_Iterable[int]] = ...) -> None: ...

class DecidePartsResponse(_message.Message):
    __slots__ = ("committed", "aborted", "decided_at_ns")
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    ABORTED_FIELD_NUMBER: _ClassVar[int]
    DECIDED_AT_NS_FIELD_NUMBER: _ClassVar[int]
    committed: _containers.RepeatedScalarFieldContainer[int]
    aborted: _containers.RepeatedScalarFieldContainer[int]
    decided_at_ns: int
    def __init__(self, committed: _Optional[_Iterable[int]] = ..., aborted: _Optional[_Iterable[int]] = ..., decided_at_ns: _Optional[int] = ...) -> None: ...

class ListTransactionsRequest(_message.Message):
    __slots__ = ("limit", "after", "hanging")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    HANGING_FIELD_NUMBER: _ClassVar[int]
    limit: int
    after: int
    hanging: bool
    def __init__(self, limit: _Optional[int] = ..., after: _Optional[int] = ..., hanging: _Optional[bool] = ...) -> None: ...

class ListTransactionsResponse(_message.Message):
    __slots__ = ("transactions", "total", "next_after")
    TRANSACTIONS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    NEXT_AFTER_FIELD_NUMBER: _ClassVar[int]
    transactions: _containers.RepeatedCompositeFieldContainer[Transaction]
    total: int
    next_after: int
    def __init__(self, transactions: _Optional[_Iterable[_Union[Transaction, _Mapping]]] = ..., total: _Optional[int] = ..., next_after: _Optional[int] = ...) -> None: ...

class GetTransactionRequest(_message.Message):
    __slots__ = ("transaction",)
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    transaction: int
    def __init__(self, transaction: _Optional[int] = ...) -> None: ...

class GetTransactionResponse(_message.Message):
    __slots__ = ("transaction",)
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    transaction: Transaction
    def __init__(self, transaction: _Optional[_Union[Transaction, _Mapping]] = ...) -> None: ...

class ForceAbortTransactionRequest(_message.Message):
    __slots__ = ("transaction",)
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    transaction: int
    def __init__(self, transaction: _Optional[int] = ...) -> None: ...

class ForceAbortTransactionResponse(_message.Message):
    __slots__ = ("transaction",)
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    transaction: Transaction
    def __init__(self, transaction: _Optional[_Union[Transaction, _Mapping]] = ...) -> None: ...

class Transaction(_message.Message):
    __slots__ = ("number", "state", "producer_id", "epoch", "transactional_id", "key", "began_ns", "deadline_ns", "age_ms", "timeout_ms", "hanging", "partitions", "pledges", "offsets", "ended_ns", "why")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_ID_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    BEGAN_NS_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_NS_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    HANGING_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    PLEDGES_FIELD_NUMBER: _ClassVar[int]
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    ENDED_NS_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    number: int
    state: TransactionState
    producer_id: int
    epoch: int
    transactional_id: str
    key: str
    began_ns: int
    deadline_ns: int
    age_ms: int
    timeout_ms: int
    hanging: bool
    partitions: _containers.RepeatedCompositeFieldContainer[HeldBack]
    pledges: _containers.RepeatedCompositeFieldContainer[PledgedRecords]
    offsets: _containers.RepeatedCompositeFieldContainer[PlannedOffset]
    ended_ns: int
    why: str
    def __init__(self, number: _Optional[int] = ..., state: _Optional[_Union[TransactionState, str]] = ..., producer_id: _Optional[int] = ..., epoch: _Optional[int] = ..., transactional_id: _Optional[str] = ..., key: _Optional[str] = ..., began_ns: _Optional[int] = ..., deadline_ns: _Optional[int] = ..., age_ms: _Optional[int] = ..., timeout_ms: _Optional[int] = ..., hanging: _Optional[bool] = ..., partitions: _Optional[_Iterable[_Union[HeldBack, _Mapping]]] = ..., pledges: _Optional[_Iterable[_Union[PledgedRecords, _Mapping]]] = ..., offsets: _Optional[_Iterable[_Union[PlannedOffset, _Mapping]]] = ..., ended_ns: _Optional[int] = ..., why: _Optional[str] = ...) -> None: ...

class HeldBack(_message.Message):
    __slots__ = ("topic", "partition", "records", "first_offset")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    FIRST_OFFSET_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    records: int
    first_offset: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., records: _Optional[int] = ..., first_offset: _Optional[int] = ...) -> None: ...

class PledgedRecords(_message.Message):
    __slots__ = ("group", "topic", "partition", "action", "records")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    group: str
    topic: str
    partition: int
    action: SettleAction
    records: int
    def __init__(self, group: _Optional[str] = ..., topic: _Optional[str] = ..., partition: _Optional[int] = ..., action: _Optional[_Union[SettleAction, str]] = ..., records: _Optional[int] = ...) -> None: ...

class PlannedOffset(_message.Message):
    __slots__ = ("group", "topic", "partition", "offset")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    group: str
    topic: str
    partition: int
    offset: int
    def __init__(self, group: _Optional[str] = ..., topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class GetTransactionStatsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetTransactionStatsResponse(_message.Message):
    __slots__ = ("open", "prepared", "committed", "aborted", "timed_out", "hanging", "oldest", "oldest_age_ms", "topics")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    PREPARED_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    ABORTED_FIELD_NUMBER: _ClassVar[int]
    TIMED_OUT_FIELD_NUMBER: _ClassVar[int]
    HANGING_FIELD_NUMBER: _ClassVar[int]
    OLDEST_FIELD_NUMBER: _ClassVar[int]
    OLDEST_AGE_MS_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    open: int
    prepared: int
    committed: int
    aborted: int
    timed_out: int
    hanging: int
    oldest: int
    oldest_age_ms: int
    topics: _containers.RepeatedCompositeFieldContainer[TopicHeldBack]
    def __init__(self, open: _Optional[int] = ..., prepared: _Optional[int] = ..., committed: _Optional[int] = ..., aborted: _Optional[int] = ..., timed_out: _Optional[int] = ..., hanging: _Optional[int] = ..., oldest: _Optional[int] = ..., oldest_age_ms: _Optional[int] = ..., topics: _Optional[_Iterable[_Union[TopicHeldBack, _Mapping]]] = ...) -> None: ...

class TopicHeldBack(_message.Message):
    __slots__ = ("topic", "behind", "most_behind", "partitions_behind", "aborted_records")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    BEHIND_FIELD_NUMBER: _ClassVar[int]
    MOST_BEHIND_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_BEHIND_FIELD_NUMBER: _ClassVar[int]
    ABORTED_RECORDS_FIELD_NUMBER: _ClassVar[int]
    topic: str
    behind: int
    most_behind: int
    partitions_behind: int
    aborted_records: int
    def __init__(self, topic: _Optional[str] = ..., behind: _Optional[int] = ..., most_behind: _Optional[int] = ..., partitions_behind: _Optional[int] = ..., aborted_records: _Optional[int] = ...) -> None: ...
