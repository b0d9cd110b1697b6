"""`goqueue group`: list, describe, rewind, pause, resume and delete consumer groups."""

from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.consent import YesOption, require_consent
from goqueue.cli.group_offsets import commit_offsets, offsets, rebalances
from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.remote import DEFAULT_SERVER, GroupArgument, ServerOption, ask, complete_topics

if TYPE_CHECKING:
    from goqueue.client import Admin
    from goqueue.wire.native.messages import OffsetChange

__all__ = ["app"]

app = typer.Typer(
    help="List, describe, rewind, pause and delete consumer groups.\n\nExample: goqueue group list",
    rich_markup_mode=None,
    add_completion=False,
)


@app.command("list", short_help="List the groups.")
def list_groups(server: ServerOption = DEFAULT_SERVER, output: OutputOption = Output.TABLE) -> None:
    """List the groups with their state, members, workers and lag; records of queues that are not due are told apart.

    Example: goqueue group list
    """
    from goqueue.cli.group_views import group_line, print_groups

    async def question(admin: "Admin") -> list[dict[str, object]]:
        return [group_line(group) for group in await admin.list_groups()]

    lines = ask(server, question)
    print_answer(lines, output, lambda: print_groups(lines))


@app.command(short_help="Show the members, workers, partitions and lag of a group.")
def describe(group: GroupArgument, server: ServerOption = DEFAULT_SERVER, output: OutputOption = Output.TABLE) -> None:
    """Show the members and workers of a group, and for each partition who reads it, how far, and how much is left.

    Example: goqueue group describe billing
    """
    from goqueue.cli.group_views import group_facts, print_group

    found = ask(server, lambda admin: admin.describe_group(group))
    print_answer(group_facts(found), output, lambda: print_group(found))


@app.command(short_help="Set where a group goes on reading.")
def reset_offsets(
    group: GroupArgument,
    to: Annotated[
        str,
        typer.Option(
            metavar="WHERE",
            help="earliest, latest, offset:N, or time:T with T as 2025-12-31T23:59:59Z or an age like 15m.",
            show_default=False,
        ),
    ],
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC",
            help="Only in this topic; repeat for more. Without it, wherever the group has committed.",
            show_default=False,
            autocompletion=complete_topics,
        ),
    ] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Do it. Without this it is only shown.")] = False,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Set where a group goes on reading. Only shows what would change, unless --execute is given.

    The group must exist (`goqueue group commit-offsets` begins one) and have no members. Offsets that are gone or not
    there yet become the nearest that exist.

    Example: goqueue group reset-offsets billing --to time:2h --topic orders --execute
    """
    from goqueue.adapters.clock import SystemClock
    from goqueue.cli.group_views import offset_changes, print_offset_changes
    from goqueue.cli.starting_points import parse_reset

    kind, value = parse_reset(to, now_ns=SystemClock().now_ns())

    async def question(admin: "Admin") -> "tuple[OffsetChange, ...]":
        # A group begins with a member or a commit: a mistyped name must not begin one.
        await admin.describe_group(group)
        return await admin.reset_offsets(group, kind, value, topics=topics or None, dry_run=not execute)

    made = ask(server, question)
    changes = offset_changes(made)
    print_answer(
        {"group": group, "executed": execute, "changes": changes},
        output,
        lambda: print_offset_changes(group, changes, executed=execute),
    )


@app.command(short_help="Delete a group and its offsets.")
def delete(
    group: GroupArgument,
    yes: YesOption = False,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete a group and its committed offsets. It must have no members. This cannot be undone.

    Example: goqueue group delete billing --yes
    """
    ask(server, lambda admin: admin.describe_group(group))
    require_consent(f"Delete the group {group} and its offsets?", yes=yes)
    ask(server, lambda admin: admin.delete_group(group))
    print_answer({"deleted": [group]}, output, lambda: print(f"deleted {group}"))


@app.command(short_help="Deliver nothing to a group until it is resumed.")
def pause(group: GroupArgument, server: ServerOption = DEFAULT_SERVER, output: OutputOption = Output.TABLE) -> None:
    """Deliver nothing to the members of a group until it is resumed. They stay members.

    Example: goqueue group pause billing
    """
    ask(server, lambda admin: admin.pause_group(group))
    print_answer({"group": group, "paused": True}, output, lambda: print(f"paused {group}"))


@app.command(short_help="Go on delivering to a paused group.")
def resume(group: GroupArgument, server: ServerOption = DEFAULT_SERVER, output: OutputOption = Output.TABLE) -> None:
    """Go on delivering to a group that was paused.

    Example: goqueue group resume billing
    """
    ask(server, lambda admin: admin.resume_group(group))
    print_answer({"group": group, "paused": False}, output, lambda: print(f"resumed {group}"))


@app.command(short_help="Show or set how long leases last and how records are tried again.")
def policy(
    group: GroupArgument,
    visibility: Annotated[str | None, typer.Option(metavar="DURATION", help="How long a lease lasts.")] = None,
    max_attempts: Annotated[int | None, typer.Option(min=1, help="Failures until a record is a dead letter.")] = None,
    backoff: Annotated[str | None, typer.Option(metavar="DURATION", help="The pause after the first failure.")] = None,
    backoff_max: Annotated[str | None, typer.Option(metavar="DURATION", help="The longest pause.")] = None,
    jitter: Annotated[float | None, typer.Option(min=0, max=1, help="The share of a pause left to chance.")] = None,
    offsets_retention: Annotated[
        str | None, typer.Option(metavar="DURATION", help="How long the group is kept when it is empty.")
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Leave everything that is not named to the topics.")] = False,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show or set what a group wants otherwise than its topics say. What is not named stays, or with --reset goes.

    Example: goqueue group policy billing --visibility 2m --max-attempts 5
    """
    from goqueue.cli.group_views import as_facts, print_policy
    from goqueue.model.durations import parse_duration_ms

    named = {
        "visibility_timeout_ms": None if visibility is None else parse_duration_ms(visibility),
        "max_attempts": max_attempts,
        "retry_backoff_ms": None if backoff is None else parse_duration_ms(backoff),
        "retry_backoff_max_ms": None if backoff_max is None else parse_duration_ms(backoff_max),
        "retry_jitter": jitter,
        "offsets_retention_ms": None if offsets_retention is None else parse_duration_ms(offsets_retention),
    }
    given = {name: value for name, value in named.items() if value is not None}

    async def question(admin: "Admin") -> dict[str, object]:
        if not given and not reset:
            return as_facts(await admin.group_policy(group))
        before = {} if reset else as_facts(await admin.group_policy(group))
        kept = {name: value for name, value in before.items() if value is not None}
        return as_facts(await admin.set_group_policy(group, **(kept | given)))

    found = ask(server, question)
    print_answer(found, output, lambda: print_policy(found))


app.command(short_help="Show where a group goes on reading.")(offsets)
app.command(short_help="Commit offsets for a group.")(commit_offsets)
app.command(short_help="Show how often and why groups were rebalanced.")(rebalances)
