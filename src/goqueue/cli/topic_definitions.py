"""`goqueue topic export` and `import`: definitions of topics in a file, to make them again on another broker."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.failures import Refused
from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.remote import DEFAULT_SERVER, ServerOption, ask, complete_topics

if TYPE_CHECKING:
    from goqueue.cli.topic_files import Definition, Step
    from goqueue.client import Admin

__all__ = ["export_topics", "import_topics"]


def export_topics(
    topics: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOPIC]...",
            help="Names of topics; all of them without one.",
            show_default=False,
            autocompletion=complete_topics,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="Write here instead of to standard output.", show_default=False),
    ] = None,
    server: ServerOption = DEFAULT_SERVER,
) -> None:
    """Write the definitions of topics as JSON: names, partitions and settings, without records.

    Example: goqueue topic export --file topics.json
    """
    from goqueue.cli.topic_files import definition_of, written

    async def question(admin: "Admin") -> list["Definition"]:
        found = [await admin.topic(name) for name in topics] if topics else await admin.topics()
        return [definition_of(topic) for topic in found if topics or not topic.name.startswith("__")]

    text = written(sorted(ask(server, question), key=lambda one: one.name))
    if file is None:
        sys.stdout.write(text)
    else:
        file.write_text(text, encoding="utf-8")


def import_topics(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What `topic export` wrote; - for standard input.", show_default=False)
    ],
    alter: Annotated[
        bool, typer.Option("--alter", help="Also change the settings of topics that exist and differ.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    server: ServerOption = DEFAULT_SERVER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create the topics of a file. A topic that exists stays as it is, or with --alter gets the settings of the file.

    Nothing is done when the file cannot be read, or when a topic exists with another number of partitions.

    Example: goqueue topic import topics.json --dry-run
    """
    from goqueue.cli.topic_files import carry_out, plan, print_steps, read

    definitions = read(sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes(), file)

    async def question(admin: "Admin") -> list["Step"]:
        steps = plan(definitions, await admin.topics(), alter=alter)
        misfits = [step.detail for step in steps if step.action == "misfit"]
        if misfits:
            raise Refused(
                "; ".join(misfits),
                hint="the number of partitions of a topic cannot be changed: edit the file, or delete the topic first",
            )
        if not dry_run:
            await carry_out(admin, steps)
        return steps

    steps = ask(server, question)
    print_answer({"executed": not dry_run, "topics": steps}, output, lambda: print_steps(steps, executed=not dry_run))
