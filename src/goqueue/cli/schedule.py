"""`goqueue schedule`: publish records again and again, by cron or at a fixed rate."""

from typing import Annotated

import typer

from goqueue.cli.consent import YesOption, require_consent
from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.remote import DEFAULT_SERVER, ServerOption, TopicArgument, ask, complete_schedules

__all__ = ["app"]

app = typer.Typer(
    help="Publish records again and again, by cron or at a fixed rate.\n\n"
    'Example: goqueue schedule create daily reports --cron "0 9 * * MON-FRI" --zone Europe/Berlin --value go',
    rich_markup_mode=None,
    add_completion=False,
)

ScheduleArgument = Annotated[
    str, typer.Argument(metavar="SCHEDULE", help="Its id.", show_default=False, autocompletion=complete_schedules)
]
CronOption = Annotated[str | None, typer.Option(help="When: five fields, six with seconds first, or @daily.")]
EveryOption = Annotated[str | None, typer.Option(metavar="DURATION", help="When: at this rate, such as 30s or 1h.")]
ZoneOption = Annotated[str | None, typer.Option(help="The time zone of --cron, such as Europe/Berlin.")]
ValueOption = Annotated[str | None, typer.Option("--value", "-v", help="The value of each record.")]
KeyOption = Annotated[str | None, typer.Option("--key", "-k", help="The key of each record.")]
PriorityOption = Annotated[int | None, typer.Option(min=0, max=4, help="0 critical to 4 background.")]
StartOption = Annotated[str | None, typer.Option(metavar="TIME", help="Not before, such as 2027-01-01T00:00:00Z.")]
EndOption = Annotated[str | None, typer.Option(metavar="TIME", help="Not after.")]
MisfireOption = Annotated[str | None, typer.Option(help="For what was missed: skip, once (default) or all.")]
GapOption = Annotated[str | None, typer.Option(help="A local time that does not exist: shift (default) or skip.")]
OverlapOption = Annotated[
    str | None, typer.Option(help="A local time that comes twice: first (default), second or both.")
]
JitterOption = Annotated[str | None, typer.Option(metavar="DURATION", help="Spread firings over so long.")]
MaxFiringsOption = Annotated[int | None, typer.Option(min=1, help="End after so many.")]
DescriptionOption = Annotated[str | None, typer.Option(help="A note for people.")]


@app.command("list", short_help="List the schedules.")
def list_schedules(server: ServerOption = DEFAULT_SERVER, output: OutputOption = Output.TABLE) -> None:
    """List the schedules, and when each fires next.

    Example: goqueue schedule list
    """
    from goqueue.cli.schedule_views import print_schedules, schedule_facts

    found = ask(server, lambda admin: admin.schedules())
    print_answer([schedule_facts(one) for one in found], output, lambda: print_schedules(found))


@app.command(short_help="Show a schedule and its last firings.")
def show(
    schedule: ScheduleArgument, server: ServerOption = DEFAULT_SERVER, output: OutputOption = Output.TABLE
) -> None:
    """Show a schedule, when it fires next, and what became of its last occurrences.

    Example: goqueue schedule show daily
    """
    from goqueue.cli.schedule_views import print_schedule, schedule_facts

    found = ask(server, lambda admin: admin.schedule(schedule))
    print_answer(schedule_facts(found), output, lambda: print_schedule(found))


@app.command(short_help="Make a schedule.")
def create(
    schedule: ScheduleArgument,
    topic: TopicArgument,
    cron: CronOption = None,
    every: EveryOption = None,
    zone: ZoneOption = None,
    value: ValueOption = None,
    key: KeyOption = None,
    priority: PriorityOption = None,
    start: StartOption = None,
    end: EndOption = None,
    misfire: MisfireOption = None,
    dst_gap: GapOption = None,
    dst_overlap: OverlapOption = None,
    jitter: JitterOption = None,
    max_firings: MaxFiringsOption = None,
    description: DescriptionOption = None,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make a schedule that publishes a record to a topic, with --cron or with --every.

    Example: goqueue schedule create heartbeat health --every 30s --value ping
    """
    from goqueue.cli.schedule_views import print_schedule, schedule_facts, settings_of

    settings = settings_of(locals())
    made = ask(server, lambda admin: admin.create_schedule(schedule, topic, **settings))
    print_answer(schedule_facts(made), output, lambda: print_schedule(made))


@app.command(short_help="Change a schedule.")
def change(
    schedule: ScheduleArgument,
    topic: Annotated[str | None, typer.Option(help="Publish to this topic.")] = None,
    cron: CronOption = None,
    every: EveryOption = None,
    zone: ZoneOption = None,
    value: ValueOption = None,
    key: KeyOption = None,
    priority: PriorityOption = None,
    start: StartOption = None,
    end: EndOption = None,
    misfire: MisfireOption = None,
    dst_gap: GapOption = None,
    dst_overlap: OverlapOption = None,
    jitter: JitterOption = None,
    max_firings: MaxFiringsOption = None,
    description: DescriptionOption = None,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change a schedule; what is not named stays as it is. New times hold from now on.

    Example: goqueue schedule change daily --cron "30 8 * * *"
    """
    from goqueue.cli.schedule_views import print_schedule, schedule_facts, settings_of

    settings = settings_of(locals())
    if topic is not None:
        settings["topic"] = topic
    made = ask(server, lambda admin: admin.change_schedule(schedule, **settings))
    print_answer(schedule_facts(made), output, lambda: print_schedule(made))


@app.command(short_help="Fire nothing until the schedule is resumed.")
def pause(
    schedule: ScheduleArgument, server: ServerOption = DEFAULT_SERVER, output: OutputOption = Output.TABLE
) -> None:
    """Fire nothing until the schedule is resumed. What falls into the pause is not made up for.

    Example: goqueue schedule pause daily
    """
    ask(server, lambda admin: admin.change_schedule(schedule, paused=True))
    print_answer({"schedule": schedule, "paused": True}, output, lambda: print(f"paused {schedule}"))


@app.command(short_help="Go on with a paused schedule.")
def resume(
    schedule: ScheduleArgument, server: ServerOption = DEFAULT_SERVER, output: OutputOption = Output.TABLE
) -> None:
    """Go on with a schedule that was paused.

    Example: goqueue schedule resume daily
    """
    ask(server, lambda admin: admin.change_schedule(schedule, paused=False))
    print_answer({"schedule": schedule, "paused": False}, output, lambda: print(f"resumed {schedule}"))


@app.command(short_help="Delete a schedule.")
def delete(
    schedule: ScheduleArgument,
    yes: YesOption = False,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete a schedule. What it has published stays.

    Example: goqueue schedule delete daily --yes
    """
    ask(server, lambda admin: admin.schedule(schedule))
    require_consent(f"Delete the schedule {schedule}?", yes=yes)
    ask(server, lambda admin: admin.delete_schedule(schedule))
    print_answer({"deleted": [schedule]}, output, lambda: print(f"deleted {schedule}"))
