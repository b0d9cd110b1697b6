"""What is counted of one request: which kind it is, and how it was answered."""

from starlette.types import Message, Send

from goqueue.engine.traffic import FAILED, OK, REFUSED, ListenerTraffic

__all__ = ["ASKED", "Asked"]

ASKED = "goqueue.asked"
"""Under this name in the scope; whoever finds the endpoint says which kind of request it is."""


class Asked:
    """Takes the place of `send`, to see the status of the answer."""

    __slots__ = ("_began_ns", "_send", "_status", "_traffic", "kind", "waits")

    def __init__(self, traffic: ListenerTraffic, send: Send) -> None:
        self._traffic = traffic
        self._send = send
        self._status: int | None = None
        self._began_ns: int | None = None
        self.kind = "unknown"
        self.waits = False
        """It may wait for something to happen, so how long it takes says nothing."""

    def begin(self) -> None:
        """The request is complete: how long a client takes to send it is not the broker's doing."""
        self._began_ns = self._traffic.now_ns()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
        await self._send(message)

    def end(self) -> None:
        status = self._status
        if status is None:
            # The client went away.
            return
        self._traffic.count(self.kind, OK if status < 400 else REFUSED if status < 500 else FAILED)
        if self._began_ns is not None and not self.waits:
            self._traffic.took(self.kind, self._traffic.now_ns() - self._began_ns)
