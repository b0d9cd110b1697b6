"""Integer types for offsets, partitions and times, so that a type checker catches an offset passed as a partition."""

from typing import NewType

__all__ = ["DurationMs", "InstantNs", "Lsn", "Offset", "PartitionIndex", "Priority"]

Offset = NewType("Offset", int)
"""Position of a record in its partition, counted from 0."""

PartitionIndex = NewType("PartitionIndex", int)
"""Number of a partition within its topic."""

Priority = NewType("Priority", int)
"""Priority lane of a record: 0 critical, 1 high, 2 normal, 3 low, 4 background."""

InstantNs = NewType("InstantNs", int)
"""Unix time in nanoseconds."""

DurationMs = NewType("DurationMs", int)
"""Length of time in milliseconds."""

Lsn = NewType("Lsn", int)
"""Log sequence number: the ordinal of an entry in the node's journal, counted from 1."""
