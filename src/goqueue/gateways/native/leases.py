"""Leases as native requests name them: checked together before anything is done, then read one by one."""

from collections.abc import Sequence

from goqueue.engine.queue.by_lease import check_runs
from goqueue.engine.queue.settle import Lease, offsets_of
from goqueue.errors import InvalidRequest
from goqueue.model.log import LogId
from goqueue.wire.native.messages import LeasedRecords
from goqueue.wire.native.packed_offsets import OFFSET_BYTES, unpacked_offsets

__all__ = ["check_leases", "lease_of"]


def check_leases(leases: Sequence[LeasedRecords]) -> None:
    """That they name records, and not too many."""
    packed = 0
    for given in leases:
        if len(given.packed) % OFFSET_BYTES:
            raise InvalidRequest(
                f"packed offsets of {len(given.packed)} bytes", hint=f"give {OFFSET_BYTES} bytes for each of them"
            )
        packed += len(given.packed) // OFFSET_BYTES
    check_runs((given.runs for given in leases), packed)


def lease_of(group: str, given: LeasedRecords) -> Lease:
    """One that was checked; raises UnknownReceipt for offsets that no record can have."""
    offsets = offsets_of(given.runs, unpacked_offsets(given.packed))
    return Lease(group, LogId(given.topic, given.partition), given.grant, given.token, offsets)
