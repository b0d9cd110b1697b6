"""A steady rate of records: how long each takes until it is confirmed, also when the broker stalls."""

import asyncio
import time
from collections.abc import Sequence

from bench.peers.port import Publisher
from bench.peers.work import Offer

__all__ = ["offered", "percentiles"]

MOST_AT_ONCE = 1000


async def offered(publishers: Sequence[Publisher], offer: Offer, size: int) -> dict[str, float]:
    """Connections take turns: each takes all that is due, and times it from when it was due.

    A record that waits because every connection waits has waited for the broker, and that counts. When a timer of the
    client fires late, that does not count.
    """
    total = max(1, round(offer.rate * offer.seconds))
    value = b"x" * size
    latencies: list[float] = []
    turn = asyncio.Lock()
    begun = time.perf_counter()
    taken = 0

    async def work(publisher: Publisher) -> None:
        nonlocal taken
        while True:
            async with turn:
                if taken >= total:
                    return
                if (early := begun + taken / offer.rate - time.perf_counter()) > 0:
                    await asyncio.sleep(early)
                    woken = time.perf_counter()
                else:
                    woken = 0.0
                first = taken
                due = int((time.perf_counter() - begun) * offer.rate) + 1
                taken = min(total, first + MOST_AT_ONCE, max(first + 1, due))
                count = taken - first
            await publisher.publish([value] * count)
            now = time.perf_counter()
            latencies.extend(now - max(begun + number / offer.rate, woken) for number in range(first, first + count))

    await asyncio.gather(*map(work, publishers))
    reached = total / (time.perf_counter() - begun)
    return {**percentiles(latencies), "per_s": reached}


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    last = len(ordered) - 1
    shares = {"p50_ms": 0.5, "p99_ms": 0.99, "p999_ms": 0.999, "max_ms": 1.0}
    return {name: ordered[min(last, int(len(ordered) * share))] * 1000 for name, share in shares.items()}
