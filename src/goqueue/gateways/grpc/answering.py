"""Errors on their way out: the one place where their codes become gRPC statuses."""

import grpc
from google.protobuf import any_pb2
from google.rpc import status_pb2

from goqueue.engine.traffic import FAILED, OK, REFUSED
from goqueue.errors import GoQueueError
from goqueue.wire.grpc.v1 import errors_pb2

__all__ = [
    "CODE_KEY",
    "LONGEST_MESSAGE",
    "STATUS_BY_CODE",
    "Refusal",
    "Refused",
    "Trailer",
    "detail_of",
    "outcome_of",
    "status_of",
    "trailer_of",
]

CODE_KEY = "goqueue-code"
"""Metadata behind the answer: the error's stable code, for clients that do not read details."""
DETAILS_KEY = "grpc-status-details-bin"
LONGEST_MESSAGE = 1024
"""Trailers have to fit into what clients take for metadata, 8 KiB unless they say otherwise."""

_Status = grpc.StatusCode
STATUS_BY_CODE = {
    "already_decided": _Status.FAILED_PRECONDITION,
    "broker_unreachable": _Status.UNAVAILABLE,
    "buffer_full": _Status.UNAVAILABLE,
    "client_closed": _Status.UNAVAILABLE,
    "compatibility_not_set": _Status.NOT_FOUND,
    "corrupt_batch": _Status.INVALID_ARGUMENT,
    "data_folder_damaged": _Status.UNAVAILABLE,
    "data_folder_in_use": _Status.UNAVAILABLE,
    "decoding_limit": _Status.INVALID_ARGUMENT,
    "delay_is_over": _Status.FAILED_PRECONDITION,
    "disk_full": _Status.RESOURCE_EXHAUSTED,
    "group_full": _Status.FAILED_PRECONDITION,
    "group_not_empty": _Status.FAILED_PRECONDITION,
    "incompatible_schema": _Status.FAILED_PRECONDITION,
    "inconsistent_protocol": _Status.FAILED_PRECONDITION,
    "internal": _Status.INTERNAL,
    "invalid_compatibility_level": _Status.INVALID_ARGUMENT,
    "invalid_mode": _Status.INVALID_ARGUMENT,
    "invalid_record": _Status.INVALID_ARGUMENT,
    "invalid_request": _Status.INVALID_ARGUMENT,
    "invalid_schema": _Status.INVALID_ARGUMENT,
    "invalid_settings": _Status.INVALID_ARGUMENT,
    "invalid_subject": _Status.INVALID_ARGUMENT,
    "invalid_version": _Status.INVALID_ARGUMENT,
    "log_exists": _Status.ALREADY_EXISTS,
    "log_read_only": _Status.UNAVAILABLE,
    "member_fenced": _Status.ABORTED,
    "mode_not_set": _Status.NOT_FOUND,
    "not_transactional": _Status.FAILED_PRECONDITION,
    "offset_out_of_range": _Status.OUT_OF_RANGE,
    "operation_not_permitted": _Status.FAILED_PRECONDITION,
    "out_of_order_sequence": _Status.FAILED_PRECONDITION,
    "producer_fenced": _Status.FAILED_PRECONDITION,
    "record_too_large": _Status.INVALID_ARGUMENT,
    "reference_exists": _Status.FAILED_PRECONDITION,
    "request_timeout": _Status.DEADLINE_EXCEEDED,
    "schedule_exists": _Status.ALREADY_EXISTS,
    "schema_id_mismatch": _Status.FAILED_PRECONDITION,
    "schema_mismatch": _Status.INVALID_ARGUMENT,
    "schema_too_large": _Status.INVALID_ARGUMENT,
    "schema_violation": _Status.INVALID_ARGUMENT,
    "stale_generation": _Status.ABORTED,
    "state_conflict": _Status.FAILED_PRECONDITION,
    "storage_busy": _Status.UNAVAILABLE,
    "storage_failed": _Status.UNAVAILABLE,
    "read_failed": _Status.UNAVAILABLE,
    "subject_not_soft_deleted": _Status.FAILED_PRECONDITION,
    "subject_soft_deleted": _Status.FAILED_PRECONDITION,
    "topic_exists": _Status.ALREADY_EXISTS,
    "transaction_conflict": _Status.ABORTED,
    "transaction_ended": _Status.FAILED_PRECONDITION,
    "unknown_delay": _Status.NOT_FOUND,
    "unknown_group": _Status.NOT_FOUND,
    "unknown_log": _Status.NOT_FOUND,
    "unknown_member": _Status.NOT_FOUND,
    "unknown_partition": _Status.NOT_FOUND,
    "unknown_producer": _Status.NOT_FOUND,
    "unknown_receipt": _Status.NOT_FOUND,
    "unknown_record": _Status.NOT_FOUND,
    "unknown_schedule": _Status.NOT_FOUND,
    "unknown_schema": _Status.NOT_FOUND,
    "unknown_subject": _Status.NOT_FOUND,
    "unknown_topic": _Status.NOT_FOUND,
    "unknown_trace": _Status.NOT_FOUND,
    "unknown_transaction": _Status.NOT_FOUND,
    "unknown_version": _Status.NOT_FOUND,
    "version_not_soft_deleted": _Status.FAILED_PRECONDITION,
    "version_soft_deleted": _Status.FAILED_PRECONDITION,
}
"""A test checks that none is missing."""

FAULTS = frozenset({_Status.INTERNAL, _Status.UNAVAILABLE, _Status.RESOURCE_EXHAUSTED})
"""The broker could not do what it should be able to."""

Trailer = tuple[tuple[str, str | bytes], ...]


class Refusal(Exception):
    """A call that is refused for how it is sent, or when, before anybody looks at what it asks for."""

    def __init__(
        self, status: grpc.StatusCode, code: str, message: str, *, hint: str = "", is_passing: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint
        self.is_passing = is_passing


Refused = GoQueueError | Refusal


def status_of(refused: Refused) -> grpc.StatusCode:
    return refused.status if isinstance(refused, Refusal) else STATUS_BY_CODE[refused.code]


def detail_of(refused: Refused) -> errors_pb2.ErrorDetail:
    return errors_pb2.ErrorDetail(
        code=refused.code,
        message=refused.message[:LONGEST_MESSAGE],
        hint=(refused.hint or "")[:LONGEST_MESSAGE],
        retryable=refused.is_passing,
    )


def trailer_of(refused: Refused) -> Trailer:
    """What goes behind an answer that is an error."""
    detail = any_pb2.Any()
    detail.Pack(detail_of(refused))
    number: int = status_of(refused).value[0]
    status = status_pb2.Status(code=number, message=refused.message[:LONGEST_MESSAGE], details=[detail])
    return ((CODE_KEY, refused.code), (DETAILS_KEY, status.SerializeToString()))


def outcome_of(refused: Refused | None) -> str:
    """As the listener counts it."""
    if refused is None:
        return OK
    return FAILED if status_of(refused) in FAULTS else REFUSED
