"""Trace contexts carried by the records of a batch."""

from goqueue.codec.faults import HEADER_SIZE, Fault, corrupt
from goqueue.codec.results import Contexts
from goqueue.codec.twin.header import HEADER, Buffer, fault_of, readable
from goqueue.model.contexts import pack, pack_states
from goqueue.model.trace import LONGEST_STATE, TRACEPARENT, TRACESTATE, TraceContext, parse_traceparent

__all__ = ["contexts"]

NAME, STATE_NAME = TRACEPARENT.encode(), TRACESTATE.encode()


def contexts(buf: Buffer, below: int = 1 << 64) -> Contexts:
    """The records that carry a W3C trace context, and of those the ones whose trace is sampled.

    A trace is sampled if the last 8 bytes of its id, as a number, are less than `below`. Raises CorruptBatch where
    there is no record; only the frames and the headers of records are read.
    """
    data = readable(buf)
    found: list[tuple[int, TraceContext]] = []
    states: list[tuple[int, bytes]] = []
    position = number = carried = 0
    while position < len(data):
        if len(data) - position < HEADER_SIZE:
            raise corrupt(Fault.SHORT_HEADER, data, number, position)
        fields = HEADER.unpack_from(data, position)
        end = position + HEADER_SIZE + fields[8] + fields[9] + fields[10]
        fault = fault_of(fields, client=True) or (Fault.SHORT_BODY if end > len(data) else 0)
        if fault:
            raise corrupt(fault, data, number, position)
        value, state = _carried(data[end - fields[10] : end]) if fields[10] else (None, b"")
        context = None if value is None else parse_traceparent(value)
        if context is not None:
            carried += 1
            if int(context.trace_id[16:], 16) < below:
                found.append((number, context))
                if 0 < len(state) <= LONGEST_STATE:
                    states.append((number, state))
        position = end
        number += 1
    first = found[0][0] if found else 0
    packed = pack((number - first, context) for number, context in found)
    return Contexts(carried, first, packed.entries, pack_states((number - first, state) for number, state in states))


def _carried(block: bytes) -> tuple[bytes | None, bytes]:
    """The `traceparent` and `tracestate` of a block; the last one of each counts, as with other headers."""
    found: bytes | None = None
    state = b""
    at = 2
    for _ in range(int.from_bytes(block[:2], "big")):
        key_end = at + 2 + int.from_bytes(block[at : at + 2], "big")
        value_end = key_end + 2 + int.from_bytes(block[key_end : key_end + 2], "big")
        if at + 4 > len(block) or key_end + 2 > len(block) or value_end > len(block):
            return None, b""
        name = block[at + 2 : key_end]
        if name == NAME:
            found = block[key_end + 2 : value_end]
        elif name == STATE_NAME:
            state = block[key_end + 2 : value_end]
        at = value_end
    return found, state
