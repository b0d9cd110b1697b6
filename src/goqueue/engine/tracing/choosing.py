"""Sampling: the records that are traced, and their traces."""

from array import array
from collections.abc import Iterable, Sequence

from goqueue import codec
from goqueue.core.tracing.places import Place, leave_out, together
from goqueue.core.tracing.sampling import Sampler
from goqueue.engine.ports import Buffer
from goqueue.engine.tracing.tracing import Tracing
from goqueue.model.contexts import PackedContexts
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.record_id import LONGEST_ID, id_of
from goqueue.model.runs import Runs, offsets_of, runs_of
from goqueue.model.trace import TRACEPARENT, TRACESTATE, TraceContext, parse_traceparent, parse_tracestate

__all__ = ["choose", "choose_known", "context_in", "details_of", "place_of"]

FEW_AT_LEAST = 5
"""Fewer records are noted one by one, with their keys and ids."""
MOST_DETAILED = 64
"""Records of a batch whose keys and ids are looked up; for a batch traced as a whole that costs too much."""
LONGEST_KEY = 512
"""Longer keys are not noted: keys may have 64 KiB, and memory is limited."""
NO_DETAILS: tuple[bytes | None, str] = (None, "")


def choose(tracing: Tracing, chosen: Sampler, log: LogId, offsets: Sequence[int], records: Buffer) -> list[Place]:
    """The traced ones of these records; `offsets` ascend, and `records` are their bytes from the log."""
    carried, number, entries, states = codec.contexts(records, chosen.below)
    if not carried:
        return _detailed(_plain(chosen, log.partition, offsets), records)
    tracing.carried.see(log)
    contexts = PackedContexts(entries, states)
    places = _carriers(tracing, log, offsets[number:], contexts)
    is_each, counted = carried == len(offsets), len(contexts)
    if is_each and carried == counted:
        return _detailed(places, records)
    here = {offset for place in places for offset in place.offsets}
    plain = _by_offset(chosen, log.partition, offsets)
    if is_each:
        aside = [offset for offset in offsets_of(plain) if offset not in here]
    else:
        carriers = here if carried == counted else _all_carriers(offsets, records)
        aside = [offset for offset in offsets_of(plain) if offset in carriers and offset not in here]
        places += [Place(first, count) for first, count in leave_out(plain, carriers)]
    # Their traces are not sampled.
    tracing.carried.put_aside(log, aside)
    return _detailed(places, records)


def choose_known(tracing: Tracing, chosen: Sampler, log: LogId, offsets: Sequence[int]) -> list[Place]:
    """Like `choose`, for records seen before that are not in memory."""
    if not tracing.carried.has(log):
        return _plain(chosen, log.partition, offsets)
    known = dict(tracing.carried.known(log, offsets))
    plain = leave_out(_by_offset(chosen, log.partition, offsets), known)
    carriers = [(offset, context) for offset, context in known.items() if context is not None]
    places = [Place(first, count) for first, count in plain]
    return [*places, together(carriers)] if carriers else places


def _carriers(tracing: Tracing, log: LogId, offsets: Sequence[int], contexts: PackedContexts) -> list[Place]:
    """Records of sampled traces; `offsets` begin with the first of them."""
    if not contexts:
        return []
    if not _are_neighbours(offsets):
        contexts = contexts.spread(offsets)
    tracing.carried.put(log, offsets[0], contexts)
    if len(contexts) < FEW_AT_LEAST:
        return [Place(offsets[0] + distance, 1, context) for distance, context in contexts]
    return [Place(offsets[0], len(contexts), contexts=contexts)]


def _all_carriers(offsets: Sequence[int], records: Buffer) -> set[int]:
    """All records with a trace context, sampled or not."""
    _, number, entries, _ = codec.contexts(records)
    return {offsets[number + distance] for distance, _ in PackedContexts(entries)}


def _plain(chosen: Sampler, partition: int, offsets: Sequence[int]) -> list[Place]:
    """Records without a trace context. Many that lie equally far apart, such as one in a hundred, are one place."""
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


def _detailed(places: list[Place], records: Buffer) -> list[Place]:
    """Add the keys and ids of single records, if these are few."""
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
    """The place of a decoded record."""
    context = context_in(record.headers)
    key, text = details_of(record.key, record.headers)
    return Place(record.offset if offset is None else offset, 1, context, key, text, delivery)


def context_in(headers: Iterable[tuple[str, bytes]]) -> TraceContext | None:
    """The trace context in the headers; of a repeated header the last one counts, as in other tracers."""
    parent = state = None
    for name, value in headers:
        if name == TRACEPARENT:
            parent = value
        elif name == TRACESTATE:
            state = value
    context = None if parent is None else parse_traceparent(parent)
    return context if context is None or state is None else context._replace(state=parse_tracestate(state))
