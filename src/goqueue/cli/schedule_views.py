"""Schedules as `goqueue schedule` takes and prints them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from goqueue.adapters.clock import SystemClock
from goqueue.cli.amounts import duration_text
from goqueue.cli.failures import Refused
from goqueue.cli.output import print_table
from goqueue.cli.times import instant_text, parse_instant
from goqueue.model.durations import parse_duration_ms
from goqueue.wire.native.messages import Schedule

__all__ = ["print_schedule", "print_schedules", "schedule_facts", "settings_of"]

Facts = dict[str, Any]


class ScheduleOptions(NamedTuple):
    """Settings as they stand on the command line."""

    cron: str | None
    every: str | None
    zone: str | None
    value: str | None
    key: str | None
    priority: int | None
    start: str | None
    end: str | None
    misfire: str | None
    dst_gap: str | None
    dst_overlap: str | None
    jitter: str | None
    max_firings: int | None
    description: str | None

    def settings(self) -> Facts:
        """As the broker takes them; only those that are given."""
        now = SystemClock().now_ns()
        found: Facts = {
            "cron": self.cron,
            "every_s": None if self.every is None else _whole_seconds(self.every),
            "zone": self.zone,
            "value": None if self.value is None else self.value.encode(),
            "key": None if self.key is None else self.key.encode(),
            "priority": self.priority,
            "start": None if self.start is None else parse_instant(self.start, now_ns=now),
            "end": None if self.end is None else parse_instant(self.end, now_ns=now),
            "misfire": self.misfire,
            "dst_gap": self.dst_gap,
            "dst_overlap": self.dst_overlap,
            "jitter_ms": None if self.jitter is None else parse_duration_ms(self.jitter),
            "max_firings": self.max_firings,
            "description": self.description,
        }
        return {name: setting for name, setting in found.items() if setting is not None}


def settings_of(given: Mapping[str, Any]) -> Facts:
    """Those among the arguments of a command that are settings, as the broker takes them."""
    return ScheduleOptions(**{name: given[name] for name in ScheduleOptions._fields}).settings()


def _whole_seconds(text: str) -> int:
    milliseconds = parse_duration_ms(text)
    if milliseconds < 1000 or milliseconds % 1000:
        raise Refused(f"every {text}", hint="give whole seconds, at least one")
    return milliseconds // 1000


def schedule_facts(schedule: Schedule) -> Facts:
    """With times as text; bytes that are no text are shown as far as they are."""
    facts = msgspec.structs.asdict(schedule)
    return facts | {
        "value": schedule.value.decode(errors="replace"),
        "key": None if schedule.key is None else schedule.key.decode(errors="replace"),
        "headers": {name: content.decode(errors="replace") for name, content in schedule.headers},
        "start": _instant(schedule.start),
        "end": _instant(schedule.end),
        "next_due_ns": schedule.next_due_ns,
        "next_due": _instant(schedule.next_due_ns),
        "history": [msgspec.structs.asdict(one) for one in schedule.history],
    }


def print_schedules(found: Sequence[Schedule]) -> None:
    if not found:
        print("there are no schedules; `goqueue schedule create` makes one")
        return
    rows = [(one.id, one.status, one.topic, _when(one), _instant(one.next_due_ns) or "", one.fired) for one in found]
    print_table("Schedules", ("schedule", "status", "topic", "when", "next", "fired"), rows, numbers="fired")


def print_schedule(schedule: Schedule) -> None:
    facts = {
        "schedule": schedule.id,
        "status": schedule.status,
        "topic": schedule.topic,
        "when": _when(schedule),
        "next": _instant(schedule.next_due_ns) or "never",
        "misfire": schedule.misfire,
        "fired": schedule.fired,
        "description": schedule.description,
    }
    for name, value in facts.items():
        print(f"{name:11}  {value}")
    if schedule.history:
        rows = [
            (_instant(one.occurrence_ns), one.outcome, one.count, _place(one.partition, one.offset), one.reason)
            for one in schedule.history
        ]
        columns = ("occurrence", "outcome", "count", "record", "reason")
        print_table("Last firings", columns, rows, numbers="count")


def _when(schedule: Schedule) -> str:
    if schedule.every_s is not None:
        return f"every {duration_text(schedule.every_s * 1000)}"
    return f"{schedule.cron} ({schedule.zone})"


def _place(partition: int | None, offset: int | None) -> str:
    return "" if partition is None else f"{partition}:{offset}"


def _instant(instant: int | None) -> str | None:
    return None if instant is None else instant_text(instant)
