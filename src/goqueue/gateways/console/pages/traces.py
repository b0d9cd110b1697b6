"""Traces: what happened lately, spans that have something in common, how long operations take, and one trace drawn."""

import re
from typing import Annotated, Any, Literal

import msgspec

from goqueue.core.tracing.search import TraceFacts, Wanted
from goqueue.engine.tracing.queries import find_spans, one_trace, recent_traces, tracing_facts
from goqueue.errors import InvalidRequest
from goqueue.gateways.console.forms import instant_ns
from goqueue.gateways.console.links import link
from goqueue.gateways.console.page import Answer, Html, NavItem, Page, Part, Redirect
from goqueue.gateways.console.values import as_text
from goqueue.gateways.console.visit import Visit
from goqueue.gateways.console.waterfall import took, waterfall
from goqueue.model.span import Operation, Span
from goqueue.model.topic import MOST_PARTITIONS

__all__ = ["PART"]

MOST_SHOWN = 40
MOST_SPANS = 500
"""Of one trace that are drawn."""
MOST_STEPS = 6

_TRACE_ID = re.compile(r"[0-9a-fA-F]{32}", re.ASCII)
Short = Annotated[str, msgspec.Meta(max_length=1000)]


class TraceQuery(msgspec.Struct, frozen=True):
    """With anything but an id, spans that have all of it."""

    trace: Short = ""
    topic: Short = ""
    partition: Annotated[int, msgspec.Meta(ge=0, lt=MOST_PARTITIONS)] | None = None
    group: Short = ""
    status: Literal["ok", "error"] | None = None
    operation: Operation | None = None
    key: Short = ""
    id: Short = ""
    since: Short = ""
    until: Short = ""

    @property
    def wanted(self) -> Wanted:
        return Wanted(
            topic=self.topic or None,
            partition=self.partition,
            group=self.group or None,
            start_ns=instant_ns(self.since, "After") if self.since else None,
            end_ns=instant_ns(self.until, "Before") if self.until else None,
            is_error=None if self.status is None else self.status == "error",
            key=self.key.encode() if self.key else None,
            id=self.id or None,
            operation=self.operation,
        )


async def listing(visit: Visit) -> Answer:
    query = visit.read_query(TraceQuery)
    if query.trace:
        return Redirect(link("traces", query.trace.strip()))
    wanted = query.wanted
    is_search = wanted != Wanted()
    facts = await tracing_facts(visit.broker)
    values = {
        "query": query,
        "is_search": is_search,
        "spans": [_found(one) for one in await find_spans(visit.broker, wanted, MOST_SHOWN)] if is_search else [],
        "traces": [] if is_search else [_summary(one) for one in await recent_traces(visit.broker, MOST_SHOWN)],
        "facts": facts,
        "operations": [(one, took(one.p50_ns), took(one.p99_ns)) for one in facts.operations],
        "choices": [("", "Any"), *((one.value, one.value) for one in Operation)],
        "statuses": [("", "Any"), ("ok", "ok"), ("error", "error")],
        "now": visit.now,
    }
    return Html("traces_rows.html" if visit.is_partial else "traces.html", values)


async def trace(visit: Visit) -> Answer:
    name = visit.params["trace"]
    if not _TRACE_ID.fullmatch(name):
        raise InvalidRequest(f"{name[:60]!r} is not the id of a trace", hint="it has 32 hexadecimal digits")
    spans = await one_trace(visit.broker, name)
    values = {
        "trace_id": spans[0].trace_id,
        "fall": waterfall(spans[:MOST_SPANS]),
        "total": len(spans),
        "place": next((_place(one) for one in spans if one.offset >= 0 and one.run.topic), None),
        "now": visit.now,
    }
    return Html("trace.html", values)


def _summary(facts: TraceFacts) -> dict[str, Any]:
    steps = list(dict.fromkeys(facts.operations))
    return {
        "trace_id": facts.trace_id,
        "first": facts.first,
        "steps": steps[:MOST_STEPS],
        "spans": facts.spans,
        "errors": facts.errors,
        "start_ns": facts.start_ns,
        "took": took(max(0, facts.end_ns - facts.start_ns)),
    }


def _found(span: Span) -> dict[str, Any]:
    run = span.run
    return {
        "span": span,
        "run": run,
        "key": None if run.key is None else as_text(run.key),
        "took": took(max(0, run.end_ns - run.start_ns)),
    }


def _place(span: Span) -> tuple[str, int, int]:
    return span.run.topic, span.run.partition, span.offset


PART = Part(
    pages=(
        Page("GET", "/traces", listing),
        Page("GET", "/traces/{trace}", trace),
    ),
    nav=(NavItem("Insight", "Traces", "/traces", "traces", "r"),),
)
