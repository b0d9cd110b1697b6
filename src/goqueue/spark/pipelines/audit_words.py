"""What an audit may claim: of every check, whether it is proven, violated or open, and in which words exactly."""

from collections.abc import Mapping as Counts
from collections.abc import Sequence

import msgspec

from goqueue.model.topic import Cleanup, Durability, TopicConfig
from goqueue.spark.pipelines.audit_copy import Mapping
from goqueue.spark.pipelines.audit_group import GroupProgress
from goqueue.spark.pipelines.ledger import ABORTED, DELAYED, MARKER, MISSING, RECORD
from goqueue.spark.pipelines.stretches import Stretch

__all__ = [
    "OPEN",
    "PROVEN",
    "VIOLATED",
    "Finding",
    "copy_finding",
    "copy_order_finding",
    "group_finding",
    "ids_finding",
    "log_finding",
    "order_finding",
    "verdict_of",
]

PROVEN, VIOLATED, OPEN = "proven", "violated", "open"


class Finding(msgspec.Struct, frozen=True):
    check: str
    verdict: str
    says: str
    limits: tuple[str, ...] = ()
    """What this does not say."""
    violations: int = 0


def verdict_of(findings: Sequence[Finding]) -> str:
    found = {one.verdict for one in findings}
    return next((one for one in (VIOLATED, OPEN) if one in found), PROVEN)


def log_finding(config: TopicConfig, states: Counts[tuple[int, str], int], stretch: Stretch) -> Finding:
    """Every offset that the broker gave out must hold something."""
    sums = {
        state: sum(count for (_, one), count in states.items() if one == state)
        for state in (RECORD, MARKER, ABORTED, DELAYED, MISSING)
    }
    gone = sums[MISSING]
    said = (
        f"{sums[RECORD]:,} records, {sums[MARKER]:,} markers of transactions, {sums[ABORTED]:,} aborted records, "
        f"{sums[DELAYED]:,} delayed or cancelled records"
    )
    limits = []
    begun = [str(partition) for partition, first in stretch.starts.items() if first > 0]
    if begun:
        limits.append(
            f"what was before the stretch in partition {', '.join(begun)}, be it removed or left out, is not looked at"
        )
    if config.durability is Durability.MEMORY:
        limits.append(
            "the topic confirms before the disk has a record: those lost with the power leave no gap behind, as their "
            "offsets are given out again"
        )
    limits.append("records that a producer never got confirmed have no offset, and cannot be missed here")
    if gone and config.cleanup is not Cleanup.DELETE:
        limits.insert(0, "whether the offsets that are gone were removed by compaction alone cannot be known")
        says = f"{gone:,} offsets are gone from a compacted topic; the others hold {said}"
        return Finding("log", OPEN, says, tuple(limits))
    if gone:
        says = f"{gone:,} offsets hold nothing: damaged, or removed by hand; the others hold {said}"
        return Finding("log", VIOLATED, says, tuple(limits), gone)
    return Finding("log", PROVEN, f"every offset of the stretch is accounted for: {said}", tuple(limits))


def ids_finding(by: str, kinds: Counts[str, int], records: int, with_id: int, redriven: int) -> Finding:
    limits = [f"{records - with_id:,} records have no {by}, and may be anything"] if with_id < records else []
    if redriven:
        limits.append(
            f"{redriven:,} were sent back from the dead letters with the {by} they had: told apart by their letters"
        )
    if kinds:
        says = f"{sum(kinds.values()):,} records have the {by} of an earlier one"
        return Finding("ids", VIOLATED, says, tuple(limits), sum(kinds.values()))
    if with_id == 0:
        return Finding("ids", OPEN, f"no record has a {by}", tuple(limits))
    return Finding("ids", PROVEN, f"{with_id:,} records, each with a {by} of its own", tuple(limits))


def order_finding(
    kinds: Counts[str, int], records: int, numbered: int, split: int, redriven: int, dense: bool
) -> Finding:
    limits = []
    if numbered + redriven < records:
        limits.append(f"{records - redriven - numbered:,} records have no key or no number, and are left out")
    if redriven:
        limits.append(f"{redriven:,} were sent back from the dead letters, out of their turn, and are left out")
    if split:
        limits.append(f"{split:,} keys lie in several partitions, between which there is no order to check")
    if not dense:
        limits.append("numbers that are missing are not looked for")
    if kinds:
        said = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
        return Finding(
            "order", VIOLATED, f"not in the order of their numbers: {said}", tuple(limits), sum(kinds.values())
        )
    rising = "rise by one" if dense else "rise"
    says = f"the numbers of {numbered:,} records {rising} with the offset, for each key and partition"
    return Finding("order", OPEN if split or not numbered else PROVEN, says, tuple(limits))


def copy_finding(
    copy: str, mapping: Mapping, kinds: Counts[str, int], records: int, unlinked: Sequence[int]
) -> Finding:
    limits = []
    ours, theirs = unlinked
    if ours:
        limits.append(f"{ours:,} records of the source cannot be told by {mapping}: of these nothing is known")
    if theirs:
        limits.append(f"{theirs:,} records of the copy cannot be told by {mapping}, and are left out")
    if mapping in (Mapping.ID, Mapping.REPLAYED_FROM):
        limits.append("that values are the same is not looked at: records are told by what they say they are")
    if kinds:
        said = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
        return Finding("copy", VIOLATED, f"{copy} differs: {said}", tuple(limits), sum(kinds.values()))
    linked = records - ours
    times = "as often as in the source" if mapping is Mapping.CONTENT else "once"
    says = f"{linked:,} records of the source are in {copy}, each of them {times}, and no others of them"
    return Finding("copy", OPEN if ours or not linked else PROVEN, says, tuple(limits))


def copy_order_finding(has_order: bool, kinds: Counts[str, int]) -> Finding:
    if not has_order:
        return Finding("copy order", OPEN, "the rows of a table have no order")
    limits = ("records that are not exactly once in both, or have no key, are left out",)
    if kinds:
        count = sum(kinds.values())
        says = f"{count:,} records come behind one of their key that was written later"
        return Finding("copy order", VIOLATED, says, limits, count)
    return Finding("copy order", PROVEN, "within a partition, records of a key are in the order of the source", limits)


def group_finding(
    group: str, progress: Sequence[GroupProgress], kinds: Counts[str, int], left: int, dead: Counts[str, int]
) -> Finding:
    limits = [
        "that a record was acknowledged is the consumer's word: what it did with it is not in the log",
        "a record may have been delivered more than once before it was acknowledged",
    ]
    given_up = ", ".join(f"{count:,} {cause}" for cause, count in sorted(dead.items()))
    ended = f"; of all, {given_up} ended as dead letters" if dead else "; none of the stretch ended as a dead letter"
    if kinds:
        said = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
        return Finding("group", VIOLATED, f"{group}: {said}{ended}", tuple(limits), sum(kinds.values()))
    if left:
        limits.insert(0, "which of them are acknowledged out of turn, the broker does not say")
        behind = sum(1 for one in progress if one.committed is None or one.committed < one.end)
        says = f"{left:,} records in {behind:,} partitions are not below what {group} has committed{ended}"
        return Finding("group", OPEN, says, tuple(limits))
    return Finding("group", PROVEN, f"{group} is done with every record of the stretch{ended}", tuple(limits))
