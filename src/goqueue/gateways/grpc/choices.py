"""Enums of the protocol as what they stand for."""

from typing import Literal

from goqueue.core.groups.assignment.assignors import Assignor
from goqueue.core.groups.state.members import Protocol
from goqueue.errors import InvalidRequest
from goqueue.gateways.grpc.forms.enums import text_of
from goqueue.model.isolation import Isolation
from goqueue.model.topic import Durability
from goqueue.wire.grpc.v1 import groups_pb2
from goqueue.wire.grpc.v1 import records_pb2 as wire

__all__ = ["assignor_of", "durability_of", "isolation_of", "protocol_of", "start_of", "wants_typed"]

_DURABILITIES = {
    wire.DURABILITY_UNSPECIFIED: None,
    wire.DURABILITY_FSYNC: Durability.FSYNC,
    wire.DURABILITY_MEMORY: Durability.MEMORY,
}
_ISOLATIONS = {
    wire.ISOLATION_UNSPECIFIED: Isolation.COMMITTED,
    wire.ISOLATION_COMMITTED: Isolation.COMMITTED,
    wire.ISOLATION_UNCOMMITTED: Isolation.UNCOMMITTED,
}


def durability_of(number: wire.Durability) -> Durability | None:
    """None for what the topic says."""
    try:
        return _DURABILITIES[number]
    except KeyError:
        raise InvalidRequest(f"there is no durability {number}", hint="use fsync (1) or memory (2)") from None


def isolation_of(number: wire.Isolation) -> Isolation:
    try:
        return _ISOLATIONS[number]
    except KeyError:
        raise InvalidRequest(f"there is no isolation {number}", hint="use committed (1) or uncommitted (2)") from None


def wants_typed(number: wire.RecordForm) -> bool:
    """Whether records are wanted one by one, and not as bytes."""
    if number not in (wire.RECORD_FORM_UNSPECIFIED, wire.RECORD_FORM_BYTES, wire.RECORD_FORM_TYPED):
        raise InvalidRequest(f"there is no form of records {number}", hint="use bytes (1) or typed (2)")
    return number == wire.RECORD_FORM_TYPED


def start_of(number: wire.StartPoint) -> Literal["earliest", "latest"]:
    if number not in (wire.START_POINT_UNSPECIFIED, wire.START_POINT_EARLIEST, wire.START_POINT_LATEST):
        raise InvalidRequest(f"there is no start {number}", hint="use earliest (1) or latest (2)")
    return "latest" if number == wire.START_POINT_LATEST else "earliest"


def protocol_of(number: groups_pb2.GroupProtocol) -> Protocol:
    if number == groups_pb2.GROUP_PROTOCOL_UNSPECIFIED:
        return Protocol.COOPERATIVE
    return Protocol(text_of(groups_pb2.GroupProtocol.DESCRIPTOR, number))


def assignor_of(number: groups_pb2.Assignor) -> Assignor | None:
    """None for the one that the group has."""
    if number == groups_pb2.ASSIGNOR_UNSPECIFIED:
        return None
    return Assignor(text_of(groups_pb2.Assignor.DESCRIPTOR, number))
