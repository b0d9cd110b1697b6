"""What a client may do over gRPC, and what the listener needs for TLS."""

from typing import Annotated

import msgspec

from goqueue.errors import InvalidSettings

__all__ = ["GrpcSettings"]

Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
MessageBytes = Annotated[int, msgspec.Meta(ge=64 * 1024, le=1 << 30)]
Bytes = Annotated[int, msgspec.Meta(ge=1024, le=1 << 40)]
Milliseconds = Annotated[int, msgspec.Meta(ge=10, le=86_400_000)]


class GrpcSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The listener itself is on while `listen.grpc` has an address."""

    connections: Count = 20_000
    """At a time; one beyond is closed. Lower where the limit of open files leaves room for fewer."""
    calls_per_connection: Count = 1000
    """The client holds back further ones until one of them ends."""
    calls_under_way: Count = 10_000
    """Over all connections, streams included; further ones are refused."""
    bytes_under_way: Bytes = 256 * 1024 * 1024
    """Requests of all calls that are not answered yet."""
    message_bytes: MessageBytes = 24 * 1024 * 1024
    """Largest request."""
    header_bytes: Bytes = 64 * 1024
    """Metadata of a call."""
    publishes_per_stream: Count = 1024
    """So many requests of one stream may wait for their answers; the broker reads no further ones meanwhile."""
    idle_ms: Milliseconds = 600_000
    """A connection without a call is closed after so long."""
    ping_after_ms: Milliseconds = 30_000
    """A client that was silent for so long is asked whether it is still there."""
    ping_within_ms: Milliseconds = 20_000
    """One that does not answer for so long is gone."""
    reflection: bool = True
    """Whether tools may ask which services there are."""
    tls_certificate: str = ""
    """PEM file with the certificate of the broker and those between it and the root; empty for no TLS."""
    tls_key: str = ""
    """PEM file with the key of the certificate."""
    tls_client_ca: str = ""
    """PEM file with the roots that certificates of clients must come from; empty when clients need none."""

    def __post_init__(self) -> None:
        if bool(self.tls_certificate) != bool(self.tls_key):
            given, missing = ("certificate", "key") if self.tls_certificate else ("key", "certificate")
            raise InvalidSettings(
                f"grpc.tls_{given} is given without grpc.tls_{missing}", hint="give both, or neither for no TLS"
            )
        if self.tls_client_ca and not self.tls_certificate:
            raise InvalidSettings(
                "grpc.tls_client_ca is given without grpc.tls_certificate",
                hint="certificates of clients can only be checked with TLS: give the broker's certificate and key too",
            )
