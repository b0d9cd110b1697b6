"""The trace that a program is in, for the records that it sends, and the one that a record came with.

OpenTelemetry is not needed. A program that has not loaded it is in no span, so it is never loaded here.
"""

import sys
from collections.abc import Iterable

from goqueue.model.trace import TRACEPARENT, TRACESTATE, TraceContext

__all__ = ["Headers", "carrier_of", "current_context", "with_context"]

Headers = tuple[tuple[str, bytes], ...]


def current_context() -> Headers:
    """Headers for the span that is active where this is called; none when there is none."""
    tracing = sys.modules.get("opentelemetry.trace")
    if tracing is None:
        return ()
    span = tracing.get_current_span().get_span_context()
    if not span.is_valid:
        return ()
    # The last two digits may have bits that the SDK knows and the standard does not; they are passed on.
    context = TraceContext(f"{span.trace_id:032x}", f"{span.span_id:016x}", int(span.trace_flags))
    traceparent = (TRACEPARENT, context.traceparent)
    if not span.trace_state:
        return (traceparent,)
    return (traceparent, (TRACESTATE, span.trace_state.to_header().encode()))


def with_context(headers: Headers) -> Headers:
    """These and the current context; a record that has a context keeps it."""
    context = current_context()
    if not context or TRACEPARENT in [name for name, _ in headers]:
        return headers
    return (*[header for header in headers if header[0] != TRACESTATE], *context)


def carrier_of(headers: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    """Those that are text, as propagators take them; the last of a name counts."""
    found = {}
    for name, value in headers:
        try:
            found[name] = value.decode()
        except UnicodeDecodeError:
            continue
    return found
