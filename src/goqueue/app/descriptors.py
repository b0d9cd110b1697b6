"""Descriptors of the process: how many the system grants, and what they are for.

Files come first: with every connection that is allowed open, the broker can still begin a segment, make a topic and
write a checkpoint. So the limits of connections follow from the limit of the process, and never the other way round.
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
    """What a limit is used for."""

    limit: int
    segments: int
    """Files of partition logs that may be open at a time; others are closed and opened again when needed."""
    connections: Mapping[str, int]
    """By listener."""


def granted() -> int:
    """The hard limit of open files, taken in full: each partition keeps a file open and each connection a socket."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most if most != resource.RLIM_INFINITY else 1 << 30


def shared_out(limit: int, wanted: Mapping[str, int]) -> Descriptors:
    """A third of what is left for segments, two thirds for connections; `wanted` are the limits from the settings."""
    if limit < LEAST:
        raise InvalidSettings(
            f"the limit of open files must be at least {LEAST}, got {limit}",
            hint="raise it with `ulimit -n`, LimitNOFILE= of the service, or --ulimit nofile= of the container",
        )
    segments = (limit - PROCESS) // 3
    return Descriptors(limit, segments, _even_shares(limit - PROCESS - segments, wanted))


def _even_shares(total: int, wanted: Mapping[str, int]) -> dict[str, int]:
    """Evenly; what one listener does not want is for the others."""
    shares: dict[str, int] = {}
    for left, name in zip(range(len(wanted), 0, -1), sorted(wanted, key=wanted.__getitem__), strict=True):
        shares[name] = min(wanted[name], total // left)
        total -= shares[name]
    return shares
