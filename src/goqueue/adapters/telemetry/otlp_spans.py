"""OpenTelemetry spans, and the two OTLP exporters of its SDK; imported only if one is configured."""

import socket
from collections.abc import Iterator, Mapping
from functools import lru_cache

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags, TraceState
from opentelemetry.trace.status import Status, StatusCode
from opentelemetry.util.types import AttributeValue

from goqueue import __version__
from goqueue.adapters.telemetry.span_lines import shown_key
from goqueue.model.span import Operation, Span, SpanRun, spans_of

__all__ = ["otel_spans", "otlp_exporter"]

OPERATION_TYPES = {
    Operation.PUBLISH: "send",
    Operation.CONSUME: "receive",
    Operation.ACK: "settle",
    Operation.NACK: "settle",
    Operation.REJECT: "settle",
}
"""Operations with a type in the messaging conventions; all of them are calls of a client, which pulls."""
OTHER_ERROR = "_OTHER"
_RESOURCE = Resource({"service.name": "goqueue", "service.version": __version__, "host.name": socket.gethostname()})
_SCOPE = InstrumentationScope("goqueue", __version__)
_FLAGS = TraceFlags(TraceFlags.SAMPLED)
_FINE = Status(StatusCode.UNSET)


def otlp_exporter(export: str, endpoint: str, headers: Mapping[str, str], within_s: float) -> SpanExporter:
    """Exporter to `endpoint`, a URL; empty for the default address of a local collector."""
    if export == "otlp-grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

        # gRPC requires lower-case names.
        lower = {name.lower(): value for name, value in headers.items()}
        return GrpcExporter(endpoint=endpoint or "http://127.0.0.1:4317", headers=lower or None, timeout=within_s)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter

    url = endpoint or "http://127.0.0.1:4318"
    if url.count("/") == 2:
        url += "/v1/traces"
    return HttpExporter(endpoint=url, headers=dict(headers), timeout=within_s)


def otel_spans(run: SpanRun) -> Iterator[ReadableSpan]:
    """One span for each record of the run."""
    common, kind = _common_attributes(run), _kind(run)
    status = Status(StatusCode.ERROR, run.error) if run.error else _FINE
    for span in spans_of(run):
        yield ReadableSpan(
            name=f"{run.operation} {run.topic}".rstrip(),
            context=_context(span.trace_id, span.span_id, span.tracestate),
            parent=_parent(span),
            resource=_RESOURCE,
            attributes=common | _own_attributes(span),
            links=[
                Link(_context(link.trace_id, link.span_id, link.tracestate, is_remote=link.is_remote))
                for link in span.links
            ],
            kind=kind,
            status=status,
            start_time=run.start_ns,
            end_time=max(run.start_ns, run.end_ns),
            instrumentation_scope=_SCOPE,
        )


def _kind(run: SpanRun) -> SpanKind:
    """Span kind by the messaging conventions: a send is PRODUCER where records are created and get their context.

    Other sends, receiving and settling are CLIENT; operations of the broker itself are INTERNAL.
    """
    if run.operation is Operation.PUBLISH and run.context is None and not run.contexts:
        return SpanKind.PRODUCER
    return SpanKind.CLIENT if run.operation in OPERATION_TYPES else SpanKind.INTERNAL


def _context(trace_id: str, span_id: str, state: str, *, is_remote: bool = False) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote, _FLAGS, _state(state))


@lru_cache(maxsize=1024)
def _state(text: str) -> TraceState:
    return TraceState.from_header([text])


def _parent(span: Span) -> SpanContext | None:
    """Parent span: of the sender for a published record, otherwise a span of the broker."""
    if not span.parent_id:
        return None
    return _context(span.trace_id, span.parent_id, span.tracestate, is_remote=span.run.operation is Operation.PUBLISH)


def _common_attributes(run: SpanRun) -> dict[str, AttributeValue]:
    """Attributes with names of the messaging conventions."""
    key, key_base64 = shown_key(run.key)
    found: dict[str, AttributeValue | None] = {
        "messaging.system": "goqueue",
        "messaging.operation.name": str(run.operation),
        "messaging.operation.type": OPERATION_TYPES.get(run.operation),
        "messaging.destination.name": run.topic,
        "messaging.destination.partition.id": str(run.partition) if run.topic else None,
        "messaging.consumer.group.name": run.group,
        "messaging.client.id": run.member,
        "messaging.goqueue.delivery": run.delivery,
        "messaging.goqueue.message.key": key,
        "messaging.goqueue.message.key_base64": key_base64,
        "messaging.goqueue.record.id": run.id,
        "messaging.goqueue.target": run.target,
        "messaging.goqueue.transaction": run.transaction,
        # Error texts of workers have too many values for an attribute; they are the description of the status.
        "error.type": run.error_type or (OTHER_ERROR if run.error else None),
    }
    return {name: value for name, value in found.items() if value}


def _own_attributes(span: Span) -> dict[str, AttributeValue]:
    run = span.run
    if not run.topic or span.offset < 0:
        # A transaction is not a record, and a refused record has no offset.
        return {}
    return {
        "messaging.message.id": f"{run.topic}/{run.partition}/{span.offset}",
        "messaging.goqueue.offset": span.offset,
    }
