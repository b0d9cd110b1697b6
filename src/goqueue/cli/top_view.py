"""How `goqueue top` looks: a head, topics, groups; as many lines as there is room for."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from goqueue.cli.fitting_table import FittingTable
from goqueue.cli.times import bytes_text
from goqueue.cli.top_figures import Frame, GroupLine, TopicLine

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Sorting", "render"]

MB = 1e6
KEYS = "q quit   s sort   ↑ ↓ scroll"
LANE_NAMES = ("crit", "high", "norm", "low", "bg")
TOPIC_COLUMNS_TO_DROP = ("parts", "MB/s", "size", "failed/s", "delayed", "dead", "records")
"""Where the terminal is narrow, in this order; rates stay."""
GROUP_COLUMNS_TO_DROP = (
    "bg",
    "low",
    "crit",
    "high",
    "norm",
    "delayed",
    "members",
    "workers",
    "oldest",
    "retrying",
    "done/s",
)

Line = TypeVar("Line", TopicLine, GroupLine)


class Sorting(StrEnum):
    NAME = "name"
    IN = "in"
    OUT = "out"
    LAG = "lag"


_TOPIC_ORDER: dict[Sorting, Callable[[TopicLine], float]] = {
    Sorting.IN: lambda line: -line.in_per_s,
    Sorting.OUT: lambda line: -line.out_per_s,
    Sorting.LAG: lambda line: -line.records,
}
_GROUP_ORDER: dict[Sorting, Callable[[GroupLine], float]] = {
    Sorting.IN: lambda line: -line.in_flight,
    Sorting.OUT: lambda line: -line.done_per_s,
    Sorting.LAG: lambda line: -line.lag,
}


def render(
    frame: Frame | None, where: str, trouble: str | None, *, sorting: Sorting, skip: int = 0, room: int | None = None
) -> "RenderableType":
    """`room` is how many lines of topics and of groups fit; None for all."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    if trouble is not None:
        parts.append(Text(f"{trouble}; trying again", style="bold red"))
    if frame is None:
        parts.append(Text(f"asking {where} …"))
        return Group(*parts)
    parts += [Text(line) for line in _head(frame, where)]
    topics = _cut(frame.topics, _TOPIC_ORDER.get(sorting), skip, room)
    groups = _cut(frame.groups, _GROUP_ORDER.get(sorting), skip, room)
    parts += [_topic_table(topics, len(frame.topics)), _group_table(groups, len(frame.groups))]
    if room is not None:
        parts.append(Text(f"{KEYS}   by {sorting.value}", style="dim"))
    return Group(*parts)


def _cut(lines: Sequence[Line], order: Callable[[Line], float] | None, skip: int, room: int | None) -> Sequence[Line]:
    ordered = sorted(lines, key=order) if order else lines
    if room is None:
        return ordered
    first = min(skip, max(0, len(ordered) - room))
    return ordered[first : first + room]


def _head(frame: Frame, where: str) -> list[str]:
    up = timedelta(seconds=round(frame.up_s))
    return [
        f"{where}   GoQueue {frame.version}   up {up}   {frame.connections} connections   "
        f"memory {bytes_text(frame.memory_bytes)}   disk {frame.disk_used_share:.0%} used",
        f"in {frame.in_per_s:,.0f}/s, {frame.bytes_in_per_s / MB:,.2f} MB/s   "
        f"out {frame.out_per_s:,.0f}/s, {frame.bytes_out_per_s / MB:,.2f} MB/s   "
        f"requests {frame.requests_per_s:,.0f}/s",
    ]


def _topic_table(lines: Sequence[TopicLine], total: int) -> "RenderableType":
    rows = [
        (
            line.topic,
            f"{line.partitions}",
            f"{line.records:,}",
            bytes_text(line.bytes),
            f"{line.in_per_s:,.1f}",
            f"{line.bytes_in_per_s / MB:,.2f}",
            f"{line.out_per_s:,.1f}",
            f"{line.failed_per_s:,.1f}",
            f"{line.delayed:,}",
            f"{line.dead_letters:,}",
        )
        for line in lines
    ]
    columns = ("topic", "parts", "records", "size", "in/s", "MB/s", "out/s", "failed/s", "delayed", "dead")
    return FittingTable(f"Topics {len(lines)} of {total}", columns, rows, 1, TOPIC_COLUMNS_TO_DROP)


def _group_table(lines: Sequence[GroupLine], total: int) -> "RenderableType":
    rows = [
        (
            line.group + (" (paused)" if line.paused else ""),
            line.topic,
            f"{line.members}",
            f"{line.workers}",
            f"{line.lag:,}",
            f"{line.delayed:,}",
            f"{line.in_flight:,}",
            f"{line.retrying:,}",
            f"{line.done_per_s:,.1f}",
            "" if not line.oldest_s else f"{timedelta(seconds=round(line.oldest_s))}",
            *([""] * len(LANE_NAMES) if line.lanes is None else [f"{count:,}" for count in line.lanes]),
        )
        for line in lines
    ]
    columns = (
        "group",
        "topic",
        "members",
        "workers",
        "lag",
        "delayed",
        "in flight",
        "retrying",
        "done/s",
        "oldest",
        *LANE_NAMES,
    )
    return FittingTable(f"Groups {len(lines)} of {total}", columns, rows, 2, GROUP_COLUMNS_TO_DROP)
