"""Structured logs: readable lines on a terminal, JSON lines elsewhere."""

import json
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Literal

__all__ = ["LogFormat", "Logger", "configure_logs", "get_logger"]

LogFormat = Literal["auto", "json", "console"]
Render = Callable[[str, str, str, Mapping[str, object]], str]
"""Function from time, level, event and facts to a line."""

LEVELS = ("debug", "info", "warning", "error", "critical")
EVENT_WIDTH = 30
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
COLOURS = {"debug": "\x1b[32m", "info": "\x1b[32m", "warning": "\x1b[33m", "error": "\x1b[31m", "critical": "\x1b[31m"}
NAME, VALUE = "\x1b[36m", "\x1b[35m"


class Logger:
    """Logger of events with named facts. May be used by any thread: a line is one write."""

    def __init__(self, render: Render, least: str) -> None:
        self.configure(render, least)

    def configure(self, render: Render, least: str) -> None:
        self._render = render
        self._said = frozenset(LEVELS[LEVELS.index(least) :])

    def debug(self, event: str, **facts: object) -> None:
        self._say("debug", event, facts)

    def info(self, event: str, **facts: object) -> None:
        self._say("info", event, facts)

    def warning(self, event: str, **facts: object) -> None:
        self._say("warning", event, facts)

    def error(self, event: str, **facts: object) -> None:
        self._say("error", event, facts)

    def critical(self, event: str, **facts: object) -> None:
        self._say("critical", event, facts)

    def _say(self, level: str, event: str, facts: Mapping[str, object]) -> None:
        if level in self._said:
            # Wall time of the line, independent of the broker's clock.
            when = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")  # noqa: TID251
            sys.stderr.write(self._render(when, level, event, facts) + "\n")
            sys.stderr.flush()


def _json_line(when: str, level: str, event: str, facts: Mapping[str, object]) -> str:
    return json.dumps({**facts, "event": event, "level": level, "timestamp": when}, default=repr)


def _plain_line(when: str, level: str, event: str, facts: Mapping[str, object]) -> str:
    told = "".join(f" {name}={_shown(value)}" for name, value in facts.items())
    return f"{when} [{level:9}] {event:{EVENT_WIDTH}}{told}".rstrip()


def _coloured_line(when: str, level: str, event: str, facts: Mapping[str, object]) -> str:
    told = "".join(f" {NAME}{name}{PLAIN}={VALUE}{_shown(value)}{PLAIN}" for name, value in facts.items())
    return f"{DIM}{when}{PLAIN} [{COLOURS[level]}{level:9}{PLAIN}] {BOLD}{event:{EVENT_WIDTH}}{PLAIN}{told}"


def _shown(value: object) -> str:
    """Text of a value, in quotes if it has spaces or line breaks."""
    text = str(value)
    return text if text.isprintable() and " " not in text else repr(text)


_THE_LOGGER = Logger(_plain_line, "info")


def configure_logs(log_format: LogFormat, level: str) -> None:
    """Configure the logger at the start. Lines go to standard error; standard output is for command output."""
    for_people = sys.stderr.isatty()
    if log_format == "json" or (log_format == "auto" and not for_people):
        render: Render = _json_line
    else:
        render = _coloured_line if for_people else _plain_line
    _THE_LOGGER.configure(render, level)


def get_logger() -> Logger:
    return _THE_LOGGER
