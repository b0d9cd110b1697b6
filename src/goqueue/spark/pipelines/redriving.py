"""Send a selection of dead letters back: tasks ask the broker, which moves each of them once and at once."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
from pyspark.sql import functions as F

from goqueue.client.admin import Admin
from goqueue.errors import GoQueueError
from goqueue.spark.broker import ask
from goqueue.spark.pipelines.letters import pages_of_places
from goqueue.spark.vectors import over_columns
from goqueue.wire.native.letters import UNCHANGED, Cursor, LetterSelect, RedriveReply

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Redriven", "redrive"]

AT_ONCE = 500
"""Letters in one request: it must be answered in time."""
OUTCOME = "struct<code: string, message: string>"
DONE, MISSING = "done", "missing"
_OUTCOME = pa.struct([("code", pa.string()), ("message", pa.string())])


class Redriven(msgspec.Struct, frozen=True):
    """Of all letters that were selected; in a dry run, what would be."""

    dry_run: bool
    done: int
    failed: int
    missing: int
    """Somebody else was quicker; or this job itself, in a task that was tried again."""
    problems: Mapping[str, str] = {}
    """By code: one of the messages."""


def redrive(
    selected: "DataFrame", server: str, topic: str, *, dry_run: bool = False, per_second: float | None = None
) -> Redriven:
    """Letters of one partition go back in their order; with a rate, all of them one after the other."""
    at_once = AT_ONCE if per_second is None else max(1, min(AT_ONCE, int(per_second)))

    def send(partitions: pa.Array, offsets: pa.Array) -> pa.Array:
        places = list(zip(partitions.to_pylist(), offsets.to_pylist(), strict=True))
        outcomes: dict[tuple[int, int], tuple[str, str | None]] = {}
        for some in pages_of_places(places, at_once):
            for reply in ask(lambda some=some: _send(server, topic, some, dry_run, per_second)):  # type: ignore[misc]
                outcomes.update(_outcomes(reply))
        told = (outcomes.get(place, (MISSING, None)) for place in places)
        return pa.array([{"code": code, "message": message} for code, message in told], _OUTCOME)

    # It does something: neither twice, nor in another order, because that seems to be cheaper.
    sent = over_columns(send, OUTCOME, once=True)
    places = selected.select("partition", "offset")
    apart = places.repartition("partition") if per_second is None else places.repartition(1)
    told = apart.sortWithinPartitions("partition", "offset").select(sent("partition", "offset").alias("outcome"))
    rows = told.groupBy("outcome.code").agg(F.count("*").alias("letters"), F.first("outcome.message").alias("message"))
    found = {row.code: row for row in rows.collect()}
    counts = {code: row.letters for code, row in found.items()}
    problems = {code: row.message for code, row in found.items() if code not in (DONE, MISSING)}
    failed = sum(counts[code] for code in problems)
    return Redriven(dry_run, counts.get(DONE, 0), failed, counts.get(MISSING, 0), problems)


async def _send(
    server: str, topic: str, places: tuple[tuple[int, int], ...], dry_run: bool, per_second: float | None
) -> list[RedriveReply]:
    replies: list[RedriveReply] = []
    after: Cursor | None = None
    async with Admin(server) as admin:
        while True:
            reply = await admin.redrive_dead_letters(
                topic,
                LetterSelect(places=places),
                UNCHANGED,
                dry_run=dry_run,
                limit=len(places),
                per_second=per_second,
                after=after,
            )
            if reply.stopped is not None:
                raise GoQueueError(
                    f"the broker stopped sending letters back: {reply.stopped}",
                    hint="what was sent back is done with; run the same again for the rest",
                )
            replies.append(reply)
            after = reply.next
            if after is None:
                return replies


def _outcomes(reply: RedriveReply) -> Iterator[tuple[tuple[int, int], tuple[str, str | None]]]:
    """All are told one by one: a request has fewer than the broker would name."""
    for move in reply.moves:
        yield (move.partition, move.offset), (DONE, None)
    for refusal in reply.failures:
        yield (refusal.partition, refusal.offset), (refusal.code, refusal.message)
