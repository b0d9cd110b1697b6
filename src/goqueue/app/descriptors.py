"""Descriptors of the process: the limit of the system, and how it is divided.

Files come first: even with all allowed connections open, the broker can begin a segment, create a topic and write a
checkpoint. Connection limits are therefore derived from the limit of the process.
"""

import resource
from collections.abc import Mapping

import msgspec

from goqueue.errors import InvalidSettings

__all__ = ["LEAST", "Descriptors", "granted", "shared_out"]

PROCESS = 40
"""The lock, the journal, a checkpoint, SQLite, listeners, event loops, standard streams, modules being loaded."""
LEAST = 64
"""PROCESS, and enough to write to a few partitions and to serve a few connections."""


class Descriptors(msgspec.Struct, frozen=True):
    """The division of the limit."""

    limit: int
    segments: int
    """Files of partition logs that may be open at a time; others are closed, and opened again when needed."""
    connections: Mapping[str, int]
    """By listener."""


def granted() -> int:
    """Raise the soft limit of open files to the hard limit: each partition keeps a file open, each connection a
    socket."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most if most != resource.RLIM_INFINITY else 1 << 30


def shared_out(limit: int, wanted: Mapping[str, int]) -> Descriptors:
    """A third of the rest for segments, two thirds for connections; `wanted` has the limits from the settings."""
    if limit < LEAST:
        raise InvalidSettings(
            f"the limit of open files must be at least {LEAST}, got {limit}",
            hint="raise it with `ulimit -n`, LimitNOFILE= of the service, or --ulimit nofile= of the container",
        )
    segments = (limit - PROCESS) // 3
    return Descriptors(limit, segments, _even_shares(limit - PROCESS - segments, wanted))


def _even_shares(total: int, wanted: Mapping[str, int]) -> dict[str, int]:
    """Equal shares; what one listener does not need is for the others."""
    shares: dict[str, int] = {}
    for left, name in zip(range(len(wanted), 0, -1), sorted(wanted, key=wanted.__getitem__), strict=True):
        shares[name] = min(wanted[name], total // left)
        total -= shares[name]
    return shares
