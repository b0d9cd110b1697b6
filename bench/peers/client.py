"""A client process: does pieces of work against a broker, one after the other, as they come in on its input."""

import asyncio
import gc
import sys
import time
from pathlib import Path

import msgspec
import uvloop

from bench.peers.board import Board
from bench.peers.offering import offered
from bench.peers.port import Adapter, Publisher, Reader
from bench.peers.targets import adapter_of
from bench.peers.work import Done, Work

__all__ = ["GROUP", "READY"]

GROUP = "bench"
READY = b"ready\n"
LOOK_EVERY_S = 0.05
GIVE_UP_S = 20.0


class Load:
    """The connections of one piece of work, and how far it has come."""

    def __init__(self, work: Work, board: Board) -> None:
        self._work = work
        self._board = board
        self._left = sys.maxsize if work.most is None else work.most
        self._published = 0
        self._acknowledged = 0
        self._ended = 0.0
        self._publishers: list[Publisher] = []
        self._readers: list[Reader] = []

    async def connect(self, adapter: Adapter) -> None:
        work = self._work
        readers = [adapter.worker(work.subject, GROUP) for _ in range(work.workers)]
        readers += [adapter.follower(work.subject, group) for group in work.followers]
        self._publishers = await asyncio.gather(*(adapter.publisher(work.subject) for _ in range(work.publishers)))
        self._readers = await asyncio.gather(*readers)
        if work.is_warmed_up:
            await asyncio.gather(*(one.publish([b"x" * work.size]) for one in self._publishers))
        self._board.publishing(len(self._publishers))

    async def run(self, start_at: float) -> Done:
        if (early := start_at - time.monotonic()) > 0:
            await asyncio.sleep(early)
        if self._work.offer is not None:
            return Done(latencies_ms=await offered(self._publishers, self._work.offer, self._work.size))
        publishing = [self._publish(one, start_at + self._work.seconds) for one in self._publishers]
        await asyncio.gather(*publishing, *map(self._take, self._readers))
        return Done(published=self._published, acknowledged=self._acknowledged, ended=self._ended)

    async def _publish(self, publisher: Publisher, until: float) -> None:
        value = b"x" * self._work.size
        while self._left > 0 and time.monotonic() < until:
            count = min(self._work.batch, self._left)
            self._left -= count
            await publisher.publish([value] * count)
            self._published += count
            self._board.published(count)
            self._ended = max(self._ended, time.monotonic())
        self._board.publishing(-1)

    async def _take(self, reader: Reader) -> None:
        taken = 0
        last_at = time.monotonic()
        while True:
            found = await reader.next(self._work.take, LOOK_EVERY_S)
            self._acknowledged += taken
            self._board.acknowledged(taken)
            taken = found
            if found:
                self._ended = last_at = time.monotonic()
            elif self._is_all_taken() or time.monotonic() - last_at > GIVE_UP_S:
                return

    def _is_all_taken(self) -> bool:
        if self._board.is_publishing():
            return False
        wanted = self._work.expected + self._board.total_published() * self._work.copies
        return self._board.total_acknowledged() >= wanted

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in (*self._publishers, *self._readers)))


async def load(work: Work, adapter: Adapter) -> Done:
    with Board(Path(work.board), work.rows, work.row) as board:
        doing = Load(work, board)
        try:
            await doing.connect(adapter)
            # What was imported stays: walking it again and again would be pauses of the client, not the broker's.
            gc.collect()
            gc.freeze()
            answer(READY)
            return await doing.run(float(sys.stdin.readline()))
        finally:
            await doing.close()


async def probe(work: Work, adapter: Adapter) -> Done:
    """Until a record is confirmed: the broker is there, with all that it had."""
    deadline = time.monotonic() + 120
    while True:
        try:
            publisher = await adapter.publisher(work.subject)
            await publisher.publish([b"x" * work.size])
            ended = time.monotonic()
            await publisher.close()
            return Done(published=1, ended=ended)
        except Exception:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.005)


async def do(work: Work) -> Done:
    is_alone = work.publishers + work.workers + len(work.followers) == 1 and work.offer is None
    adapter = adapter_of(work.adapter)(work.address, is_alone=is_alone)
    try:
        if work.command == "create":
            await adapter.create(work.subject)
        elif work.command == "drop":
            await adapter.drop(work.subject)
        elif work.command == "probe":
            return await probe(work, adapter)
        else:
            return await load(work, adapter)
        return Done()
    finally:
        await adapter.close()


def answer(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def main() -> None:
    for line in sys.stdin:
        work = msgspec.json.decode(line, type=Work)
        try:
            done = uvloop.run(do(work))
        except Exception as error:
            done = Done(error=f"{type(error).__name__}: {error}")
        answer(msgspec.json.encode(done) + b"\n")


if __name__ == "__main__":
    main()
