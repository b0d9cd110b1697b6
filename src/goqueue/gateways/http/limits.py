"""What a client may do over HTTP, and how long it may take over it."""

from typing import Annotated

import msgspec

__all__ = ["HttpLimits"]

Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Bytes = Annotated[int, msgspec.Meta(ge=1024, le=1 << 40)]
Milliseconds = Annotated[int, msgspec.Meta(ge=10, le=86_400_000)]


class HttpLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The defaults suit a broker that is open to its users, not to the world."""

    allowed_hosts: str = ""
    """Names by which clients reach the broker, as their header Host says: name,name,*.example.com. Always allowed are
    localhost, the host of `listen.http` and IP addresses. Others get 403: web pages could use them (DNS rebinding)."""
    connections: Count = 20_000
    """At a time; one beyond gets 503. Lower where the limit of open files leaves room for fewer."""
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
    """From the first byte of a request to the end of its headers; and from connecting to the first byte."""
    body_within_ms: Milliseconds = 30_000
    """From there to the end of its body; a client that is slower gets 408."""
    response_within_ms: Milliseconds = 30_000
    """A client that takes nothing of its answer for so long is cut off."""
    idle_ms: Milliseconds = 75_000
    """A connection without a request for so long is closed. Before its first, it has `http.headers_within_ms`."""
