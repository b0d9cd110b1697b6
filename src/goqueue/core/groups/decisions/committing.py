"""Commit decisions: offsets that a group commits."""

from collections.abc import Mapping

import msgspec

from goqueue.core.groups.events import GroupEvent, OffsetsCommitted, PartitionOffset
from goqueue.core.groups.state.ledger import Ledger
from goqueue.core.groups.state.members import Member
from goqueue.errors import GroupNotEmpty, InvalidRequest, MemberFenced
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId

__all__ = ["LONGEST_METADATA", "OffsetAndMetadata", "check_empty", "check_holds", "commit"]

LONGEST_METADATA = 4096


class OffsetAndMetadata(msgspec.Struct, frozen=True):
    """The next offset to read, and a note of the consumer."""

    offset: int
    metadata: str = ""


def commit(ledger: Ledger, offsets: Mapping[LogId, OffsetAndMetadata], *, now: InstantNs) -> list[GroupEvent]:
    """One event for the offsets that changed: an idle consumer writes nothing."""
    changed = []
    for partition, wanted in sorted(offsets.items()):
        if wanted.offset < 0:
            raise InvalidRequest(f"the offset {wanted.offset} for {partition}", hint="offsets count from 0")
        if len(wanted.metadata) > LONGEST_METADATA:
            raise InvalidRequest(
                f"metadata of {len(wanted.metadata)} characters for {partition}",
                hint=f"use at most {LONGEST_METADATA}",
            )
        known = ledger.offsets.get(partition)
        if known is None or (known.offset, known.metadata) != (wanted.offset, wanted.metadata):
            changed.append(PartitionOffset(*partition, wanted.offset, wanted.metadata))
    return [OffsetsCommitted(now, tuple(changed))] if changed else []


def check_holds(ledger: Ledger, member: Member, offsets: Mapping[LogId, OffsetAndMetadata]) -> None:
    """A member may commit while it has the partition, also when it is asked to give it up."""
    held = ledger.reconciliation.held.of(member.profile.member_id)
    lost = [str(partition) for partition in sorted(offsets) if partition not in held]
    if lost:
        shown = ", ".join(lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
        raise MemberFenced(f"{member.profile.member_id} does not own {shown}; nothing was committed")


def check_empty(ledger: Ledger, what: str) -> None:
    if len(ledger.roster):
        raise GroupNotEmpty(f"the group {ledger.name} has {len(ledger.roster)} members, so {what}")
