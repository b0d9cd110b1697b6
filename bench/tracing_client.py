"""Child process of the tracing benchmark: publishes batches whose records carry trace contexts, or carry none."""

import random
import time

from bench.loads import run_load
from goqueue import codec
from goqueue.client import Producer
from goqueue.model.record import Record

VALUE = bytes(100)
SIZE = 1000


def batch_of(*, carried: bool, seed: int) -> bytes:
    chance = random.Random(seed)

    def headers() -> tuple[tuple[str, bytes], ...]:
        if not carried:
            return ()
        trace, span = chance.getrandbits(128) | 1, chance.getrandbits(64) | 1
        return (("traceparent", f"00-{trace:032x}-{span:016x}-01".encode()),)

    return codec.encode([Record(value=VALUE, headers=headers()) for _ in range(SIZE)])


async def publish(address: str, topic: str, count: int, carried: bool, durability: str) -> dict[str, float]:
    """Batches of 1000 that are encoded already; not synced, they show what the broker itself has to do."""
    batches = [batch_of(carried=carried, seed=number) for number in range(50)]
    async with Producer(address, buffer_records=100_000, durability=durability) as producer:
        await (await producer.send_batch(topic, 0, batches[0], SIZE))
        before = time.perf_counter()
        for number in range(count // SIZE):
            await producer.send_batch(topic, number % 3, batches[number % len(batches)], SIZE)
        await producer.flush()
        took = time.perf_counter() - before
    return {"per_s": count // SIZE * SIZE / took}


if __name__ == "__main__":
    run_load(publish)
