"""Priority lanes: the five priorities a record can have."""

__all__ = ["LANES", "NORMAL"]

LANES = 5
"""Lanes are numbered like priorities: 0 critical, 1 high, 2 normal, 3 low, 4 background."""
NORMAL = 2
"""The priority of a record sent without one."""
