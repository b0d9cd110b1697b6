"""Search for dead letters by reason, cause, key, group and time, in pages ordered by time."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from goqueue import codec
from goqueue.engine.browse import Place, Selection, as_given, browse
from goqueue.engine.partition import Partition
from goqueue.engine.queue.dead_letters import DeadLetter
from goqueue.engine.queue.gather import gather
from goqueue.engine.visibility import hidden, is_marker
from goqueue.engine.workbench.desk import Desk, Letter, letter_of, origin_of
from goqueue.errors import OffsetOutOfRange
from goqueue.model.record import Record

__all__ = ["MOST_LISTED", "LetterPage", "Wanted", "find", "show"]

MOST_LISTED = 1000
PAGE_BYTES = 4 * 1024 * 1024


class Wanted(msgspec.Struct, frozen=True):
    """A filter on letters; None means all. Times are those of death: `from_ns` is included, `to_ns` is not."""

    reason: str | None = None
    """A part of the reason, in upper or lower case."""
    cause: str | None = None
    key: bytes | None = None
    group: str | None = None
    from_ns: int | None = None
    to_ns: int | None = None
    places: tuple[tuple[int, int], ...] | None = None
    """Partitions and offsets."""

    def takes(self, record: Record, origin: DeadLetter | None) -> bool:
        if self.key is not None and record.key != self.key:
            return False
        if self.reason is None and self.cause is None and self.group is None:
            return True
        return origin is not None and (
            (self.reason is None or self.reason.lower() in origin.reason.lower())
            and (self.cause is None or self.cause == origin.cause)
            and (self.group is None or self.group == origin.group)
        )

    def is_in_time(self, record: Record) -> bool:
        return (self.from_ns is None or record.timestamp_ns >= self.from_ns) and (
            self.to_ns is None or record.timestamp_ns < self.to_ns
        )


class LetterPage(NamedTuple):
    """Letters in order, and the last place read, or None at the end."""

    letters: list[Letter]
    last: Place | None
    missing: int = 0
    """Number of requested places that have no letter, or one that is settled already."""


async def find(
    desk: Desk,
    wanted: Wanted,
    limit: int,
    after: Place | None = None,
    ends: Sequence[int] | None = None,
) -> LetterPage:
    """A page of open letters; with `ends`, only those before these offsets."""
    if not desk.partitions:
        return LetterPage([], None, len(wanted.places or ()))
    if wanted.places is not None:
        return await _at_places(desk, wanted, wanted.places, limit, after)
    selection = _Open(
        from_ns=wanted.from_ns,
        to_ns=wanted.to_ns,
        desk=desk,
        wanted=wanted,
        partitions=desk.partitions,
        ends=desk.ends() if ends is None else ends,
    )
    page = await browse(desk.broker, desk.name, selection, limit, after)
    return LetterPage([letter_of(one.partition, one.record, one.fault) for one in page.found], page.last)


async def show(desk: Desk, number: int, offset: int) -> Letter:
    """The letter at one place, unless it was redriven or purged."""
    partition = desk.broker.partition(desk.name, number)
    here = [offset] if _can_be_read(desk, partition, offset) else []
    records = codec.decode((await gather(desk.broker, partition, here, PAGE_BYTES)).records)
    if not records or is_marker(records[0]) or not desk.is_own(origin_of(records[0])):
        raise OffsetOutOfRange(
            f"there is no dead letter at offset {offset} of {partition.id}",
            hint="it may have been sent back or purged; the list shows what is left",
        )
    given = as_given(number, records[0])
    return letter_of(number, given.record, given.fault)


class _Open(Selection, frozen=True, kw_only=True):
    """The range to read, and the filter for wanted letters in it."""

    desk: Desk
    wanted: Wanted
    partitions: Sequence[Partition]
    ends: Sequence[int]

    def takes(self, partition: int, record: Record) -> bool:
        if not self.desk.is_open(self.partitions[partition], record.offset):
            return False
        origin = origin_of(record)
        return self.wanted.takes(record, origin) and self.desk.is_own(origin)

    def bounds(self, partition: Partition) -> tuple[int, int]:
        number = partition.id.partition
        end = self.ends[number] if number < len(self.ends) else 0
        return self.desk.first_open(partition), min(end, partition.stable_offset)


async def _at_places(
    desk: Desk, wanted: Wanted, places: Sequence[tuple[int, int]], limit: int, after: Place | None
) -> LetterPage:
    """Letters by partition and offset; a page is of one partition."""
    left = sorted({place for place in places if after is None or place > (after.partition, after.offset)})
    if not left:
        return LetterPage([], None)
    number = left[0][0]
    offsets = [offset for partition, offset in left if partition == number][:limit]
    letters: list[Letter] = []
    if number < len(desk.partitions):
        partition = desk.partitions[number]
        here = [offset for offset in offsets if _can_be_read(desk, partition, offset)]
        found = await gather(desk.broker, partition, here, PAGE_BYTES)
        if here and found.reached <= here[-1]:
            offsets = [offset for offset in offsets if offset < found.reached]
        letters = await asyncio.get_running_loop().run_in_executor(desk.broker.readers, _letters, number, found.records)
    letters = [one for one in letters if _is_wanted(desk, wanted, one)]
    is_end = left[-1] == (number, offsets[-1])
    return LetterPage(letters, None if is_end else Place(0, number, offsets[-1]), len(offsets) - len(letters))


def _can_be_read(desk: Desk, partition: Partition, offset: int) -> bool:
    is_visible = offset < partition.stable_offset and offset not in hidden(partition, offset, offset + 1)
    return is_visible and desk.is_open(partition, offset)


def _letters(number: int, records: bytes) -> list[Letter]:
    given = (as_given(number, record) for record in codec.decode(records) if not is_marker(record))
    return [letter_of(number, one.record, one.fault) for one in given]


def _is_wanted(desk: Desk, wanted: Wanted, letter: Letter) -> bool:
    return (
        desk.is_own(letter.origin) and wanted.takes(letter.record, letter.origin) and wanted.is_in_time(letter.record)
    )
