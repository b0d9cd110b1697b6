"""Isolation level: which records a reader sees while transactions are open."""

from enum import StrEnum

__all__ = ["Isolation"]


class Isolation(StrEnum):
    COMMITTED = "read_committed"
    """Only decided records: up to the last stable offset, without aborted records."""
    UNCOMMITTED = "read_uncommitted"
    """Also records of open and of aborted transactions."""
