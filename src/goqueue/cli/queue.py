"""`goqueue queue`: take records from a queue and settle them, from a shell; lanes, and how deliveries fare."""

import sys
from typing import Annotated, Any

import typer

from goqueue.cli.failures import PROBLEM, Refused
from goqueue.cli.http_broker import DEFAULT_HTTP, HttpOption, ask_http, in_path
from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.remote import complete_groups, complete_topics
from goqueue.model.durations import parse_duration_ms

__all__ = ["app"]

MOST_RECEIPTS = 10_000
BEYOND_WAIT_S = 30.0

app = typer.Typer(
    help="Take records from a queue, and acknowledge, return, reject or extend them.\n\n"
    "Example: goqueue queue take orders --group billing",
    rich_markup_mode=None,
    add_completion=False,
)

GroupOption = Annotated[
    str,
    typer.Option(
        "--group", "-g", metavar="GROUP", help="Whose queue it is.", show_default=False, autocompletion=complete_groups
    ),
]
ReceiptsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="RECEIPT...", help="As `take` printed them; - reads them from standard input.", show_default=False
    ),
]
ReasonOption = Annotated[str | None, typer.Option(metavar="TEXT", help="Why; it is noted.", show_default=False)]


@app.command(short_help="Take records; each is yours for a while.")
def take(
    topics: Annotated[
        list[str],
        typer.Argument(
            metavar="TOPIC...", help="From these topics.", show_default=False, autocompletion=complete_topics
        ),
    ],
    group: GroupOption,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, metavar="N", help="At most so many.")] = 1,
    wait: Annotated[str, typer.Option(metavar="DURATION", help="Wait so long for the first.")] = "1s",
    visibility: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Yours for so long.", show_default="as the topic says")
    ] = None,
    consumer: Annotated[str, typer.Option(metavar="NAME", help="Who takes them.")] = "goqueue-cli",
    key_order: Annotated[bool, typer.Option("--key-order", help="Of each key only one at a time.")] = False,
    latest: Annotated[bool, typer.Option("--latest", help="A new group begins at the end of the topic.")] = False,
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Take records of a queue. Nobody else gets them until the time is up; then they come again.

    Each has a receipt, which says to `ack`, `nack`, `reject` and `extend` which delivery is meant. When there is none
    in time, the answer is empty.

    Example: goqueue queue take orders --group billing --limit 10 -o json
    """
    from goqueue.cli.queue_views import print_taken

    wait_ms = parse_duration_ms(wait)
    query = {
        "topics": ",".join(topics),
        "limit": limit,
        "timeout": f"{wait_ms}ms",
        "visibility": None if visibility is None else f"{parse_duration_ms(visibility)}ms",
        "consumer": consumer,
        "order": "key" if key_order else None,
        "from": "latest" if latest else None,
    }
    found = ask_http(http, f"/groups/{in_path(group)}/poll", query, within_s=wait_ms / 1000 + BEYOND_WAIT_S)
    messages = found["messages"]
    print_answer(messages, output, lambda: print_taken(messages))


@app.command(short_help="Records are done, for good.")
def ack(receipts: ReceiptsArgument, http: HttpOption = DEFAULT_HTTP, output: OutputOption = Output.TABLE) -> None:
    """Say that records are done. They do not come again.

    Example: goqueue queue ack orders:0:42:1:billing/7/9f86d081
    """
    _settle(http, "/messages/ack", {"receipt_handles": _receipts(receipts)}, "acknowledged", output)


@app.command(short_help="Records failed; they come again later.")
def nack(
    receipts: ReceiptsArgument,
    reason: ReasonOption = None,
    delay: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Not before so long.", show_default="as the group says")
    ] = None,
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Say that records failed: they come again after a pause, or go to the dead letters when it was too often.

    Example: goqueue queue nack orders:0:42:1:billing/7/9f86d081 --reason "card service is away" --delay 10s
    """
    pause = None if delay is None else f"{parse_duration_ms(delay)}ms"
    body = {"receipt_handles": _receipts(receipts), "reason": reason, "delay": pause}
    _settle(http, "/messages/nack", body, "returned", output)


@app.command(short_help="Records cannot be done: to the dead letters.")
def reject(
    receipts: ReceiptsArgument,
    reason: ReasonOption = None,
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Send records to the dead letters at once, from where `goqueue dlq redrive` can send them back.

    Example: goqueue queue reject orders:0:42:1:billing/7/9f86d081 --reason "no such customer"
    """
    body = {"receipt_handles": _receipts(receipts), "reason": reason}
    _settle(http, "/messages/reject", body, "rejected", output)


@app.command(short_help="Records need more time.")
def extend(
    receipts: ReceiptsArgument,
    by: Annotated[str, typer.Option("--by", metavar="DURATION", help="From now on, so long.")] = "30s",
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Keep records for longer, counted from now.

    Example: goqueue queue extend orders:0:42:1:billing/7/9f86d081 --by 2m
    """
    body = {"receipt_handles": _receipts(receipts), "extension_seconds": parse_duration_ms(by) / 1000}
    _settle(http, "/messages/visibility", body, "extended", output)


@app.command(short_help="Show what waits, is in flight, comes and goes, by priority.")
def lanes(
    group: Annotated[
        str | None,
        typer.Option("--group", "-g", help="Only of this group.", show_default=False, autocompletion=complete_groups),
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option("--topic", "-t", help="Only of this topic.", show_default=False, autocompletion=complete_topics),
    ] = None,
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show of each priority of each queue what is ready, in flight, comes and goes.

    Example: goqueue queue lanes --group billing
    """
    from goqueue.cli.queue_views import print_lanes

    found = ask_http(http, "/priority/stats", {"group": group, "topic": topic})["queues"]
    print_answer(found, output, lambda: print_lanes(found))


@app.command(short_help="Show how deliveries fare, by group and topic.")
def stats(http: HttpOption = DEFAULT_HTTP, output: OutputOption = Output.TABLE) -> None:
    """Show how deliveries fare in each queue: how many are in flight, failed, tried again, dead.

    Example: goqueue queue stats
    """
    from goqueue.cli.queue_views import print_reliability

    found = ask_http(http, "/reliability/stats")["groups"]
    print_answer(found, output, lambda: print_reliability(found))


def _receipts(given: list[str]) -> list[str]:
    chosen = [one for text in given for one in (sys.stdin.read().split() if text == "-" else [text])]
    if not chosen:
        raise Refused("there are no receipts", hint="`goqueue queue take` prints one with each record")
    if len(chosen) > MOST_RECEIPTS:
        raise Refused(f"{len(chosen)} receipts", hint=f"give at most {MOST_RECEIPTS} at once")
    return chosen


def _settle(http: str, path: str, body: dict[str, Any], verb: str, output: Output) -> None:
    from goqueue.cli.queue_views import print_settled

    answer = ask_http(http, path, method="POST", body=body)
    results = answer.get("results", [answer])
    print_answer(results, output, lambda: print_settled(results, verb))
    if not all(one["success"] for one in results):
        raise typer.Exit(PROBLEM)
