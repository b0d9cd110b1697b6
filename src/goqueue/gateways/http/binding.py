"""Taking a port before anything is loaded that would serve it."""

import socket

__all__ = ["bind"]

BACKLOG = 2048


def bind(host: str, port: int, *, listen: bool = True) -> socket.socket:
    """With `listen` the kernel accepts connections from now on; they wait until they are served."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        if listen:
            listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener
