"""The port of a listener that is not loaded yet: held from the start, and handed over to gRPC when somebody connects.

gRPC takes no socket that is listening already. So that the port is never free, both listen on it for a moment: the
kernel allows that to sockets which agree to it and belong to one user (`SO_REUSEPORT`). Until then the one here has the
port to itself, so that a port in use is refused as any other.
"""

import contextlib
import socket
import struct
import sys
from collections.abc import Iterator

__all__ = ["accept_waiting", "address_of", "hold", "keep_alone", "share", "steer_to_the_second"]

BACKLOG = 2048
SO_ATTACH_REUSEPORT_CBPF = 51
RETURN_CONSTANT = 0x06
SECOND = 1


def hold(host: str, port: int) -> socket.socket:
    """Connections wait in its backlog. A socket as gRPC makes them: the kernel deals out to those that are alike."""
    has_ipv6 = _has_ipv6()
    listener = socket.socket(socket.AF_INET6 if has_ipv6 or ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if has_ipv6:
            host = _in_ipv6(host)
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind((host, port))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _in_ipv6(host: str) -> str:
    """An address of IPv4 is one of IPv6 too; all of one family are all of both."""
    if ":" in host:
        return host
    address = host if _is_ipv4(host) else socket.gethostbyname(host)
    return "::" if address == "0.0.0.0" else f"::ffff:{address}"


def _is_ipv4(host: str) -> bool:
    """Looking up what is no name loads the tables of Unicode all the same."""
    with contextlib.suppress(OSError):
        return bool(socket.inet_pton(socket.AF_INET, host))
    return False


def _has_ipv6() -> bool:
    """As gRPC finds out: kernels know IPv6 also where it is switched off."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False


def address_of(listener: socket.socket) -> tuple[str, int]:
    host, port = listener.getsockname()[:2]
    return host, port


def share(listener: socket.socket) -> None:
    """From now on another socket of this user may listen on the port as well, if it agrees too."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)


def keep_alone(listener: socket.socket) -> None:
    """No other socket may, again."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 0)


def steer_to_the_second(listener: socket.socket) -> None:
    """New connections go to the socket that joined this one on its port; here only those arrive that have begun.

    Otherwise the kernel deals them out to both, and those that are just being opened when this one is closed are lost.
    Only Linux can be told; a program for its packet filter says which socket it is: here always the same.
    """
    if sys.platform != "linux":
        return
    import ctypes

    program = ctypes.create_string_buffer(struct.pack("=HBBI", RETURN_CONSTANT, 0, 0, SECOND))
    with contextlib.suppress(OSError):
        listener.setsockopt(
            socket.SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, struct.pack("@HP", 1, ctypes.addressof(program))
        )


def accept_waiting(listener: socket.socket) -> Iterator[socket.socket]:
    """Those in the backlog, until there is none."""
    while True:
        try:
            client, _ = listener.accept()
        except BlockingIOError:
            return
        except ConnectionError:
            # It has gone while it waited.
            continue
        yield client
