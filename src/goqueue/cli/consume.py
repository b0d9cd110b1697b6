"""`goqueue consume`: print the records of topics, alone or as a member of a group."""

import asyncio
import sys
from enum import StrEnum
from typing import Annotated

import typer

from goqueue.cli.failures import INTERRUPTED, Refused
from goqueue.cli.record_template import TEMPLATE_HELP
from goqueue.cli.remote import (
    DEFAULT_SERVER,
    ServerOption,
    complete_groups,
    complete_topics,
    with_commands_as_hints,
)

__all__ = ["consume"]


class RecordFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    RAW = "raw"


def consume(
    topics: Annotated[
        list[str],
        typer.Argument(metavar="TOPIC", help="Names of topics.", show_default=False, autocompletion=complete_topics),
    ],
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            "-g",
            help="Share the records with the other members of this group, and commit what was printed.",
            show_default=False,
            autocompletion=complete_groups,
        ),
    ] = None,
    start: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="WHERE",
            help="earliest, latest, an offset (-10: the last ten), 2025-12-31T23:59:59Z, or an age like 15m. "
            "For a group: where it has not committed yet.",
        ),
    ] = "earliest",
    follow: Annotated[bool, typer.Option(help="Wait for more at the end, or stop there.")] = False,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, metavar="N", help="Stop after N records.", show_default=False)
    ] = None,
    partitions: Annotated[
        list[int] | None,
        typer.Option(
            "--partition",
            "-p",
            min=0,
            metavar="N",
            help="Only this partition; repeat for more. Not for groups.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        RecordFormat,
        typer.Option("--format", help="Lines of text, JSON (a list, or an object on each line), or bare values."),
    ] = RecordFormat.TEXT,
    template: Annotated[
        str | None,
        typer.Option("--template", "-f", metavar="TEMPLATE", help=TEMPLATE_HELP, show_default=False),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            metavar="FIELDS",
            help="What to print beside the value: topic, partition, offset, timestamp, priority, headers, key "
            "with commas between; or all or none. Text has none unless named, JSON has all.",
            show_default=False,
        ),
    ] = None,
    separator: Annotated[
        str, typer.Option(metavar="TEXT", help="What stands between the fields of a line of text.", show_default="tab")
    ] = "\t",
    server: ServerOption = DEFAULT_SERVER,
) -> None:
    """Print the records of topics, up to the end that they had when the command began, or on and on with --follow.

    Without a group every partition is read and nothing is remembered. With one, the records are shared with its
    other members, and what was printed is committed. Ctrl-C leaves the group in order.

    A value or key that is not UTF-8 is {"base64": …} in JSON; null is a deleted one.

    Example: goqueue consume orders --from 15m --follow --show key,timestamp

    Example: goqueue consume orders -f '%p:%o %k %s\\n'
    """
    from goqueue.adapters.clock import SystemClock
    from goqueue.cli.consume_run import Job, run_job
    from goqueue.cli.record_output import parse_fields, record_printer, template_printer
    from goqueue.cli.starting_points import parse_start

    if group is not None and partitions:
        raise Refused("--partition with a group", hint="the group decides who reads which partition; leave out one")
    if template is None:
        fields = parse_fields(show, form.value)
        printer = record_printer(form.value, fields, separator, on_terminal=sys.stdout.isatty())
    elif form is RecordFormat.TEXT and show is None:
        printer = template_printer(template, on_terminal=sys.stdout.isatty())
    else:
        raise Refused("a template with --format or --show", hint="the template says it all: leave out the others")
    job = Job(
        tuple(dict.fromkeys(topics)),
        group,
        frozenset(partitions or ()),
        parse_start(start, now_ns=SystemClock().now_ns()),
        follow,
        count,
    )
    with with_commands_as_hints(server):
        interrupted = asyncio.run(run_job(server, job, printer))
    # Following ends in no other way, so that is how it is meant to end.
    raise typer.Exit(INTERRUPTED if interrupted and not follow else 0)
