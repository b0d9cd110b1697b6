"""Dead letters as the pages of the workbench share them: which are wanted, which are ticked, how a row reads."""

import re
from collections.abc import Mapping
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.browse import Place
from goqueue.engine.group_lag import PartitionReach
from goqueue.engine.workbench.desk import WORKBENCH, Desk, Letter, desk_of
from goqueue.engine.workbench.search import Wanted, find
from goqueue.gateways.console.forms import instant_ns
from goqueue.gateways.console.links import link
from goqueue.gateways.console.values import as_text, decoded, preview
from goqueue.gateways.console.visit import Visit
from goqueue.model.topic import topic_name

__all__ = ["Filter", "LetterRow", "desk_in", "is_on_list", "open_count", "rows_from", "ticked"]

PAGE_LETTERS = 50
SEARCH_NS = 1_500_000_000
"""Of one request for letters that fit; then it says how far it came."""
TICK = re.compile(r"letter-([0-9]{1,5})\.([0-9]{1,18})", re.ASCII)

Short = Annotated[str, msgspec.Meta(max_length=1000)]


class Filter(msgspec.Struct, frozen=True):
    """Which letters; what is empty fits all."""

    reason: Short = ""
    cause: Short = ""
    key: Short = ""
    group: Short = ""
    since: Short = ""
    until: Short = ""

    @property
    def wanted(self) -> Wanted:
        return Wanted(
            reason=self.reason or None,
            cause=self.cause or None,
            key=self.key.encode() if self.key else None,
            group=self.group or None,
            from_ns=instant_ns(self.since, "Died after") if self.since else None,
            to_ns=instant_ns(self.until, "Died before") if self.until else None,
        )

    @property
    def given(self) -> dict[str, str]:
        """What is not empty, by the names of the fields."""
        return {name: text for name in Filter.__struct_fields__ if (text := getattr(self, name))}


class LetterRow(NamedTuple):
    partition: int
    offset: int
    died_ns: int
    cause: str
    reason: str
    group: str
    key: str | None
    value: str
    deliveries: int | None


class LetterRows(NamedTuple):
    """`last` is where the next page begins, None at the end; a page before that may be empty."""

    rows: list[LetterRow]
    last: Place | None


def desk_in(visit: Visit) -> Desk:
    return desk_of(visit.broker, topic_name(visit.params["topic"]))


def is_on_list(visit: Visit) -> bool:
    """Whether what is answered goes into the page with the list of letters, which then has to be read again."""
    shown = urlsplit(visit.header(b"hx-current-url")).path.rstrip("/")
    return visit.is_partial and shown == link("dlq", visit.params["topic"])


def open_count(broker: Broker, desk: Desk) -> int:
    """Letters that were neither sent back nor purged, without reading them."""
    found = (PartitionReach.of(one).of_queue(broker.queues.get(WORKBENCH, one.id), None) for one in desk.partitions)
    return sum(one.lag for one in found)


async def rows_from(broker: Broker, desk: Desk, wanted: Wanted, after: Place | None) -> LetterRows:
    began, last = broker.clock.now_ns(), after
    while True:
        page = await find(desk, wanted, PAGE_LETTERS, last)
        last = page.last
        if page.letters or last is None or broker.clock.now_ns() - began > SEARCH_NS:
            return LetterRows([await _row(broker, one) for one in page.letters], last)


async def _row(broker: Broker, letter: Letter) -> LetterRow:
    record, origin = letter.record, letter.origin
    return LetterRow(
        letter.partition,
        record.offset,
        record.timestamp_ns,
        "unknown" if origin is None else origin.cause,
        "" if origin is None else origin.reason,
        "" if origin is None else origin.group,
        None if record.key is None else as_text(record.key),
        preview(record.value, await decoded(broker, record.value)),
        None if origin is None else origin.deliveries,
    )


def ticked(fields: Mapping[str, str]) -> tuple[tuple[int, int], ...]:
    """Partitions and offsets of the boxes that were ticked."""
    found = filter(None, map(TICK.fullmatch, fields))
    return tuple((int(one[1]), int(one[2])) for one in found)
