"""`goqueue delay`: list, show, cancel and reschedule delayed records."""

from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.consent import YesOption, require_consent
from goqueue.cli.failures import PROBLEM
from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.remote import DEFAULT_SERVER, ServerOption, TopicArgument, ask

if TYPE_CHECKING:
    from goqueue.client import Admin
    from goqueue.wire.native.messages import DelayedRecord

__all__ = ["app"]

app = typer.Typer(
    help="List, show, cancel and reschedule delayed records.\n\nExample: goqueue delay list orders",
    rich_markup_mode=None,
    add_completion=False,
)

PartitionArgument = Annotated[int, typer.Argument(metavar="PARTITION", min=0, help="Number of the partition.")]
OffsetArgument = Annotated[int, typer.Argument(metavar="OFFSET", min=0, help="Offset of the record.")]

PlacesArgument = Annotated[
    list[str],
    typer.Argument(metavar="PLACE...", help="Partition and offset, such as 0/17 or 0/17-25.", show_default=False),
]


@app.command("list", short_help="List the delayed records of a topic.")
def list_delayed(
    topic: TopicArgument,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many to list.")] = 100,
    skip: Annotated[int, typer.Option(min=0, max=10_000, help="How many to pass over first.")] = 0,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the delayed records of a topic that are pending, the next one to be due first.

    Example: goqueue delay list orders --limit 10
    """
    from goqueue.cli.delay_views import delayed_list, print_delayed

    found = delayed_list(ask(server, lambda admin: admin.list_delayed(topic, skip=skip, limit=limit)))
    print_answer(found, output, lambda: print_delayed(topic, found))


@app.command(short_help="Show a delayed record and what became of it.")
def show(
    topic: TopicArgument,
    partition: PartitionArgument,
    offset: OffsetArgument,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show whether a delayed record is pending, delivered or cancelled, and the record itself.

    Example: goqueue delay show orders 0 17
    """
    from goqueue.cli.delay_views import delayed_facts, print_one

    facts = delayed_facts(*ask(server, lambda admin: admin.delayed(topic, partition, offset)))
    print_answer(facts, output, lambda: print_one(facts))


@app.command(short_help="Never deliver delayed records.")
def cancel(
    topic: TopicArgument,
    places: PlacesArgument,
    yes: YesOption = False,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Cancel delayed records: they are never delivered. This cannot be undone.

    One that cannot be cancelled stops no other. Two plain numbers are the partition and the offset of one record.

    Example: goqueue delay cancel orders 0/17 1/20-25 --yes
    """
    from goqueue.cli.delay_views import cancelled_facts, print_cancelled, records_text
    from goqueue.cli.places import parse_places

    one = len(places) == 2 and all(text.isdecimal() for text in places)
    wanted = parse_places(["/".join(places)] if one else places)
    if len(wanted) == 1:
        ask(server, lambda admin: admin.delayed(topic, *wanted[0]))
    else:
        ask(server, lambda admin: admin.topic(topic))
    require_consent(f"Never deliver {records_text(topic, wanted)}?", yes=yes)
    ended = ask(server, lambda admin: admin.cancel_delayed_many(topic, wanted))
    print_answer(cancelled_facts(ended), output, lambda: print_cancelled(topic, ended))
    if ended.refused:
        raise typer.Exit(PROBLEM)


@app.command(short_help="Deliver a delayed record at another time.")
def reschedule(
    topic: TopicArgument,
    partition: PartitionArgument,
    offset: OffsetArgument,
    delay: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="So long from now, such as 5m; 0 for at once.", show_default=False),
    ] = None,
    deliver_at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Then: 2026-12-31T23:59:59Z, or a duration such as 30s.", show_default=False),
    ] = None,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Deliver a delayed record at another time. Zero, or a time that has passed, means at once.

    Example: goqueue delay reschedule orders 0 17 --delay 5m
    """
    from goqueue.cli.delay_times import parse_delay
    from goqueue.cli.delay_views import delayed_facts
    from goqueue.cli.failures import Refused
    from goqueue.cli.times import instant_text

    delay_ms, deliver_at_ns = parse_delay(delay, deliver_at)
    if delay_ms is None and deliver_at_ns is None:
        raise Refused("no time is given", hint="add --delay 5m or --deliver-at 2026-12-31T23:59:59Z")

    async def change(admin: "Admin") -> "DelayedRecord":
        return await admin.reschedule_delayed(topic, partition, offset, delay_ms=delay_ms, deliver_at_ns=deliver_at_ns)

    found = ask(server, change)
    due = "at once" if not found.deliver_at_ns else f"at {instant_text(found.deliver_at_ns)}"
    facts = delayed_facts(found, None)
    print_answer(facts, output, lambda: print(f"record {offset} of {topic}/{partition} is delivered {due}"))


@app.command(short_help="Count delayed records by topic.")
def stats(server: ServerOption = DEFAULT_SERVER, output: OutputOption = Output.TABLE) -> None:
    """Count the records that are pending, delivered and cancelled, by topic.

    Example: goqueue delay stats
    """
    from goqueue.cli.delay_views import print_stats, topic_delays

    lines = topic_delays(ask(server, lambda admin: admin.delay_stats()))
    print_answer(lines, output, lambda: print_stats(lines))
