"""How many bytes of requests may be in memory at once, over all calls, and how it is said that there is no room."""

import grpc

from goqueue.gateways.grpc.answering import Refusal

__all__ = ["Room", "busy", "stopping"]


class Room:
    """Shared by all calls of a listener."""

    __slots__ = ("_most", "_taken")

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0

    def take(self, size: int) -> None:
        if self._taken + size > self._most:
            raise busy(f"requests with {self._taken} bytes are under way")
        self._taken += size

    def give_back(self, size: int) -> None:
        self._taken -= size


def busy(message: str) -> Refusal:
    return Refusal(
        grpc.StatusCode.RESOURCE_EXHAUSTED, "server_busy", message, hint="slow down and retry", is_passing=True
    )


def stopping() -> Refusal:
    return Refusal(grpc.StatusCode.UNAVAILABLE, "not_ready", "the broker is stopping", is_passing=True)
