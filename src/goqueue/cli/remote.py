"""What commands that talk to a broker share: where it is, how they ask it, and which names a shell can complete."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from goqueue.cli.connection import DEFAULT_SERVER, ServerOption, server_of
from goqueue.cli.suggestions import suggest
from goqueue.errors import GoQueueError, TopicExists, UnknownGroup, UnknownTopic

if TYPE_CHECKING:
    from goqueue.client import Admin

__all__ = [
    "DEFAULT_SERVER",
    "GroupArgument",
    "ServerOption",
    "TopicArgument",
    "ask",
    "complete_groups",
    "complete_schedules",
    "complete_topics",
    "with_commands_as_hints",
]

Answer = TypeVar("Answer")

COMPLETE_WITHIN_S = 1.0

_HINTS: dict[type[GoQueueError], str] = {
    UnknownTopic: "`goqueue topic list` shows what there is, `goqueue topic create` makes one",
    UnknownGroup: "`goqueue group list` shows what there is; a group begins with its first member",
    TopicExists: "`goqueue topic alter` changes its settings; with --if-not-exists this is no error",
}


@contextmanager
def with_commands_as_hints(server: str) -> Iterator[None]:
    """The broker's hints are for every kind of client; here the way out is a command, and a name that exists."""
    try:
        yield
    except GoQueueError as error:
        error.hint = _HINTS.get(type(error), error.hint)
        suggest(error, lambda kind: _known(server, _group_names if kind is UnknownGroup else _topic_names))
        raise


def ask(server: str, question: Callable[["Admin"], Awaitable[Answer]]) -> Answer:
    """Connect, ask, disconnect."""
    with with_commands_as_hints(server):
        return _asked(server, question)


def _asked(server: str, question: Callable[["Admin"], Awaitable[Answer]]) -> Answer:
    from goqueue.client import Admin

    async def answer() -> Answer:
        async with Admin(server) as admin:
            return await question(admin)

    return asyncio.run(answer())


# Names that exist, for suggestions and for the shell to complete.


async def _topic_names(admin: "Admin") -> list[str]:
    return [topic.name for topic in await admin.topics()]


async def _group_names(admin: "Admin") -> list[str]:
    return [group.group for group in await admin.list_groups()]


def complete_topics(context: typer.Context, incomplete: str) -> list[str]:
    return _complete(context, incomplete, _topic_names)


def complete_groups(context: typer.Context, incomplete: str) -> list[str]:
    return _complete(context, incomplete, _group_names)


def complete_schedules(context: typer.Context, incomplete: str) -> list[str]:
    async def names(admin: "Admin") -> list[str]:
        return [schedule.id for schedule in await admin.schedules()]

    return _complete(context, incomplete, names)


def _complete(
    context: typer.Context, incomplete: str, names: Callable[["Admin"], Awaitable[Iterable[str]]]
) -> list[str]:
    try:
        server = server_of(context)
    except GoQueueError:
        # A shell that completes has no place for errors.
        return []
    return sorted(name for name in _known(server, names) if name.startswith(incomplete))


def _known(server: str, names: Callable[["Admin"], Awaitable[Iterable[str]]]) -> Iterable[str]:
    """None where the broker does not answer at once: there is no place for another error."""

    async def soon(admin: "Admin") -> Iterable[str]:
        return await asyncio.wait_for(names(admin), COMPLETE_WITHIN_S)

    try:
        return _asked(server, soon)
    except (GoQueueError, TimeoutError):
        return []


TopicArgument = Annotated[
    str, typer.Argument(metavar="TOPIC", help="Name of the topic.", show_default=False, autocompletion=complete_topics)
]
GroupArgument = Annotated[
    str, typer.Argument(metavar="GROUP", help="Name of the group.", show_default=False, autocompletion=complete_groups)
]
