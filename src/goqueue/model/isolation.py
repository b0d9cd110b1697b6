"""Which records a reader wants to see while transactions are under way."""

from enum import StrEnum

__all__ = ["Isolation"]


class Isolation(StrEnum):
    COMMITTED = "read_committed"
    """Only what is certain: up to the first record whose transaction has not ended, and nothing that was aborted."""
    UNCOMMITTED = "read_uncommitted"
    """Also what may yet be aborted, and what was."""
