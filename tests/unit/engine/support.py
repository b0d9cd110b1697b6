"""Append to a partition and read it back."""

import asyncio

from goqueue import codec
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
