"""Schedule settings: the record to publish, its times, and the policy for missed occurrences."""

from enum import StrEnum

import msgspec
from msgspec import UNSET, UnsetType

from goqueue.core.schedules.cron import CronTimes, EveryTimes, Gap, Overlap, Times
from goqueue.model.ids import InstantNs
from goqueue.model.record import Record

__all__ = ["Misfire", "ScheduleConfig", "SchedulePatch", "patched"]

NORMAL_PRIORITY = 2
DEFAULT_CATCH_UP = 100
DEFAULT_MISFIRE_AFTER_MS = 60_000
"""A minute is longer than a busy broker is late, and shorter than a restart that counts as downtime."""


class Misfire(StrEnum):
    """Policy for occurrences that the broker missed."""

    SKIP = "skip"
    """Skip missed occurrences and continue with the next one."""
    ONCE = "once"
    """Fire once for all that are due, as the latest of them."""
    ALL = "all"
    """Fire each, in order; when there are too many, the latest of them."""


class ScheduleConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Either `cron` or `every_s` is given. Not validated when made, so that stored settings can always be read."""

    id: str
    topic: str
    value: bytes = b""
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    priority: int = NORMAL_PRIORITY
    cron: str | None = None
    every_s: int | None = None
    zone: str = "UTC"
    start: InstantNs | None = None
    """The earliest time of an occurrence; fixed-rate ones are counted from here."""
    end: InstantNs | None = None
    """The latest time of an occurrence."""
    misfire: Misfire = Misfire.ONCE
    misfire_after_ms: int = DEFAULT_MISFIRE_AFTER_MS
    """An occurrence is missed when it is later than this. Up to then it fires as usual, under every policy."""
    catch_up_most: int = DEFAULT_CATCH_UP
    dst_gap: Gap = Gap.SHIFT
    dst_overlap: Overlap = Overlap.FIRST
    jitter_ms: int = 0
    max_firings: int | None = None
    paused: bool = False
    description: str = ""

    def times(self, anchor: InstantNs) -> Times:
        """`anchor` is the origin of fixed-rate occurrences when there is no start."""
        if self.every_s is not None:
            return EveryTimes(self.every_s, anchor if self.start is None else self.start)
        assert self.cron is not None
        return CronTimes(self.cron, self.zone, self.dst_gap, self.dst_overlap)

    def record(self) -> Record:
        return Record(self.value, self.key, self.headers, self.priority)


class SchedulePatch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields to change; others stay as they are."""

    topic: str | UnsetType = UNSET
    value: bytes | UnsetType = UNSET
    key: bytes | UnsetType | None = UNSET
    headers: tuple[tuple[str, bytes], ...] | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    cron: str | UnsetType | None = UNSET
    every_s: int | UnsetType | None = UNSET
    zone: str | UnsetType = UNSET
    start: InstantNs | UnsetType | None = UNSET
    end: InstantNs | UnsetType | None = UNSET
    misfire: Misfire | UnsetType = UNSET
    misfire_after_ms: int | UnsetType = UNSET
    catch_up_most: int | UnsetType = UNSET
    dst_gap: Gap | UnsetType = UNSET
    dst_overlap: Overlap | UnsetType = UNSET
    jitter_ms: int | UnsetType = UNSET
    max_firings: int | UnsetType | None = UNSET
    paused: bool | UnsetType = UNSET
    description: str | UnsetType = UNSET


def patched(config: ScheduleConfig, patch: SchedulePatch) -> ScheduleConfig:
    """Setting one of `cron` and `every_s` replaces the other."""
    changes = {name: value for name, value in msgspec.structs.asdict(patch).items() if value is not UNSET}
    if changes.get("cron") is not None:
        changes.setdefault("every_s", None)
    elif changes.get("every_s") is not None:
        changes.setdefault("cron", None)
    return msgspec.structs.replace(config, **changes)
