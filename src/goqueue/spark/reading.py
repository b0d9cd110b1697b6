"""Read a piece of a partition, in a task of Spark: fetched in large chunks, one of them ahead, as Arrow batches."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress

import pyarrow as pa

from goqueue import codec
from goqueue.client.link import Link
from goqueue.client.message import RawBatch
from goqueue.errors import ERRORS_BY_CODE, BrokerUnreachable, GoQueueError, OffsetOutOfRange
from goqueue.model.runs import Runs
from goqueue.spark.broker import RESTARTS_WITHIN_S
from goqueue.spark.failures import plainly
from goqueue.spark.options import ReadOptions
from goqueue.spark.ranges import Piece
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["read_chunks", "read_piece"]

FETCH_BYTES = 8 * 1024 * 1024
"""At most two such chunks are here at a time: that which Spark works on, and the next."""
LEAST_BYTES = 256 * 1024


@plainly
def read_piece(options: ReadOptions, piece: Piece, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """All visible records of the piece, in order."""
    from goqueue.spark.rows import to_rows

    for batch, hidden in read_chunks(options, piece):
        rows = to_rows(batch, schema, hidden)
        if rows.num_rows:
            yield rows


def read_chunks(options: ReadOptions, piece: Piece) -> Iterator[tuple[RawBatch, Runs]]:
    """As `read_piece`, before they become rows: stored records, and which of them must not be seen."""
    with _Chunks(options, piece) as chunks:
        yield from chunks


class _Chunks:
    """Fetches in a thread of its own, so that the next chunk comes while Spark works on this one."""

    def __init__(self, options: ReadOptions, piece: Piece) -> None:
        self._options = options
        self._piece = piece
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="goqueue-fetch", daemon=True)
        self._link = Link(options.bootstrap)

    def __enter__(self) -> "Iterator[tuple[RawBatch, Runs]]":
        self._thread.start()
        return self._chunks()

    def __exit__(self, *_: object) -> None:
        with suppress(GoQueueError):
            asyncio.run_coroutine_threadsafe(self._link.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _chunks(self) -> Iterator[tuple[RawBatch, Runs]]:
        at, end, size, seen = self._piece.start, self._piece.end, FETCH_BYTES, 0
        coming, until = self._ask(at, size), self._loop.time() + RESTARTS_WITHIN_S
        while at < end:
            part, records = coming.result()
            if part.next_offset <= at:
                # It could be read when this was planned; a broker that restarts may have transactions to end.
                if self._loop.time() >= until:
                    raise self._cut_short(at)
                coming = self._ask(at, size)
                continue
            at, seen = part.next_offset, seen + len(records)
            if at < end:
                size = self._bytes_left(at, seen)
                coming, until = self._ask(at, size), self._loop.time() + RESTARTS_WITHIN_S
            yield self._within(part, records), part.skip

    def _bytes_left(self, at: int, seen: int) -> int:
        """To ask for next: what lies behind the piece would be read, checked and sent for nothing.

        It goes by the records so far, and a little more; if those that come are larger, there is one more fetch.
        """
        piece = self._piece
        left = (piece.end - at) * seen // (at - piece.start)
        return min(FETCH_BYTES, left + left // 32 + LEAST_BYTES)

    def _cut_short(self, at: int) -> OffsetOutOfRange:
        piece = self._piece
        return OffsetOutOfRange(
            f"{piece.topic}/{piece.partition} ends at offset {at}, and was to be read up to {piece.end}",
            hint="a topic whose durability is memory loses its last records with its broker: begin anew",
        )

    def _ask(self, offset: int, size: int) -> "Future[tuple[messages.FetchedPart, memoryview]]":
        return asyncio.run_coroutine_threadsafe(self._fetch(offset, size), self._loop)

    async def _fetch(self, offset: int, size: int) -> tuple[messages.FetchedPart, memoryview]:
        piece = self._piece
        request = messages.Fetch(
            (messages.FetchFrom(piece.topic, piece.partition, offset),),
            size,
            1000,
            None,
            self._options.isolation,
        )
        until = self._loop.time() + RESTARTS_WITHIN_S
        while True:
            try:
                reply, records = await self._link.request(Opcode.FETCH, request, messages.Fetched)
            except BrokerUnreachable:
                # It may be restarting.
                left_s = until - self._loop.time()
                if left_s <= 0:
                    raise
                await self._link.connection_within(left_s)
                continue
            (part,) = reply.parts
            if part.error is None:
                return part, records
            error = ERRORS_BY_CODE.get(part.error.code, GoQueueError)(part.error.message, hint=part.error.hint)
            if not isinstance(error, OffsetOutOfRange) or self._options.fail_on_data_loss:
                raise error
            return await self._after_loss(offset, error)

    async def _after_loss(self, offset: int, error: GoQueueError) -> tuple[messages.FetchedPart, memoryview]:
        """Retention was quicker: go on where the log begins now, if that is in this piece at all."""
        piece = self._piece
        question = messages.ListOffsets((messages.OffsetQuestion(piece.topic, piece.partition, "earliest"),))
        (answer,) = (await self._link.ask(Opcode.LIST_OFFSETS, question, messages.Offsets)).answers
        if answer.offset <= offset:
            raise error
        to = min(answer.offset, piece.end)
        return messages.FetchedPart(piece.topic, piece.partition, to, to, 0, 0, 0), memoryview(b"")

    def _within(self, part: messages.FetchedPart, data: memoryview) -> RawBatch:
        """Without what lies behind the piece."""
        piece = self._piece
        if part.next_offset > piece.end:
            data = data[: codec.scan(data, 0, piece.end).end]
        return RawBatch(piece.topic, piece.partition, data, part.next_offset)
