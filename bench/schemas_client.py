"""Child process of the schema benchmark: one kind of work against a running server, its figures as JSON."""

import asyncio
import itertools
import json
import time
from typing import Self

from bench.broker_client import percentiles
from bench.loads import run_load
from goqueue import codec
from goqueue.client import Producer
from goqueue.model.record import Record

ORDER = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "customer": {"type": "string", "maxLength": 40},
        "total": {"type": "number", "minimum": 0},
        "currency": {"enum": ["EUR", "USD"]},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "sku": {"type": "string"},
                    "quantity": {"type": "integer", "minimum": 1},
                    "price": {"type": "number"},
                },
                "required": ["sku", "quantity"],
            },
        },
        "note": {"type": ["string", "null"]},
    },
    "required": ["id", "customer", "total"],
    "additionalProperties": False,
}
UNDER_WAY = 5


def order(number: int) -> bytes:
    """About 300 bytes."""
    lines = [{"sku": f"abc-{number % 1000:03}-{step}", "quantity": step + 1, "price": 10.5} for step in range(3)]
    value = {"id": number, "customer": f"c-{number:010}", "total": 99.5, "currency": "EUR", "lines": lines}
    return json.dumps(value | {"note": "x" * 56}).encode()


class Connection:
    """Requests one after the other over one connection, with as little work for the client as possible."""

    def __init__(self, address: str) -> None:
        self._host, _, port = address.rpartition(":")
        self._port = int(port)

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        assert answer.startswith(b"http/1.1 200"), answer
        length = answer.partition(b"content-length:")[2].partition(b"\r\n")[0]
        return await self._reader.readexactly(int(length))


async def register(http: str, subject: str) -> dict[str, float]:
    body = json.dumps({"schemaType": "JSON", "schema": json.dumps(ORDER)}).encode()
    async with Connection(http) as connection:
        found = json.loads(await connection.ask("POST", f"/schemas/subjects/{subject}/versions", body))
    return {"id": found["id"]}


async def register_many(http: str, count: int, connections: int) -> dict[str, float]:
    """A subject for each, with a schema of its own."""
    numbers = itertools.count()

    async def work() -> None:
        async with Connection(http) as connection:
            while (number := next(numbers)) < count:
                fields = [{"name": f"field{number}", "type": "string"}, {"name": "id", "type": "long"}]
                schema = json.dumps({"type": "record", "name": "Order", "fields": fields})
                body = json.dumps({"schema": schema}).encode()
                await connection.ask("POST", f"/schemas/subjects/subject{number}/versions", body)

    begun = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(connections)))
    return {"per_s": count / (time.perf_counter() - begun)}


async def look_up(http: str, count: int, connections: int, seconds: float) -> dict[str, float]:
    """Schemas by their ids, from 1 to `count`, again and again."""
    numbers = itertools.count()
    delays: list[float] = []
    until = time.perf_counter() + seconds

    async def work() -> None:
        async with Connection(http) as connection:
            while (begun := time.perf_counter()) < until:
                await connection.ask("GET", f"/schemas/schemas/ids/{next(numbers) % count + 1}")
                delays.append(time.perf_counter() - begun)

    await asyncio.gather(*(work() for _ in range(connections)))
    return {"per_s": len(delays) / seconds} | percentiles(delays)


async def publish(address: str, topic: str, size: int, seconds: float) -> dict[str, float]:
    """Batches that are encoded beforehand, a few of them under way at a time."""
    batches = [codec.encode([Record(value=order(size * step + n)) for n in range(size)]) for step in range(20)]
    sent = 0
    async with Producer(address, buffer_records=UNDER_WAY * 3 * max(size, 1000)) as producer:
        begun = time.perf_counter()
        for number, batch in enumerate(itertools.cycle(batches)):
            await producer.send_batch(topic, number % 3, batch, size)
            sent += size
            if time.perf_counter() - begun > seconds:
                break
        await producer.flush()
        return {"per_s": sent / (time.perf_counter() - begun)}


async def send(address: str, topic: str, seconds: float) -> dict[str, float]:
    """Records given one by one to a producer that makes batches of them, as programs usually do."""
    values = [order(number) for number in range(1000)]
    sent = 0
    async with Producer(address, buffer_records=20_000) as producer:
        begun = time.perf_counter()
        while time.perf_counter() - begun < seconds:
            for value in values:
                await producer.send(topic, value)
            sent += len(values)
        await producer.flush()
        return {"per_s": sent / (time.perf_counter() - begun)}


if __name__ == "__main__":
    run_load(register, register_many, look_up, publish, send)
