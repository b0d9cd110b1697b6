"""Append to a partition and read it back; a broker that has no room for more to write."""

import asyncio
import threading
from contextlib import asynccontextmanager

from goqueue import codec
from goqueue.core.producers.identities import IdentityGiven
from goqueue.engine.group_commit import INLINE_BYTES, PENDING_BYTES
from goqueue.engine.stream_names import PRODUCER_IDS
from goqueue.errors import GoQueueError
from goqueue.model.record import Record


def encoded(*values: bytes | None, key: bytes | None = None) -> bytearray:
    return bytearray(codec.encode([Record(value=value, key=key) for value in values]))


async def appended(partition, *values: bytes | None, key: bytes | None = None, durable: bool = True):
    """Append and wait until it is confirmed."""
    reply = asyncio.get_running_loop().create_future()

    def done(refusal: GoQueueError | None) -> None:
        if refusal is None:
            reply.set_result(None)
        else:
            reply.set_exception(refusal)

    written = partition.append(encoded(*values, key=key), done, durable=durable)
    await reply
    return written


def values_from(partition, offset: int = 0) -> list[bytes | None]:
    found = []
    while offset < partition.high_watermark:
        chunk = partition.read(offset, 1 << 20, partition.stable_offset)
        found += [record.value for record in codec.decode(chunk.records)] if chunk.records else []
        offset = chunk.next_offset
    return found


@asynccontextmanager
async def too_much_is_waiting(broker, monkeypatch):
    """As long as one write is held back and there is no room for more behind it."""
    may_write, write = threading.Event(), broker.storage.write

    def held_back(entries):
        assert may_write.wait(10)
        return write(entries)

    entry = (broker.streams.event(PRODUCER_IDS, IdentityGiven(1, 0)),)
    waiting = []
    with monkeypatch.context() as patched:
        patched.setattr(broker.storage, "write", held_back)
        try:
            # The first is in the hands of the writer's thread, the second takes all the room there is behind it.
            for size in (INLINE_BYTES + 1, PENDING_BYTES):
                waiting.append(asyncio.create_task(broker.commit.write(entry, size)))
                for _ in range(5):
                    await asyncio.sleep(0)
            yield
        finally:
            may_write.set()
            await asyncio.gather(*waiting)
