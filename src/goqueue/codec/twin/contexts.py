"""Which records of a batch belong to traces that began elsewhere."""

from goqueue.codec.faults import HEADER_SIZE, Fault, corrupt
from goqueue.codec.results import Contexts
from goqueue.codec.twin.header import HEADER, Buffer, fault_of, readable
from goqueue.model.contexts import pack
from goqueue.model.trace import TRACEPARENT, TraceContext, parse_traceparent

__all__ = ["contexts"]

NAME = TRACEPARENT.encode()


def contexts(buf: Buffer, below: int = 1 << 64) -> Contexts:
    """The records that carry a trace context as W3C has them, and of those the ones whose trace counts.

    That goes by the last 8 bytes of its id, as a number: it counts if it is less than `below`. Raises CorruptBatch
    where there is no record; of the records only the frames and the headers are looked at.
    """
    data = readable(buf)
    found: list[tuple[int, TraceContext]] = []
    position = number = carried = 0
    while position < len(data):
        if len(data) - position < HEADER_SIZE:
            raise corrupt(Fault.SHORT_HEADER, data, number, position)
        fields = HEADER.unpack_from(data, position)
        end = position + HEADER_SIZE + fields[8] + fields[9] + fields[10]
        fault = fault_of(fields, client=True) or (Fault.SHORT_BODY if end > len(data) else 0)
        if fault:
            raise corrupt(fault, data, number, position)
        value = _traceparent(data[end - fields[10] : end]) if fields[10] else None
        context = None if value is None else parse_traceparent(value)
        if context is not None:
            carried += 1
            if int(context.trace_id[16:], 16) < below:
                found.append((number, context))
        position = end
        number += 1
    first = found[0][0] if found else 0
    return Contexts(carried, first, pack((number - first, context) for number, context in found))


def _traceparent(block: bytes) -> bytes | None:
    """The last one counts, as with other headers."""
    found: bytes | None = None
    at = 2
    for _ in range(int.from_bytes(block[:2], "big")):
        key_end = at + 2 + int.from_bytes(block[at : at + 2], "big")
        value_end = key_end + 2 + int.from_bytes(block[key_end : key_end + 2], "big")
        if at + 4 > len(block) or key_end + 2 > len(block) or value_end > len(block):
            return None
        if block[at + 2 : key_end] == NAME:
            found = block[key_end + 2 : value_end]
        at = value_end
    return found
