"""Child process of the transactions benchmark: one kind of work against a running server, its figures as JSON."""

import asyncio
import time

from bench.broker_client import percentiles
from bench.loads import run_load
from goqueue import codec
from goqueue.client import Producer
from goqueue.client.link import Link
from goqueue.model.record import Record
from goqueue.wire.native import messages
from goqueue.wire.native import transactions as wire
from goqueue.wire.native.frames import Opcode

VALUE = bytes(100)


async def plain(address: str, topic: str, producers: int, size: int, seconds: float) -> dict[str, float]:
    """So many records at a time, confirmed before the next are sent."""
    values = [VALUE] * size
    until = time.perf_counter() + seconds
    sent = 0

    async def send(number: int) -> None:
        nonlocal sent
        async with Producer(address) as producer:
            while time.perf_counter() < until:
                await producer.send_many(topic, values, partition=number % 3)
                await producer.flush()
                sent += size

    begun = time.perf_counter()
    await asyncio.gather(*map(send, range(producers)))
    return {"per_s": sent / (time.perf_counter() - begun)}


async def committed(address: str, topic: str, producers: int, size: int, seconds: float) -> dict[str, float]:
    """The same, each time in a transaction of its own."""
    values = [VALUE] * size
    until = time.perf_counter() + seconds
    sent = 0
    commits: list[float] = []

    async def send(number: int) -> None:
        nonlocal sent
        async with Producer(address, transactional_id=f"{topic}-{number}") as producer:
            while time.perf_counter() < until:
                async with producer.transaction() as transaction:
                    await producer.send_many(topic, values, partition=number % 3)
                    before = time.perf_counter()
                    await transaction.commit()
                commits.append(time.perf_counter() - before)
                sent += size

    begun = time.perf_counter()
    await asyncio.gather(*map(send, range(producers)))
    return {"per_s": sent / (time.perf_counter() - begun), **percentiles(commits)}


async def leave_open(address: str, topic: str, count: int) -> dict[str, float]:
    """Transactions with a record each, which nobody ends."""
    link = Link(address)
    record = codec.encode([Record(value=VALUE)])

    async def begin(number: int) -> None:
        init = wire.InitTransactions(f"open-{number}", 15 * 60 * 1000)
        identity = await link.ask(Opcode.INIT_TRANSACTIONS, init, messages.ProducerIdentity)
        request = wire.BeginTransaction(identity.producer_id, identity.epoch)
        begun = await link.ask(Opcode.BEGIN_TRANSACTION, request, wire.Begun)
        publish = messages.Publish(
            topic, number % 3, producer_id=begun.producer_id, producer_epoch=begun.epoch, transaction=begun.number
        )
        await (await link.connection()).request(Opcode.PUBLISH, publish, messages.Published, record)

    for first in range(0, count, 500):
        await asyncio.gather(*map(begin, range(first, first + 500)))
    await link.close()
    return {"open": count}


async def abort_many(address: str, topic: str, count: int) -> dict[str, float]:
    """Records that are never seen, a thousand in each transaction; every second batch is not of a transaction."""
    batch = codec.encode([Record(value=VALUE)] * 1000)
    async with Producer(address, transactional_id="aborting") as producer, Producer(address) as other:
        for number in range(count // 1000):
            transaction = producer.transaction()
            async with transaction:
                await producer.send_batch(topic, number % 3, batch, 1000)
                await transaction.abort()
            await (await other.send_batch(topic, number % 3, batch[: len(batch) // 1000 * 10], 10))
    return {"aborted": count}


if __name__ == "__main__":
    run_load(plain, committed, leave_open, abort_many)
