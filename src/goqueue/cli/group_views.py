"""Consumer groups as `goqueue group` prints them."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from goqueue.cli.output import print_table
from goqueue.cli.times import instant_text
from goqueue.wire.native.messages import GroupDescription, GroupSummary, OffsetChange

__all__ = [
    "as_facts",
    "group_facts",
    "group_line",
    "offset_changes",
    "print_group",
    "print_groups",
    "print_offset_changes",
    "print_policy",
]

Facts = dict[str, Any]

as_facts = msgspec.structs.asdict


def group_line(group: GroupSummary) -> Facts:
    return as_facts(group)


def group_facts(group: GroupDescription) -> Facts:
    """With names for everything: on the wire these are arrays."""
    members = [as_facts(one) | {"partitions": [str_of(part) for part in one.partitions]} for one in group.members]
    return as_facts(group) | {
        "lag": _lag(group),
        "delayed": _delayed(group),
        "members": members,
        "partitions": [as_facts(part) for part in group.partitions],
        "workers": [as_facts(worker) for worker in group.workers],
    }


def offset_changes(changes: Iterable[OffsetChange]) -> list[Facts]:
    return [as_facts(change) for change in changes]


def str_of(part: Any) -> str:
    return f"{part.topic}/{part.partition}"


def _lag(group: GroupDescription) -> int:
    return sum(part.lag for part in group.partitions)


def _delayed(group: GroupDescription) -> int:
    return sum(part.delayed for part in group.partitions)


def print_groups(lines: Sequence[Facts]) -> None:
    if not lines:
        print("there are no groups; `goqueue consume TOPIC --group NAME` begins one")
        return
    columns = ("group", "state", "protocol", "members", "workers", "lag", "delayed")
    rows = [[line[name] for name in columns] for line in lines]
    print_table("Groups", columns, rows, numbers="members,workers,lag,delayed", to_drop="protocol,delayed")


def print_group(group: GroupDescription) -> None:
    facts = {
        "group": group.group,
        "state": group.state + (", paused" if group.paused else ""),
        **({"paused by": group.pause_reason} if group.pause_reason else {}),
        "protocol": " ".join(filter(None, (group.protocol, group.assignor))),
        "generation": group.generation,
        "lag": _lag(group),
        **({"delayed": delayed} if (delayed := _delayed(group)) else {}),
        **({} if group.expires_at_ns is None else {"expires": instant_text(group.expires_at_ns)}),
    }
    for name, value in facts.items():
        print(f"{name:10}  {value}")
    if group.members:
        rows = [
            (one.member_id, one.client_id, one.instance_id, ", ".join(map(str_of, one.partitions)))
            for one in group.members
        ]
        print_table("Members", ("member", "client", "instance", "partitions"), rows)
    if group.workers:
        _print_workers(group)
    if group.partitions:
        parts = [
            (
                part.topic,
                part.partition,
                "none" if part.committed is None else part.committed,
                part.end,
                part.lag,
                part.delayed,
                part.member_id,
            )
            for part in group.partitions
        ]
        columns = ("topic", "partition", "committed", "end", "lag", "delayed", "member")
        print_table("Partitions", columns, parts, numbers="partition,committed,end,lag,delayed")


def _print_workers(group: GroupDescription) -> None:
    shown = len(group.workers)
    title = "Workers" if shown == group.worker_count else f"Workers ({shown} of {group.worker_count})"
    rows = [
        (
            one.consumer,
            one.protocol or "leases only",
            one.address,
            "" if one.since_ns is None else instant_text(one.since_ns),
            "" if one.in_flight is None else one.in_flight,
        )
        for one in group.workers
    ]
    print_table(title, ("worker", "protocol", "address", "since", "in flight"), rows, numbers="in flight")


def print_offset_changes(group: str, changes: Sequence[Facts], *, executed: bool) -> None:
    if not changes:
        print(f"{group} has committed nothing; name a topic with --topic")
        return
    rows = [
        (
            change["topic"],
            change["partition"],
            "none" if change["before"] is None else change["before"],
            change["after"],
            "" if change["before"] is None else f"{change['after'] - change['before']:+d}",
        )
        for change in changes
    ]
    columns = ("topic", "partition", "before", "after", "moves")
    print_table("Offsets", columns, rows, numbers="partition,before,after,moves")
    print(f"{group} goes on there" if executed else "nothing was changed; add --execute to do it")


def print_policy(policy: Facts) -> None:
    for name, value in policy.items():
        print(f"{name:22}  {'as the topic' if value is None else value}")
