"""Which of some records are traced, and in which traces."""

from array import array
from collections.abc import Collection, Iterable, Sequence

from goqueue import codec
from goqueue.core.tracing.places import Place, leave_out
from goqueue.core.tracing.sampling import Sampler
from goqueue.engine.ports import Buffer
from goqueue.engine.tracing.tracing import Tracing
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.record_id import LONGEST_ID, id_of
from goqueue.model.runs import Runs, offsets_of, runs_of
from goqueue.model.trace import SAMPLED, TRACEPARENT, TraceContext, parse_traceparent

__all__ = ["choose", "choose_known", "context_in", "details_of", "place_of"]

FEW_AT_LEAST = 5
"""Fewer are noted one by one, with their keys and ids."""
MOST_DETAILED = 64
"""Records of a batch whose keys and ids are looked up: they are worth it, a batch that is traced as a whole is not."""
LONGEST_KEY = 512
"""Longer ones are not noted: keys may have 64 KiB, and what is kept in memory has a limit."""
NO_DETAILS: tuple[bytes | None, str] = (None, "")


def choose(tracing: Tracing, chosen: Sampler, log: LogId, offsets: Sequence[int], records: Buffer) -> list[Place]:
    """`records` are those with these offsets, which ascend, as they lie in the log."""
    carried, found = codec.contexts(records, chosen.below)
    if not carried:
        return _detailed(_plain(chosen, log.partition, offsets), records)
    plain = _by_offset(chosen, log.partition, offsets)
    tracing.carried.see(log)
    contexts = {offsets[number]: _context(value) for number, value in found}
    tracing.carried.put_all(log, contexts)
    carriers: Collection[int] = contexts
    if carried > len(contexts):
        # Some are in traces that do not count.
        is_each = carried == len(offsets)
        carriers = offsets if is_each else {offsets[number] for number, _ in codec.contexts(records).found}
        for offset in offsets_of(plain):
            if offset not in contexts and (is_each or offset in carriers):
                tracing.carried.put_aside(log, offset)
    places = [Place(offset, 1, context) for offset, context in contexts.items()]
    if len(carriers) < len(offsets):
        places += [Place(first, count) for first, count in leave_out(plain, carriers)]
    return _detailed(places, records)


def choose_known(tracing: Tracing, chosen: Sampler, log: LogId, offsets: Sequence[int]) -> list[Place]:
    """As `choose`, of records that are not at hand and were met before."""
    carried = tracing.carried
    if not carried.has(log):
        return _plain(chosen, log.partition, offsets)
    plain = _by_offset(chosen, log.partition, offsets)
    carriers = {offset for offset in offsets if carried.knows(log, offset)}
    contexts = ((offset, carried.get(log, offset)) for offset in sorted(carriers))
    return [
        *(Place(first, count) for first, count in leave_out(plain, carriers)),
        *(Place(offset, 1, context) for offset, context in contexts if context is not None),
    ]


def _plain(chosen: Sampler, partition: int, offsets: Sequence[int]) -> list[Place]:
    """Of records that carry none. Many of them that lie equally far apart, one in a hundred say, are one place."""
    if offsets and chosen.part == 1 and not chosen.is_all and _are_neighbours(offsets):
        found = chosen.spaced(partition, offsets[0], len(offsets))
        if len(found) >= FEW_AT_LEAST:
            return [Place(found.start, len(found), step=found.step)]
    return [Place(first, count) for first, count in _by_offset(chosen, partition, offsets)]


def _by_offset(chosen: Sampler, partition: int, offsets: Sequence[int]) -> Runs:
    if not offsets or not chosen.part:
        return ()
    if _are_neighbours(offsets):
        return chosen.runs(partition, offsets[0], len(offsets))
    return runs_of(offsets) if chosen.is_all else runs_of(chosen.among(partition, offsets))


def _are_neighbours(offsets: Sequence[int]) -> bool:
    return offsets[-1] - offsets[0] + 1 == len(offsets)


def _context(value: bytes) -> TraceContext:
    """Of a value that the codec has checked."""
    text = value.decode(errors="replace")
    flags = text[53:55]
    return TraceContext(text[3:35], text[36:52], SAMPLED if flags == "01" else int(flags, 16))


def _detailed(places: list[Place], records: Buffer) -> list[Place]:
    """With the keys and ids of those that stand alone, if they are few."""
    alone = [place.offset for place in places if place.length == 1]
    if not 0 < len(alone) <= MOST_DETAILED:
        return places
    found, _ = codec.pick(records, array("q", sorted(alone)).tobytes())
    details = {record.offset: details_of(record.key, record.headers) for record in codec.decode(found)}
    return [
        Place(place.offset, 1, place.context, *details.get(place.offset, NO_DETAILS)) if place.length == 1 else place
        for place in places
    ]


def details_of(key: bytes | None, headers: Sequence[tuple[str, bytes]]) -> tuple[bytes | None, str]:
    """Key and id, as spans have them."""
    found = id_of(headers) if headers else None
    kept = key if key is None or len(key) <= LONGEST_KEY else None
    return kept, "" if found is None else found[:LONGEST_ID].decode(errors="replace")


def place_of(record: Record, offset: int | None = None, delivery: int = 0) -> Place:
    """Of a record that is at hand."""
    context = context_in(record.headers)
    key, text = details_of(record.key, record.headers)
    return Place(record.offset if offset is None else offset, 1, context, key, text, delivery)


def context_in(headers: Iterable[tuple[str, bytes]]) -> TraceContext | None:
    """The last one counts, as with other headers."""
    values = [value for name, value in headers if name == TRACEPARENT]
    return parse_traceparent(values[-1]) if values else None
