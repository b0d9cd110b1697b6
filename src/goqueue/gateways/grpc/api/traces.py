"""What calls about traces do: what happened lately, and where one record is now."""

import re

from goqueue.core.tracing.search import Wanted
from goqueue.engine.broker import Broker
from goqueue.engine.browse import Found
from goqueue.engine.tracing.journey import Journey, find_journey
from goqueue.engine.tracing.queries import MOST_LISTED, find_spans, one_trace, recent_traces, tracing_facts
from goqueue.errors import InvalidRequest
from goqueue.gateways.grpc.forms.asking import convert, given, limited, optional
from goqueue.gateways.grpc.forms.showing import show, stored
from goqueue.gateways.grpc.service import Call, Handler, Service
from goqueue.model.span import Operation, Span
from goqueue.model.topic import topic_name
from goqueue.wire.grpc.v1 import traces_pb2 as wire

__all__ = ["trace_service"]

USUAL_LIMIT = 100

_TRACE_ID = re.compile(r"[0-9a-fA-F]{32}", re.ASCII)


def trace_service(broker: Broker) -> Service:
    async def recent(request: wire.ListTracesRequest, _: Call) -> wire.ListTracesResponse:
        found = await recent_traces(broker, limited(optional(request, "limit"), USUAL_LIMIT, MOST_LISTED))
        return wire.ListTracesResponse(
            traces=[show(wire.TraceSummary, one, first=_span(one.first)) for one in found],
        )

    async def one(request: wire.GetTraceRequest, _: Call) -> wire.GetTraceResponse:
        if not _TRACE_ID.fullmatch(request.trace_id):
            raise InvalidRequest(
                f"{request.trace_id[:60]!r} is not the id of a trace", hint="it has 32 hexadecimal digits"
            )
        return wire.GetTraceResponse(spans=map(_span, await one_trace(broker, request.trace_id)))

    async def search(request: wire.SearchSpansRequest, _: Call) -> wire.SearchSpansResponse:
        if request.HasField("topic"):
            topic_name(request.topic)
        limit = limited(optional(request, "limit"), USUAL_LIMIT, MOST_LISTED)
        found = await find_spans(broker, convert(given(request), Wanted), limit)
        return wire.SearchSpansResponse(spans=map(_span, found))

    async def journey(request: wire.GetJourneyRequest, _: Call) -> wire.GetJourneyResponse:
        found = await find_journey(
            broker,
            topic_name(request.topic),
            number=optional(request, "partition"),
            offset=optional(request, "offset"),
            id_text=optional(request, "id"),
            key=optional(request, "key"),
        )
        return _journey(found)

    async def stats(_: wire.GetTraceStatsRequest, __: Call) -> wire.GetTraceStatsResponse:
        facts = await tracing_facts(broker)
        return show(wire.GetTraceStatsResponse, facts, capacity=facts.ring)

    methods: dict[str, Handler] = {
        "ListTraces": recent,
        "GetTrace": one,
        "SearchSpans": search,
        "GetJourney": journey,
        "GetTraceStats": stats,
    }
    return Service(wire.DESCRIPTOR.services_by_name["TraceService"], methods)


def _span(span: Span) -> wire.Span:
    run = span.run
    is_record = run.operation is not Operation.TRANSACTION
    return show(
        wire.Span,
        run,
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_id=span.parent_id,
        tracestate=span.tracestate,
        links=span.links,
        partition=run.partition if is_record else None,
        offset=span.offset if is_record and span.offset >= 0 else None,
    )


def _journey(found: Journey) -> wire.GetJourneyResponse:
    record = None
    if found.record is not None:
        record = stored(found.topic, Found(found.partition, found.record))
        # A large value would only be in the way; it can be read from the partition.
        record.ClearField("value")
    return show(
        wire.GetJourneyResponse,
        found,
        record=record,
        delay=None if found.delay is None else found.delay.value,
        spans=[_span(span) for span in found.spans],
    )
