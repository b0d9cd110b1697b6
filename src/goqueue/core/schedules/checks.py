"""Checks of schedule settings; a refusal says what to do instead."""

import re

from goqueue.core.schedules.cron import LAST_INSTANT
from goqueue.core.schedules.local.expression import check_expression
from goqueue.core.schedules.local.zones import check_zone
from goqueue.core.schedules.schedule import ScheduleConfig
from goqueue.errors import InvalidRequest, StateConflict
from goqueue.model.topic import topic_name

__all__ = ["ID_PATTERN", "LONGEST_EVERY_S", "LONGEST_JITTER_MS", "LONGEST_LATENESS_MS", "check_config"]

LONGEST_ID = 200
LARGEST_VALUE = 256 * 1024
"""Every schedule is kept in memory with its record: ten thousand of the largest are 2.5 GB."""
LARGEST_KEY = 65_535
LARGEST_HEADERS = 32 * 1024
LONGEST_DESCRIPTION = 1000
LONGEST_EVERY_S = 366 * 24 * 3600
LONGEST_LATENESS_MS = 7 * 24 * 3600 * 1000
LONGEST_JITTER_MS = 24 * 3600 * 1000
MOST_CAUGHT_UP = 1000
MOST_FIRINGS = (1 << 53) - 1
LOWEST_PRIORITY = 4

ID_PATTERN = rf"^[A-Za-z0-9._-]{{1,{LONGEST_ID}}}$"
_ID = re.compile(ID_PATTERN, re.ASCII)


def check_config(config: ScheduleConfig) -> None:
    if not _ID.fullmatch(config.id):
        raise InvalidRequest(
            f"{config.id[:60]!r} is not a schedule id",
            hint=f"use 1 to {LONGEST_ID} letters, digits, dots, underscores or hyphens",
        )
    topic_name(config.topic)
    _check_times(config)
    _check_record(config)
    _check_within("misfire_after_ms", config.misfire_after_ms, 0, LONGEST_LATENESS_MS)
    _check_within("catch_up_most", config.catch_up_most, 1, MOST_CAUGHT_UP)
    _check_within("jitter_ms", config.jitter_ms, 0, LONGEST_JITTER_MS)
    _check_within("max_firings", config.max_firings, 1, MOST_FIRINGS)
    _check_within("length of the description", len(config.description), 0, LONGEST_DESCRIPTION)


def _check_times(config: ScheduleConfig) -> None:
    if (config.cron is None) == (config.every_s is None):
        given = "neither cron nor every_s" if config.cron is None else "both cron and every_s"
        raise InvalidRequest(f"the schedule {config.id} has {given}", hint="give exactly one of them")
    check_zone(config.zone)
    if config.cron is not None:
        check_expression(config.cron)
    _check_within("every_s", config.every_s, 1, LONGEST_EVERY_S)
    _check_within("start", config.start, 0, LAST_INSTANT)
    _check_within("end", config.end, 0, LAST_INSTANT)
    if config.start is not None and config.end is not None and config.end < config.start:
        raise StateConflict(
            f"the schedule {config.id} ends before it starts", hint="give an end behind the start, or none"
        )


def _check_record(config: ScheduleConfig) -> None:
    _check_within("priority", config.priority, 0, LOWEST_PRIORITY)
    _check_within("size of the value", len(config.value), 0, LARGEST_VALUE)
    _check_within("size of the key", len(config.key or b""), 0, LARGEST_KEY)
    try:
        size = sum(len(name.encode()) + len(value) for name, value in config.headers)
    except UnicodeEncodeError:
        raise InvalidRequest("a header's name has a lone surrogate, which UTF-8 cannot carry") from None
    _check_within("size of the headers", size, 0, LARGEST_HEADERS)


def _check_within(what: str, number: int | None, least: int, most: int) -> None:
    if number is not None and not least <= number <= most:
        raise InvalidRequest(f"{what} must be from {least} to {most}, got {number}", hint="give a value in this range")
