"""Spans as OpenTelemetry has them, and the two exporters of its SDK. Only loaded when they are wanted."""

import re
import socket
from collections.abc import Iterator, Mapping

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode
from opentelemetry.util.types import AttributeValue

from goqueue import __version__
from goqueue.adapters.telemetry.span_lines import shown_key
from goqueue.model.span import Operation, Span, SpanRun, spans_of
from goqueue.model.trace import Birth, born_at

__all__ = ["otel_spans", "otlp_exporter"]

KINDS = {Operation.PUBLISH: SpanKind.PRODUCER, Operation.CONSUME: SpanKind.CONSUMER}
OPERATION_TYPES = {
    Operation.PUBLISH: "send",
    Operation.CONSUME: "receive",
    Operation.ACK: "settle",
    Operation.NACK: "settle",
    Operation.REJECT: "settle",
}
"""Those for which the messaging conventions have a type."""
OTHER_ERROR = "_OTHER"
_CODE = re.compile(r"[a-z][a-z_]{0,63}")
_RESOURCE = Resource({"service.name": "goqueue", "service.version": __version__, "host.name": socket.gethostname()})
_SCOPE = InstrumentationScope("goqueue", __version__)
_FLAGS = TraceFlags(TraceFlags.SAMPLED)
_FINE = Status(StatusCode.UNSET)


def otlp_exporter(export: str, endpoint: str, headers: Mapping[str, str], within_s: float) -> SpanExporter:
    """`endpoint` is a URL; empty for the place where a collector on this machine listens."""
    if export == "otlp-grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

        # gRPC has no other names than these.
        lower = {name.lower(): value for name, value in headers.items()}
        return GrpcExporter(endpoint=endpoint or "http://127.0.0.1:4317", headers=lower or None, timeout=within_s)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter

    url = endpoint or "http://127.0.0.1:4318"
    if url.count("/") == 2:
        url += "/v1/traces"
    return HttpExporter(endpoint=url, headers=dict(headers), timeout=within_s)


def otel_spans(run: SpanRun) -> Iterator[ReadableSpan]:
    """One for each record of the run."""
    common = _common_attributes(run)
    links = _links(run)
    status = Status(StatusCode.ERROR, run.error) if run.error else _FINE
    for span in spans_of(run):
        yield ReadableSpan(
            name=f"{run.operation} {run.topic}".rstrip(),
            context=_context(span.trace_id, span.span_id),
            parent=_parent(span),
            resource=_RESOURCE,
            attributes=common | _own_attributes(span),
            links=links,
            kind=KINDS.get(run.operation, SpanKind.INTERNAL),
            status=status,
            start_time=run.start_ns,
            end_time=max(run.start_ns, run.end_ns),
            instrumentation_scope=_SCOPE,
        )


def _context(trace_id: str, span_id: str, *, is_remote: bool = False) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote, _FLAGS)


def _parent(span: Span) -> SpanContext | None:
    """What a record was published in is the sender's, everything else is ours."""
    if not span.parent_id:
        return None
    return _context(span.trace_id, span.parent_id, is_remote=span.run.operation is Operation.PUBLISH)


def _links(run: SpanRun) -> tuple[Link, ...]:
    """What is part of a transaction points to it; a transaction has a trace of its own."""
    if not run.transaction or run.operation is Operation.TRANSACTION:
        return ()
    whole = born_at(Birth("", 0, 0, run.transaction))
    return (Link(_context(whole.trace_id, whole.span_id)),)


def _common_attributes(run: SpanRun) -> dict[str, AttributeValue]:
    """Names of the messaging conventions where they have one."""
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
        "error.type": _error_type(run.error),
    }
    return {name: value for name, value in found.items() if value}


def _own_attributes(span: Span) -> dict[str, AttributeValue]:
    run = span.run
    if not run.topic or span.offset < 0:
        # A transaction is no record, and a record that was refused has no place.
        return {}
    return {
        "messaging.message.id": f"{run.topic}/{run.partition}/{span.offset}",
        "messaging.goqueue.offset": span.offset,
    }


def _error_type(error: str) -> str | None:
    """A code of ours; reasons of workers are any words, of which there may be too many to count by."""
    if not error:
        return None
    return error if _CODE.fullmatch(error) else OTHER_ERROR
