"""Every error GoQueue can raise on purpose: a stable code, what happened, and what to do about it."""

from typing import ClassVar

__all__ = [
    "ERRORS_BY_CODE",
    "AlreadyDecided",
    "BrokerUnreachable",
    "BufferFull",
    "ClientClosed",
    "CompatibilityNotSet",
    "CorruptBatch",
    "DataFolderDamaged",
    "DataFolderInUse",
    "DecodingLimit",
    "DelayIsOver",
    "DiskFull",
    "GoQueueError",
    "GroupFull",
    "GroupNotEmpty",
    "IncompatibleSchema",
    "InconsistentProtocol",
    "InternalError",
    "InvalidCompatibilityLevel",
    "InvalidMode",
    "InvalidRecord",
    "InvalidRequest",
    "InvalidSchema",
    "InvalidSettings",
    "InvalidSubject",
    "InvalidVersion",
    "LogExists",
    "LogReadOnly",
    "MemberFenced",
    "ModeNotSet",
    "NotTransactional",
    "OffsetOutOfRange",
    "OperationNotPermitted",
    "OutOfOrderSequence",
    "ProducerFenced",
    "ReadFailed",
    "RecordTooLarge",
    "ReferenceExists",
    "RequestTimeout",
    "ScheduleExists",
    "SchemaIdMismatch",
    "SchemaMismatch",
    "SchemaTooLarge",
    "SchemaViolation",
    "StaleGeneration",
    "StorageBusy",
    "StorageFailed",
    "SubjectNotSoftDeleted",
    "SubjectSoftDeleted",
    "TopicExists",
    "TransactionConflict",
    "TransactionEnded",
    "UnknownDelay",
    "UnknownGroup",
    "UnknownLog",
    "UnknownMember",
    "UnknownPartition",
    "UnknownProducer",
    "UnknownReceipt",
    "UnknownRecord",
    "UnknownSchedule",
    "UnknownSchema",
    "UnknownSubject",
    "UnknownTopic",
    "UnknownTrace",
    "UnknownVersion",
    "VersionNotSoftDeleted",
    "VersionSoftDeleted",
]


class GoQueueError(Exception):
    """Base of the tree. `code` is part of the public contract: it never changes once released."""

    code: ClassVar[str] = "internal"
    default_hint: ClassVar[str | None] = None
    is_passing: ClassVar[bool] = False
    """Whether the same request may succeed later though nobody changed anything."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint if hint is not None else self.default_hint


class InvalidRequest(GoQueueError):
    """The caller asked for something that cannot be right."""

    code = "invalid_request"


class StateConflict(InvalidRequest):
    """The request is well formed, and does not go with what there is now: a later or an earlier one may succeed."""

    code = "state_conflict"


class InvalidSettings(GoQueueError):
    """A setting has no such name or value."""

    code = "invalid_settings"


class InvalidRecord(InvalidRequest):
    """A record given for encoding breaks the format."""

    code = "invalid_record"


class RecordTooLarge(InvalidRecord):
    """A key, value or header block is over its limit."""

    code = "record_too_large"


class CorruptBatch(InvalidRequest):
    """Bytes that should hold records do not."""

    code = "corrupt_batch"
    default_hint = "encode the records again and resend; if it repeats, the bytes are altered on the way"

    def __init__(self, message: str, *, position: int = 0, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.position = position


class OffsetOutOfRange(GoQueueError):
    """The offset is below the oldest record kept or beyond the end of the log."""

    code = "offset_out_of_range"
    default_hint = "start from the earliest or the latest offset"


class UnknownLog(GoQueueError):
    """No such partition log in this data folder."""

    code = "unknown_log"


class LogExists(GoQueueError):
    """A partition log of that name is there already."""

    code = "log_exists"


class UnknownTopic(GoQueueError):
    """No topic of that name."""

    code = "unknown_topic"
    default_hint = "create the topic first, or check the spelling against the list of topics"


class UnknownPartition(GoQueueError):
    """The topic has fewer partitions."""

    code = "unknown_partition"


class TopicExists(GoQueueError):
    """A topic of that name is there already."""

    code = "topic_exists"


class LogReadOnly(GoQueueError):
    """The partition refuses writes after a write or sync failed; reads go on."""

    code = "log_read_only"
    default_hint = "check the disk (dmesg, SMART), then restart the broker: recovery needs no help"


class StorageFailed(LogReadOnly):
    """The journal itself failed, so every partition of the node refuses writes."""

    code = "storage_failed"


class ReadFailed(GoQueueError):
    """The disk could not read records that are there. A small range that stays unreadable is skipped as damaged."""

    code = "read_failed"
    is_passing = True
    default_hint = "retry; if it repeats, check the disk (dmesg, SMART) and run `goqueue storage verify`"


class DiskFull(GoQueueError):
    """Writes are refused until there is room on the disk again."""

    code = "disk_full"
    is_passing = True
    default_hint = "free disk space or shorten retention; writes are accepted again by themselves"


class StorageBusy(GoQueueError):
    """The write buffer is full: the disk does not keep up."""

    code = "storage_busy"
    is_passing = True
    default_hint = "slow down and retry"


class DataFolderInUse(GoQueueError):
    """Another process holds the data folder."""

    code = "data_folder_in_use"
    default_hint = "stop the other process, or give this one a data folder of its own with --data"


class DataFolderDamaged(GoQueueError):
    """A file that recovery cannot do without is unreadable."""

    code = "data_folder_damaged"
    default_hint = "run `goqueue storage verify` on the folder, then `goqueue storage repair`"


class OutOfOrderSequence(GoQueueError):
    """A producer's batch does not follow the one before it."""

    code = "out_of_order_sequence"
    default_hint = "send the batches of a partition in order; after a lost one, start a new producer"


class ProducerFenced(GoQueueError):
    """A newer instance of the same producer has taken over."""

    code = "producer_fenced"
    default_hint = "stop this instance: another one with the same identity is at work"


class UnknownProducer(GoQueueError):
    """The producer id was never given out here."""

    code = "unknown_producer"
    default_hint = "ask for a producer id first"


class InternalError(GoQueueError):
    """A bug in the broker; the log has the details."""

    code = "internal"
    default_hint = "please report it with the broker's log"


class BrokerUnreachable(GoQueueError):
    """No connection to the broker, or it was lost."""

    code = "broker_unreachable"
    is_passing = True
    default_hint = "start one with `goqueue server`, or check the address"


class BufferFull(GoQueueError):
    """The producer's buffer is full: records are sent faster than the broker takes them."""

    code = "buffer_full"
    is_passing = True
    default_hint = "wait and send again, or let the producer block when its buffer is full"


class RequestTimeout(GoQueueError):
    """No answer in time. The request may or may not have been carried out."""

    code = "request_timeout"
    is_passing = True


class ClientClosed(GoQueueError):
    """The producer, consumer or admin client has been closed."""

    code = "client_closed"


class UnknownGroup(GoQueueError):
    """No consumer group of that name."""

    code = "unknown_group"
    default_hint = "a group begins to exist with its first member or committed offset; check the list of groups"


class UnknownMember(GoQueueError):
    """The group has no such member: it never joined, it left, or it was removed for being silent."""

    code = "unknown_member"
    default_hint = "join the group again"


class StaleGeneration(GoQueueError):
    """The request comes from before the group's last rebalance."""

    code = "stale_generation"
    default_hint = "stop reading, join the group again and go on with what is assigned then"


class MemberFenced(GoQueueError):
    """The partition, or the member's place in the group, belongs to another one by now."""

    code = "member_fenced"
    default_hint = "drop the work in hand: its new owner does it"


class GroupNotEmpty(GoQueueError):
    """The change needs a group without members."""

    code = "group_not_empty"
    default_hint = "stop the group's consumers first, or wait until their sessions have expired"


class GroupFull(GoQueueError):
    """The group takes no more members."""

    code = "group_full"
    default_hint = "stop consumers that are not needed, or spread them over several groups"


class InconsistentProtocol(GoQueueError):
    """The member asks for another protocol or assignor than the group's members use."""

    code = "inconsistent_protocol"
    default_hint = "use the same protocol and assignor in every member, or stop all of them before changing it"


class UnknownSchedule(GoQueueError):
    """There is no schedule of that id."""

    code = "unknown_schedule"
    default_hint = "check the spelling against the list of schedules"


class ScheduleExists(GoQueueError):
    """A schedule of that id is there already."""

    code = "schedule_exists"
    default_hint = "change it, or choose another id for the new one"


class UnknownRecord(GoQueueError):
    """There is no such record in the log, and no span of one in memory."""

    code = "unknown_record"
    default_hint = "check the topic and the offset, key or id; older spans are in the span files, if there are any"


class UnknownTrace(GoQueueError):
    """No span of the trace is in memory."""

    code = "unknown_trace"
    default_hint = "records are sampled and memory is limited: look in the span files, or ask where the record is"


class UnknownDelay(GoQueueError):
    """The record was never delayed, or is not in the log any more."""

    code = "unknown_delay"
    default_hint = "look for it in the list of the topic's delayed records"


class DelayIsOver(GoQueueError):
    """The delayed record has been delivered or cancelled already."""

    code = "delay_is_over"
    default_hint = "only a record that is pending can be changed"


class UnknownReceipt(GoQueueError):
    """Nothing is leased under this receipt: it was never given out, or its time is up."""

    code = "unknown_receipt"
    default_hint = "the record is delivered again; extend the lease of work that takes long"


class InvalidSchema(InvalidRequest):
    """The text is not a schema of its format, or one that it refers to is missing."""

    code = "invalid_schema"
    default_hint = "correct the schema at the place named, and check it with the tools of its format"


class SchemaTooLarge(InvalidSchema):
    """The text of a schema is over its limit."""

    code = "schema_too_large"
    default_hint = "split it into several schemas that refer to each other"


class SchemaViolation(InvalidRecord):
    """A value does not fit the schema of its topic."""

    code = "schema_violation"
    default_hint = "publish what fits a schema of the subject, or set schema_validation of the topic to off"


class SchemaMismatch(InvalidRecord):
    """A client cannot write a value with its schema, or read bytes into one; `path` says where, if that is known."""

    code = "schema_mismatch"
    default_hint = "compare both schemas, for instance with `goqueue schema diff`"

    def __init__(self, message: str, *, path: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.path = path


class DecodingLimit(SchemaMismatch):
    """Decoding the bytes of a value would take more memory, or more levels of nesting, than is allowed."""

    code = "decoding_limit"
    default_hint = "read the value as bytes, and look at who published it: ordinary values do not come near the limit"


class SchemaIdMismatch(InvalidRequest):
    """The schema that is to be imported under an id is there already, under another one."""

    code = "schema_id_mismatch"
    default_hint = "import into an empty registry, or use the id that the schema has here"


class InvalidSubject(InvalidRequest):
    """The name of a subject is not one."""

    code = "invalid_subject"
    default_hint = "a subject has a name of 1 to 249 printable characters"


class InvalidVersion(InvalidRequest):
    """The version asked for is not a number of one."""

    code = "invalid_version"
    default_hint = "give a number from 1 to 2147483647, or latest"


class InvalidCompatibilityLevel(InvalidRequest):
    """There is no such compatibility level."""

    code = "invalid_compatibility_level"


class InvalidMode(InvalidRequest):
    """There is no such mode of the registry."""

    code = "invalid_mode"


class IncompatibleSchema(GoQueueError):
    """The schema breaks the compatibility that its subject promises; `reasons` says where and why."""

    code = "incompatible_schema"
    default_hint = "give fields that come or go a default, or set another compatibility level for the subject"

    def __init__(self, message: str, *, reasons: tuple[str, ...] = (), hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reasons = reasons


class OperationNotPermitted(GoQueueError):
    """The mode of the registry or of the subject does not allow it."""

    code = "operation_not_permitted"
    default_hint = "set another mode first"


class ReferenceExists(GoQueueError):
    """The schema cannot go while others refer to it."""

    code = "reference_exists"
    default_hint = "delete the schemas that refer to it first"


class UnknownSubject(GoQueueError):
    """No schema was registered under this subject, or all were deleted."""

    code = "unknown_subject"
    default_hint = "check the spelling against the list of subjects"


class UnknownVersion(GoQueueError):
    """The subject has no such version."""

    code = "unknown_version"
    default_hint = "check the list of the subject's versions"


class UnknownSchema(GoQueueError):
    """There is no such schema, or the subject does not have it."""

    code = "unknown_schema"


class SubjectSoftDeleted(GoQueueError):
    """The subject has been deleted already, though not permanently."""

    code = "subject_soft_deleted"
    default_hint = "delete it permanently, if it is to go for good"


class SubjectNotSoftDeleted(GoQueueError):
    """Only what has been deleted can be deleted permanently."""

    code = "subject_not_soft_deleted"
    default_hint = "delete the subject first, then delete it permanently"


class VersionSoftDeleted(GoQueueError):
    """The version has been deleted already, though not permanently."""

    code = "version_soft_deleted"
    default_hint = "delete it permanently, if it is to go for good"


class VersionNotSoftDeleted(GoQueueError):
    """Only what has been deleted can be deleted permanently."""

    code = "version_not_soft_deleted"
    default_hint = "delete the version first, then delete it permanently"


class CompatibilityNotSet(GoQueueError):
    """The subject has no configuration of its own; the global one holds."""

    code = "compatibility_not_set"
    default_hint = "ask for the global configuration, or for the one in effect"


class ModeNotSet(GoQueueError):
    """The subject has no mode of its own; the global one holds."""

    code = "mode_not_set"
    default_hint = "ask for the global mode, or for the one in effect"


class NotTransactional(GoQueueError):
    """The producer has no transactional id, so it cannot begin a transaction."""

    code = "not_transactional"
    default_hint = "ask for a producer id with a transactional_id"


class UnknownTransaction(GoQueueError):
    """There was no such transaction, it is another producer's, or it ended long ago."""

    code = "unknown_transaction"
    default_hint = "begin another transaction; what was not committed did not take effect"


class TransactionEnded(GoQueueError):
    """The transaction was committed or aborted already, perhaps because its time was up."""

    code = "transaction_ended"
    default_hint = "begin another transaction"


class TransactionConflict(GoQueueError):
    """Another transaction, or the state that this one is in, stands against it."""

    code = "transaction_conflict"


class AlreadyDecided(GoQueueError):
    """What belongs to the larger transaction was decided before, in another way."""

    code = "already_decided"
    default_hint = "drop this work: the decision stands, and what it left out did not take effect"


def _tree(kind: type[GoQueueError]) -> dict[str, type[GoQueueError]]:
    found = {kind.code: kind}
    for child in kind.__subclasses__():
        found |= _tree(child)
    return found


ERRORS_BY_CODE = _tree(GoQueueError)
"""Every class by its code, to raise on the client what the broker raised."""
