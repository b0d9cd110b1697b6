"""GoQueue through its JSON API, with aiohttp and a connection for each publisher and reader."""

import asyncio
from collections.abc import Sequence
from typing import Any

import aiohttp
import msgspec

from bench.peers.port import Subject

__all__ = ["GoQueueHttp"]

WITHIN = aiohttp.ClientTimeout(total=120)


class JsonConnection:
    def __init__(self, address: str, connections: int) -> None:
        self._session = aiohttp.ClientSession(
            f"http://{address}", connector=aiohttp.TCPConnector(limit=connections), timeout=WITHIN
        )

    async def ask(self, method: str, path: str, body: object = None, **query: str) -> Any:
        content = None if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": "application/json"}
        async with self._session.request(method, path, data=content, params=query, headers=headers) as answer:
            said = await answer.read()
            if answer.status not in (200, 201):
                raise RuntimeError(f"{method} {path}: {answer.status} {said[:500]!r}")
            return msgspec.json.decode(said)

    async def close(self) -> None:
        await self._session.close()


class JsonPublisher:
    """One request for each call, with one record or a list; the broker answers when it has synced."""

    def __init__(self, address: str, topic: str) -> None:
        self._connection = JsonConnection(address, 1)
        self._path = f"/topics/{topic}/messages"

    async def publish(self, values: Sequence[bytes]) -> None:
        messages = [{"value": value.decode()} for value in values]
        await self._connection.ask("POST", self._path, messages[0] if len(messages) == 1 else {"messages": messages})

    async def close(self) -> None:
        await self._connection.close()


class JsonReader:
    """Polls as a worker, while the acknowledgement of the last records is on its way."""

    def __init__(self, address: str, topic: str, group: str) -> None:
        self._connection = JsonConnection(address, 2)
        self._path = f"/groups/{group}/poll"
        self._topic = topic
        self._receipts: list[str] = []

    async def next(self, limit: int, wait_s: float) -> int:
        wishes = {"topics": self._topic, "limit": str(limit), "timeout": f"{round(1000 * wait_s)}ms"}
        poll = self._connection.ask("GET", self._path, **wishes)
        if self._receipts:
            body = {"receipt_handles": self._receipts}
            answer, _ = await asyncio.gather(poll, self._connection.ask("POST", "/messages/ack", body))
        else:
            answer = await poll
        self._receipts = [one["receipt_handle"] for one in answer["messages"]]
        return len(self._receipts)

    async def close(self) -> None:
        await self._connection.close()


class GoQueueHttp:
    def __init__(self, address: str, *, is_alone: bool) -> None:
        self._address = address

    async def _ask_once(self, method: str, path: str, body: object = None) -> None:
        connection = JsonConnection(self._address, 1)
        try:
            await connection.ask(method, path, body)
        finally:
            await connection.close()

    async def create(self, subject: Subject) -> None:
        await self._ask_once("POST", "/topics", {"name": subject.name})

    async def drop(self, subject: Subject) -> None:
        await self._ask_once("DELETE", f"/topics/{subject.name}")

    async def publisher(self, subject: Subject) -> JsonPublisher:
        return JsonPublisher(self._address, subject.name)

    async def worker(self, subject: Subject, group: str) -> JsonReader:
        return JsonReader(self._address, subject.name, group)

    async def follower(self, subject: Subject, group: str) -> JsonReader:
        return await self.worker(subject, group)

    async def close(self) -> None:
        pass
