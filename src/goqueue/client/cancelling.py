"""Many delayed records to cancel, as requests; and the answers, record by record."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from goqueue.client.connection import error_from
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.model.runs import offsets_of, runs_of
from goqueue.wire.native import messages

__all__ = ["Cancellation", "cancel_requests", "cancellation_of"]

TOGETHER = 10_000
"""In one request: the broker could take ten times as many, but others would have to wait for it."""
HIGHEST = 2**63 - 1

Place = tuple[int, int]


class Cancellation(NamedTuple):
    """Records by partition and offset: those that are never delivered, and why the others stay what they are.

    Example:

        from datetime import timedelta

        from goqueue import Admin, Producer

        with Producer() as producer, Admin() as admin:
            sent = producer.send("orders", json={"id": 5}, delay=timedelta(hours=1)).result()
            cancellation = admin.cancel_delayed_many("orders", [(sent.partition, sent.offset)])
            print(cancellation.cancelled, cancellation.refused)
    """

    cancelled: list[Place]
    refused: dict[Place, GoQueueError]


def cancel_requests(topic: str, places: Iterable[Place]) -> Iterator[messages.CancelDelayed]:
    wanted = sorted(set(places))
    for partition, offset in wanted:
        if not 0 <= partition <= HIGHEST or not 0 <= offset <= HIGHEST:
            raise InvalidRequest(f"record {offset} of partition {partition}", hint="both are counted from 0")
    return (_request(topic, wanted[first : first + TOGETHER]) for first in range(0, len(wanted), TOGETHER))


def cancellation_of(replies: Iterable[messages.CancelDelayedReply]) -> Cancellation:
    ended = Cancellation([], {})
    for part in (part for reply in replies for part in reply.parts):
        ended.cancelled.extend((part.partition, offset) for offset in offsets_of(part.cancelled))
        for given in part.refused:
            error = error_from(given.error)
            ended.refused.update(((part.partition, offset), error) for offset in offsets_of(given.runs))
    return ended


def _request(topic: str, places: list[Place]) -> messages.CancelDelayed:
    by_partition = groupby(places, key=lambda place: place[0])
    return messages.CancelDelayed(
        topic,
        tuple(
            messages.PendingRecords(partition, runs_of(offset for _, offset in some))
            for partition, some in by_partition
        ),
    )
