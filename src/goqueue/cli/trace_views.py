"""Traces and journeys as `goqueue trace` prints them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from goqueue.cli.output import print_table
from goqueue.cli.times import bytes_text
from goqueue.cli.waterfall import duration_text, one_line, print_waterfall

__all__ = ["print_journey", "print_spans", "print_stats", "print_trace", "print_traces"]

Facts = Mapping[str, Any]
SHORT, LONG = 40, 200

STATES = {
    "waiting": "it waits for a consumer",
    "delayed": "it is delayed{until}",
    "retrying": "it failed and is tried again{at}",
    "behind_its_key": "it waits for an earlier record with the same key",
    "in_flight": "a consumer has it{until}",
    "done": "it is done",
    "dead_lettered": "it is a dead letter{letter}",
    "read": "it was read",
    "unread": "it has not been read yet",
}
GONE = {
    "removed": "The log no longer has it: it was removed by retention.",
    "compacted": "The log no longer has it: a newer record with its key has taken its place.",
    "unreadable": "The log cannot be read there: see `goqueue storage verify`.",
}


def print_traces(traces: Sequence[Facts]) -> None:
    if not traces:
        print("there are no traces; `goqueue trace stats` says how much is traced")
        return
    rows = [
        (
            one["trace_id"],
            one["start"][:23],
            duration_text(one["duration_ns"]),
            one["spans"],
            one["errors"] or "",
            _place(one["first"]),
            one_line(" ".join(dict.fromkeys(one["operations"])), 2 * SHORT),
        )
        for one in traces
    ]
    columns = ("trace", "began", "took", "spans", "errors", "record", "operations")
    numbers, to_drop = "took,spans,errors", "spans,began,operations"
    print_table("Traces, the newest first", columns, rows, numbers=numbers, whole="trace", to_drop=to_drop)


def print_spans(spans: Sequence[Facts]) -> None:
    if not spans:
        print("no span in the broker's memory fits; older ones are in its files, see `goqueue pipeline traces`")
        return
    rows = [
        (
            one["start"][:23],
            one["operation"],
            _place(one),
            one_line(one.get("group", ""), SHORT),
            duration_text(one["duration_ns"]),
            one_line(one.get("error", ""), SHORT),
            _text(one.get("key")),
            one["trace_id"],
        )
        for one in spans
    ]
    columns = ("began", "operation", "record", "group", "took", "error", "key", "trace")
    to_drop = "began,key,took,group,error"
    print_table("Spans, the newest first", columns, rows, numbers="took", whole="trace", to_drop=to_drop)


def print_trace(trace: Facts) -> None:
    spans = trace["spans"]
    failed = sum(span["status"] == "error" for span in spans)
    rest = f", {failed} failed" if failed else ""
    print(f"trace {trace['trace_id']}")
    print(f"{trace['start']}, {duration_text(trace['duration_ns'])}, {_count(len(spans), 'span')}{rest}\n")
    print_waterfall(spans)


def print_journey(journey: Facts) -> None:
    for line in _words(journey):
        print(line)
    if journey["spans"]:
        print(f"\ntrace {journey['trace_id']}")
        print_waterfall(journey["spans"])
    elif journey["traced"]:
        print(
            "\nNo spans of it are in the broker's memory any more; `goqueue pipeline traces` reads those in its files."
        )
    else:
        print("\nIt was not traced: tracing.rate, or trace_rate of the topic, leaves it out.")


def _words(journey: Facts) -> Iterator[str]:
    """The answer to where it is, a sentence for each thing that is known."""
    place = f"{journey['topic']}/{journey['partition']}/{journey['offset']}"
    if journey["found"] == "there":
        key = f", key {_text(journey['key'], LONG)}" if "key" in journey else ""
        yield f"{place}{key}: published {journey['published']}, {bytes_text(journey['size'])}."
    else:
        yield f"{place}: {GONE[journey['found']]}"
    yield from _hidden(journey)
    if not journey["groups"]:
        yield "No group has the topic: nobody consumes it."
    for group in journey["groups"]:
        yield _standing(group)


def _hidden(journey: Facts) -> Iterator[str]:
    """Why consumers may not see it."""
    if journey.get("transaction") == "open":
        yield "It is part of a transaction that has not ended: nobody sees it before the commit."
    if journey.get("transaction") == "aborted":
        yield "It is part of a transaction that was aborted: nobody will ever see it."
    delay = journey.get("delay")
    if delay == "pending":
        yield f"It is delayed until {journey['delayed_until']}."
    elif delay is not None:
        yield f"It was delayed; that is {delay}."
    if "expires" in journey:
        yield f"It {'expired' if journey['expired'] else 'expires'} at {journey['expires']}."


def _standing(group: Facts) -> str:
    until, letter = group.get("until"), group.get("dead_letter")
    state = STATES[group["state"]].format(
        until=f" until {until}" if until else "",
        at=f" at {until}" if until else "",
        letter=f", at {letter}" if letter else "",
    )
    counts = []
    if group["deliveries"]:
        counts.append(_count(group["deliveries"], "delivery", "deliveries"))
    if group["failures"]:
        counts.append(_count(group["failures"], "failure"))
    last = f"; the last reason: {one_line(group['last_failure'], LONG)}" if "last_failure" in group else ""
    member = f" ({one_line(group['member'], SHORT)})" if "member" in group else ""
    return f"Group {one_line(group['group'], LONG)}: {state}{member}{'; ' if counts else ''}{', '.join(counts)}{last}."


def print_stats(stats: Facts) -> None:
    facts = {
        "tracing": "on" if stats["enabled"] else "off",
        "rate": f"{stats['rate']:.2%} of records, unless their topic says otherwise",
        "in memory": f"{stats['spans_in_memory']:,} of {stats['capacity']:,} spans",
        "oldest": stats["oldest"] or "none",
        "recorded": f"{stats['spans_recorded']:,}",
        "not sampled": f"{stats['spans_sampled_out']:,}",
        "dropped": f"{stats['spans_dropped']:,}",
    }
    for name, value in facts.items():
        print(f"{name:11}  {value}")
    if stats["operations"]:
        rows = [
            (one["operation"], one["spans"], one["errors"], duration_text(one["p50_ns"]), duration_text(one["p99_ns"]))
            for one in stats["operations"]
        ]
        print_table("Operations", ("operation", "spans", "errors", "p50", "p99"), rows, numbers="spans,errors,p50,p99")


def _place(span: Facts) -> str:
    if "topic" not in span:
        return ""
    offset = f"/{span['offset']}" if "offset" in span else ""
    return f"{span['topic']}/{span['partition']}{offset}"


def _text(value: object, width: int = SHORT) -> str:
    if isinstance(value, dict):
        value = next(iter(value.values()), "")
    return "" if value is None else one_line(str(value), width)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
