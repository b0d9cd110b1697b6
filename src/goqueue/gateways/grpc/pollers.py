"""Clients that poll with calls of their own: nothing says when such a client goes, so the last ones are remembered."""

from goqueue.engine.workers import WorkerClient, Workers

__all__ = ["Pollers"]

MOST = 1000


class Pollers:
    """By address. What the oldest ones are known by is forgotten."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._clients: dict[str, WorkerClient] = {}

    def at(self, address: str) -> WorkerClient:
        client = self._clients.pop(address, None) or self._workers.client("grpc", address)
        self._clients[address] = client
        if len(self._clients) > MOST:
            self._clients.pop(next(iter(self._clients))).close()
        return client
