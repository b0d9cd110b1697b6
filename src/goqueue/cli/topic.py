"""`goqueue topic`: list, create, describe, alter and delete topics, and search their records."""

from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.consent import YesOption, require_consent
from goqueue.cli.failures import Refused
from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.remote import DEFAULT_SERVER, ServerOption, TopicArgument, ask, complete_topics
from goqueue.cli.topic_contents import compact, records
from goqueue.cli.topic_definitions import export_topics, import_topics
from goqueue.model.topic import Cleanup, Durability

if TYPE_CHECKING:
    from goqueue.client import Admin, Topic

__all__ = ["app"]

app = typer.Typer(
    help="List, create, describe, alter and delete topics.\n\nExample: goqueue topic list",
    rich_markup_mode=None,
    add_completion=False,
)

RetentionOption = Annotated[
    str | None,
    typer.Option(metavar="AGE", help="Delete records older than this, such as 12h or 7d; or none.", show_default=False),
]
RetentionBytesOption = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Keep so much of each partition, such as 10GiB; or none.", show_default=False),
]
CleanupOption = Annotated[
    Cleanup | None, typer.Option(help="Delete old records, keep the latest of each key, or both.", show_default=False)
]
DurabilityOption = Annotated[
    Durability | None,
    typer.Option(help="Confirm a record when it is written (memory) or synced (fsync).", show_default=False),
]
MaxValueOption = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Refuse larger values, such as 1MiB.", show_default=False)
]
DeleteRetentionOption = Annotated[
    str | None,
    typer.Option(metavar="AGE", help="How long compaction keeps the deletion of a key.", show_default=False),
]
DedupWindowOption = Annotated[
    str | None,
    typer.Option(metavar="AGE", help="How long the ids of records are remembered, such as 1h.", show_default=False),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any setting by its name; repeat for more.", show_default=False),
]


@app.command("list", short_help="List the topics.")
def list_topics(
    every: Annotated[bool, typer.Option("--all", "-a", help="Also internal topics (names with __ in front).")] = False,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the topics with their records, size, records a second over the last minute, and what they keep.

    Example: goqueue topic list -o json
    """
    from goqueue.adapters.clock import SystemClock
    from goqueue.cli.topic_list import topic_figures
    from goqueue.cli.topic_views import print_topics

    now_ns = SystemClock().now_ns()
    lines = ask(server, lambda admin: topic_figures(admin, now_ns=now_ns, internal=every))
    print_answer(lines, output, lambda: print_topics(lines))


@app.command(short_help="Create a topic.")
def create(
    topic: TopicArgument,
    partitions: Annotated[int, typer.Option("--partitions", "-p", min=1, metavar="N", help="How many.")] = 3,
    retention: RetentionOption = None,
    retention_bytes: RetentionBytesOption = None,
    cleanup: CleanupOption = None,
    durability: DurabilityOption = None,
    max_value: MaxValueOption = None,
    delete_retention: DeleteRetentionOption = None,
    dedup_window: DedupWindowOption = None,
    settings: SetOption = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="An existing topic is left as it is.")] = False,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create a topic. What is not named gets its default.

    Example: goqueue topic create orders --partitions 6 --retention 30d --retention-bytes 10GiB
    """
    from goqueue.cli.topic_changes import TopicChanges, changed
    from goqueue.cli.topic_views import print_topic_line, topic_line
    from goqueue.errors import TopicExists
    from goqueue.model.topic import TopicConfig

    changes = TopicChanges(
        retention,
        retention_bytes,
        cleanup,
        durability,
        max_value,
        delete_retention,
        dedup_window,
        settings or (),
    )
    config = changed(TopicConfig(), changes)

    async def question(admin: "Admin") -> tuple[bool, "Topic"]:
        try:
            return True, await admin.create_topic(topic, partitions, config)
        except TopicExists:
            if not if_not_exists:
                raise
            return False, await admin.topic(topic)

    created, found = ask(server, question)
    line = topic_line(found)
    print_answer(
        {"created": created, "topic": line},
        output,
        lambda: print_topic_line("created" if created else "exists:", line),
    )


@app.command(short_help="Show the settings and partitions of a topic.")
def describe(topic: TopicArgument, server: ServerOption = DEFAULT_SERVER, output: OutputOption = Output.TABLE) -> None:
    """Show the settings of a topic, and for each partition its first and next offset and the key hashes it owns.

    Example: goqueue topic describe orders
    """
    from goqueue.cli.topic_views import TopicFacts, print_topic, topic_facts
    from goqueue.model.log import LogId

    async def question(admin: "Admin") -> TopicFacts:
        found = await admin.topic(topic)
        logs = [LogId(topic, number) for number in range(found.partitions)]
        return topic_facts(found, await admin.offsets_at(logs, "earliest"), await admin.offsets_at(logs, "latest"))

    facts = ask(server, question)
    print_answer(facts, output, lambda: print_topic(facts))


@app.command(short_help="Change settings of a topic.")
def alter(
    topic: TopicArgument,
    retention: RetentionOption = None,
    retention_bytes: RetentionBytesOption = None,
    cleanup: CleanupOption = None,
    durability: DurabilityOption = None,
    max_value: MaxValueOption = None,
    delete_retention: DeleteRetentionOption = None,
    dedup_window: DedupWindowOption = None,
    settings: SetOption = None,
    partitions: Annotated[int | None, typer.Option("--partitions", "-p", hidden=True)] = None,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change settings of a topic: those that are named, and no others. The number of partitions stays.

    Example: goqueue topic alter orders --retention 14d --retention-bytes none
    """
    from goqueue.cli.topic_changes import SettingChange, TopicChanges, changed, differences
    from goqueue.cli.topic_views import print_changes

    changes = TopicChanges(
        retention,
        retention_bytes,
        cleanup,
        durability,
        max_value,
        delete_retention,
        dedup_window,
        settings or (),
    )
    if partitions is not None:
        raise Refused(
            "the number of partitions of a topic cannot be changed: each key would move to another partition",
            hint=f"`goqueue topic create NEW --partitions {partitions}` makes another topic, and "
            f"`goqueue pipeline replay {topic} --into NEW` copies the records",
        )
    changes.require_any()

    async def question(admin: "Admin") -> list[SettingChange]:
        before = await admin.topic(topic)
        after = changed(before.config, changes)
        if after != before.config:
            await admin.alter_topic(topic, after)
        return differences(before.config, after)

    made = ask(server, question)
    print_answer({"topic": topic, "changes": made}, output, lambda: print_changes(topic, made))


@app.command(short_help="Delete topics and all their records.")
def delete(
    topics: Annotated[
        list[str],
        typer.Argument(metavar="TOPIC", help="Names of topics.", show_default=False, autocompletion=complete_topics),
    ],
    yes: YesOption = False,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete topics with all their records. This cannot be undone.

    Example: goqueue topic delete orders --yes
    """

    deleted: list[str] = []

    async def look(admin: "Admin") -> None:
        for name in topics:
            await admin.topic(name)

    async def remove(admin: "Admin") -> None:
        for name in topics:
            await admin.delete_topic(name)
            deleted.append(name)
            if output is Output.TABLE:
                print(f"deleted {name}")

    ask(server, look)
    require_consent(f"Delete {', '.join(topics)} with all records?", yes=yes)
    ask(server, remove)
    print_answer({"deleted": deleted}, output, lambda: None)


app.command("export", short_help="Write the definitions of topics to a file.")(export_topics)
app.command("import", short_help="Create the topics of a file that `topic export` wrote.")(import_topics)
app.command(short_help="Search the records of a topic.")(records)
app.command(short_help="Compact a topic now.")(compact)
