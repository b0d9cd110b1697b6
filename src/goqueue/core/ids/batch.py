"""Business ids of one batch: their digests, their headers, and the records that are new."""

from array import array
from collections.abc import Sequence
from hashlib import blake2b
from itertools import accumulate
from typing import NamedTuple

from goqueue import codec
from goqueue.core.ids.events import DIGEST_BYTES, NO_ID, Place
from goqueue.model.record_id import ID_HEADER, id_of

__all__ = ["Division", "Repetition", "carries", "digests_of", "divide"]

MANY = 8
"""Batch size from which reading columns is cheaper than reading records one by one."""

_NAME = ID_HEADER.encode()


class Repetition(NamedTuple):
    """A record whose id is known; the original is elsewhere, or is one of the batch's new records."""

    step: int
    original: Place | int


class Division(NamedTuple):
    """The records of a batch by index: those to write, and the repetitions."""

    new: Sequence[int]
    repetitions: Sequence[Repetition]


def digests_of(ids: Sequence[bytes | None]) -> list[bytes]:
    """128-bit digests, so that entries have one size; long enough that collisions cannot be constructed."""
    return [NO_ID if one is None else blake2b(one, digest_size=DIGEST_BYTES).digest() for one in ids]


def divide(digests: Sequence[bytes], known: Sequence[Place | None]) -> Division:
    if not any(known) and len(set(digests)) == len(digests):
        return Division(range(len(digests)), ())
    new: list[int] = []
    repetitions: list[Repetition] = []
    seen: dict[bytes, int] = {}
    for step, (digest, place) in enumerate(zip(digests, known, strict=True)):
        original = place if place is not None else seen.get(digest)
        if original is not None:
            repetitions.append(Repetition(step, original))
            continue
        if digest != NO_ID:
            seen[digest] = len(new)
        new.append(step)
    return Division(new, repetitions)


def carries(records: bytes | bytearray, ids: Sequence[bytes | None]) -> bool:
    """Whether each record has its id as a header: from there it is restored when the index is lost."""
    if len(ids) >= MANY and _carries_only(records, ids):
        return True
    found = [id_of(record.headers) for record in codec.decode(records)]
    return len(found) == len(ids) and all(one is None or one == there for one, there in zip(ids, found, strict=True))


def _carries_only(records: bytes | bytearray, ids: Sequence[bytes | None]) -> bool:
    """Whether each record has an id and no other header, as is usual: checked without looking at each record."""
    given = [one for one in ids if one is not None]
    count = len(given)
    headers = codec.columns(records, codec.Column.HEADERS)
    return (
        count == headers.length == headers.header_count
        and headers.header_key_data == _NAME * count
        and headers.header_key_offsets == array("i", range(0, len(_NAME) * count + 1, len(_NAME))).tobytes()
        and headers.header_value_data == b"".join(given)
        and headers.header_value_offsets == array("i", accumulate(map(len, given), initial=0)).tobytes()
        and headers.header_list_offsets == array("i", range(count + 1)).tobytes()
    )
