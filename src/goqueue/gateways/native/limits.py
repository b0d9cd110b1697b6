"""What one native connection may do, and how many there may be."""

from typing import Annotated

import msgspec

__all__ = ["ConnectionLimits"]

Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
FrameBytes = Annotated[int, msgspec.Meta(ge=64 * 1024, le=1 << 30)]
Bytes = Annotated[int, msgspec.Meta(ge=1024, le=1 << 40)]
Milliseconds = Annotated[int, msgspec.Meta(ge=10, le=86_400_000)]


class ConnectionLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one connection may do, and how many there may be."""

    connections: Count = 20_000
    """At a time; one beyond is refused. Lower where the limit of open files leaves room for fewer."""
    frame_bytes: FrameBytes = 24 * 1024 * 1024
    """The largest frame: a request or a reply with its records."""
    requests_under_way: Count = 1024
    """Of one connection, not answered yet."""
    bytes_under_way: Bytes = 32 * 1024 * 1024
    """Of one connection, the bytes of requests that are not answered yet."""
    frame_within_ms: Milliseconds = 30_000
    """A frame that has begun must be complete by then: a client that sends a byte now and then is cut off. So is one
    that does not say hello, or takes nothing of its replies, for so long."""
    idle_ms: Milliseconds = 600_000
    """A connection that is silent for so long is closed."""
