"""Structured logs: readable lines on a terminal, JSON lines elsewhere."""

import logging
import sys
from typing import Literal

import structlog

__all__ = ["LogFormat", "Logger", "configure_logs", "get_logger"]

LogFormat = Literal["auto", "json", "console"]
Logger = structlog.typing.FilteringBoundLogger


def configure_logs(log_format: LogFormat, level: str) -> None:
    """Once, at start. Everything goes to standard error: standard output belongs to what a command answers."""
    console = log_format == "console" or (log_format == "auto" and sys.stderr.isatty())
    renderer = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()) if console else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def get_logger() -> Logger:
    logger: Logger = structlog.get_logger()
    return logger
