"""Keys and certificates of the listener. They are read and checked when the broker starts, before gRPC is loaded."""

import ssl

import msgspec

from goqueue.errors import InvalidSettings
from goqueue.gateways.grpc.limits import GrpcSettings

__all__ = ["Keys", "read_keys"]

ANY_STRENGTH = "ALL:@SECLEVEL=0"
"""How strong keys have to be is for gRPC to say."""
NO_PASSWORD = ""
"""Without one OpenSSL would ask for it on the terminal."""


class Keys(msgspec.Struct, frozen=True):
    """As PEM; all empty for no TLS."""

    key: bytes = b""
    certificate: bytes = b""
    client_roots: bytes = b""
    """Empty when clients need no certificate."""


def read_keys(settings: GrpcSettings) -> Keys:
    """What is wrong with them is said here."""
    if not settings.tls_certificate:
        return Keys()
    roots = _pem("grpc.tls_client_ca", settings.tls_client_ca) if settings.tls_client_ca else b""
    keys = Keys(_pem("grpc.tls_key", settings.tls_key), _pem("grpc.tls_certificate", settings.tls_certificate), roots)
    _check(settings)
    return keys


def _check(settings: GrpcSettings) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(ANY_STRENGTH)
    try:
        context.load_cert_chain(settings.tls_certificate, settings.tls_key, NO_PASSWORD)
    except ssl.SSLError as error:
        raise InvalidSettings(
            f"grpc.tls_certificate and grpc.tls_key cannot be used: {error.reason or error}",
            hint="give a certificate and the key that belongs to it, as PEM files without a password",
        ) from None
    if settings.tls_client_ca:
        try:
            context.load_verify_locations(settings.tls_client_ca)
        except ssl.SSLError as error:
            raise InvalidSettings(
                f"grpc.tls_client_ca = {settings.tls_client_ca!r} cannot be used: {error.reason or error}",
                hint="give a PEM file with the certificates of roots",
            ) from None


def _pem(setting: str, file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            content = opened.read()
    except OSError as error:
        raise InvalidSettings(
            f"{setting} = {file!r} cannot be read: {error.strerror}", hint="give the path of a PEM file"
        ) from None
    if b"-----BEGIN " not in content:
        raise InvalidSettings(f"{setting} = {file!r} is not a PEM file", hint="give a file that begins with -----BEGIN")
    return content
