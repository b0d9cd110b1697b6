"""`goqueue trace`: what happened to records lately, and where one message is now."""

from typing import Annotated, Any, Literal

import typer

from goqueue.cli.failures import Refused
from goqueue.cli.http_broker import DEFAULT_HTTP, HttpOption, ask_http
from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.places import parse_places
from goqueue.cli.remote import TopicArgument

__all__ = ["app"]

app = typer.Typer(
    help="See what happened to records, and find out where a message is.\n\n"
    "Example: goqueue trace journey orders --key customer-1",
    rich_markup_mode=None,
    add_completion=False,
)

MostOption = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, metavar="N", help="How many to list.")]
OperationName = Literal[
    "publish", "consume", "ack", "nack", "reject", "delay", "expire", "dlq", "redrive", "transaction"
]
StatusName = Literal["ok", "error"]


@app.command("list", short_help="List the traces in which something happened last.")
def list_traces(
    limit: MostOption = 20,
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the traces in which something happened last, the newest first.

    Example: goqueue trace list -n 50
    """
    from goqueue.cli.trace_views import print_traces

    found = ask_http(http, "/traces", {"limit": limit})
    print_answer(found, output, lambda: print_traces(found["traces"]))


@app.command(short_help="Draw one trace.")
def get(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="Its id, 32 hex digits.", show_default=False)],
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Draw what happened in one trace: what led to what, when, and for how long.

    Example: goqueue trace get 4bf92f3577b34da6a3ce929d0e0e4736
    """
    from goqueue.cli.trace_views import print_trace

    if len(trace) != 32 or not all(digit in "0123456789abcdefABCDEF" for digit in trace):
        raise Refused(f"{trace!r} is not the id of a trace", hint="it has 32 hex digits; `goqueue trace list` has some")
    found = ask_http(http, f"/traces/{trace.lower()}")
    print_answer(found, output, lambda: print_trace(found))


@app.command(short_help="Search spans by topic, group, time, key and more.")
def search(
    topic: Annotated[
        str | None, typer.Option("--topic", "-t", metavar="TOPIC", help="Only of this topic.", show_default=False)
    ] = None,
    partition: Annotated[int | None, typer.Option(min=0, help="Only of this partition.", show_default=False)] = None,
    group: Annotated[
        str | None, typer.Option("--group", "-g", metavar="GROUP", help="Only of this group.", show_default=False)
    ] = None,
    operation: Annotated[OperationName | None, typer.Option(help="Only of this operation.", show_default=False)] = None,
    status: Annotated[StatusName | None, typer.Option(help="Only what went so.", show_default=False)] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="Only with this key.", show_default=False)] = None,
    record_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Only of the record with this id.", show_default=False)
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="Not older than this: 2025-12-31T23:59:59Z, or 15m.", show_default=False
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Older than this time or age.", show_default=False)
    ] = None,
    limit: MostOption = 100,
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Search the spans in the broker's memory, the newest first. All options that are given have to fit.

    Example: goqueue trace search --topic orders --status error --from 15m
    """
    from goqueue.cli.trace_views import print_spans

    query = {
        "topic": topic,
        "partition": partition,
        "consumer_group": group,
        "operation": operation,
        "status": status,
        "key": key,
        "id": record_id,
        "start": _instant(since),
        "end": _instant(until),
        "limit": limit,
    }
    found = ask_http(http, "/traces/search", query)
    print_answer(found, output, lambda: print_spans(found["spans"]))


@app.command(short_help="Say where a message is, and draw its way.")
def journey(
    topic: TopicArgument,
    place: Annotated[
        str | None, typer.Argument(metavar="P/O", help="Partition and offset, such as 0/17.", show_default=False)
    ] = None,
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="The newest record with this key.", show_default=False)
    ] = None,
    record_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="The record with this id.", show_default=False)
    ] = None,
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Say where a message is: in the log, in each group, and what happened to it so far.

    What the log and the groups know is there for every record, also for one that was not traced.

    Example: goqueue trace journey orders 0/17
    """
    from goqueue.cli.trace_views import print_journey

    if [place, key, record_id].count(None) != 2:
        raise Refused("which record is not clear", hint="name its place, such as 0/17, or its --key, or its --id")
    query: dict[str, Any] = {"topic": topic, "key": key, "id": record_id}
    if place is not None:
        found_places = parse_places([place])
        if len(found_places) != 1:
            raise Refused(f"{place} are {len(found_places)} records", hint="name one, such as 0/17")
        query["partition"], query["offset"] = found_places[0]
    found = ask_http(http, "/traces/journey", query)
    print_answer(found, output, lambda: print_journey(found))


@app.command(short_help="Show how much is traced, and how long each operation takes.")
def stats(http: HttpOption = DEFAULT_HTTP, output: OutputOption = Output.TABLE) -> None:
    """Show how much is traced and kept, and how long each operation takes.

    Example: goqueue trace stats
    """
    from goqueue.cli.trace_views import print_stats

    found = ask_http(http, "/traces/stats")
    print_answer(found, output, lambda: print_stats(found))


def _instant(text: str | None) -> str | None:
    from goqueue.adapters.clock import SystemClock
    from goqueue.cli.times import instant_text, parse_instant

    return None if text is None else instant_text(parse_instant(text, now_ns=SystemClock().now_ns()))
