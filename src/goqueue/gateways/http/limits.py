"""What a client may do over HTTP, and how long it may take over it."""

from typing import Annotated

import msgspec

__all__ = ["HttpLimits"]

Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Bytes = Annotated[int, msgspec.Meta(ge=1024, le=1 << 40)]
Milliseconds = Annotated[int, msgspec.Meta(ge=10, le=86_400_000)]


class HttpLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The defaults suit a broker that is open to its users, not to the world."""

    connections: Count = 20_000
    """At a time; whoever comes beyond gets 503."""
    requests_under_way: Count = 4096
    """Not answered yet, of all connections. Health checks are answered beyond it."""
    bytes_under_way: Bytes = 256 * 1024 * 1024
    """Bodies of all requests that are not answered yet."""
    body_bytes: Bytes = 24 * 1024 * 1024
    """The largest body of one request; beyond it the answer is 413."""
    header_bytes: Bytes = 64 * 1024
    """Headers of a request, all together; beyond it the answer is 431."""
    url_bytes: Bytes = 8 * 1024
    """Path and query; beyond it the answer is 414."""
    headers_within_ms: Milliseconds = 10_000
    """From the first byte of a request to the end of its headers."""
    body_within_ms: Milliseconds = 30_000
    """From there to the end of its body; a client that is slower gets 408."""
    response_within_ms: Milliseconds = 30_000
    """A client that takes nothing of its answer for so long is cut off."""
    idle_ms: Milliseconds = 75_000
    """A connection without a request for so long is closed; also before its first."""
