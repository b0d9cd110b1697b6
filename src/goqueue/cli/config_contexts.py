"""Brokers by name, as `goqueue config` keeps them: make, choose, list, rename and delete contexts."""

from typing import Annotated

import typer

from goqueue.cli.connection import DEFAULT_HTTP, DEFAULT_SERVER, SERVER_HELP
from goqueue.cli.consent import YesOption, require_consent
from goqueue.cli.contexts import Context, complete_contexts, load_contexts, save_contexts
from goqueue.cli.failures import Refused
from goqueue.cli.output import Output, OutputOption, print_answer, print_table

__all__ = ["current_context", "delete_context", "get_contexts", "rename_context", "set_context", "use_context"]

NameArgument = Annotated[
    str,
    typer.Argument(metavar="NAME", help="Name of the context.", show_default=False, autocompletion=complete_contexts),
]


def set_context(
    name: NameArgument,
    server: Annotated[
        str | None,
        typer.Option("--server", "-s", metavar="HOST:PORT[,…]", help=SERVER_HELP, show_default=False),
    ] = None,
    http: Annotated[
        str | None, typer.Option("--http", metavar="HOST:PORT", help="The broker's HTTP address.", show_default=False)
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Give a broker a name, or change the addresses behind one. The first context is used from then on.

    An address that is not named stays as it was; of a new context it is the usual port of the same host.

    Example: goqueue config set-context staging --server broker.example:7171 --http broker.example:8080
    """
    if server is None and http is None:
        raise Refused("no address is given", hint="add --server HOST:PORT, or --http HOST:PORT, or both")
    book = load_contexts()
    known = book.contexts.get(name)
    context = Context(
        _checked_each(server or (known.server if known else _beside(http, DEFAULT_SERVER))),
        _checked(http or (known.http if known else _beside(server, DEFAULT_HTTP))),
    )
    book = book.with_context(name, context)
    file = save_contexts(book)
    facts = {"name": name, "server": context.server, "http": context.http, "current": book.current == name}

    def as_text() -> None:
        print(f"{name}: native {context.server}, HTTP {context.http}; noted in {file}")
        if book.current != name:
            print(f"`goqueue config use-context {name}` makes it the one that is used")

    print_answer(facts, output, as_text)


def use_context(name: NameArgument, output: OutputOption = Output.TABLE) -> None:
    """Choose the broker that commands talk to unless an option or the environment says otherwise.

    Example: goqueue config use-context staging
    """
    save_contexts(load_contexts().using(name))
    print_answer({"current": name}, output, lambda: print(f"using {name}"))


def get_contexts(output: OutputOption = Output.TABLE) -> None:
    """List the contexts; the one that is used is marked.

    Example: goqueue config get-contexts
    """
    book = load_contexts()
    found = [
        {"name": name, "server": context.server, "http": context.http, "current": name == book.current}
        for name, context in sorted(book.contexts.items())
    ]

    def as_table() -> None:
        if not found:
            print("there are no contexts; `goqueue config set-context NAME --server HOST:PORT` makes one")
            return
        rows = [("*" if one["current"] else "", one["name"], one["server"], one["http"]) for one in found]
        print_table("Contexts", ("", "name", "native", "http"), rows)

    print_answer(found, output, as_table)


def current_context(output: OutputOption = Output.TABLE) -> None:
    """Print the name of the context that is used.

    Example: goqueue config current-context
    """
    current = load_contexts().current
    if current is None and output is Output.TABLE:
        raise Refused("no context is used", hint="`goqueue config use-context NAME` chooses one")
    print_answer({"current": current}, output, lambda: print(current))


def rename_context(
    name: NameArgument,
    new_name: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.", show_default=False)],
    output: OutputOption = Output.TABLE,
) -> None:
    """Give a context another name.

    Example: goqueue config rename-context staging europe
    """
    save_contexts(load_contexts().renamed(name, new_name))
    print_answer({"old": name, "name": new_name}, output, lambda: print(f"{name} is {new_name} now"))


def delete_context(name: NameArgument, yes: YesOption = False, output: OutputOption = Output.TABLE) -> None:
    """Forget a context. The broker itself is left alone.

    Example: goqueue config delete-context staging --yes
    """
    book = load_contexts().without(name)
    require_consent(f"Forget the context {name}?", yes=yes)
    save_contexts(book)
    print_answer({"deleted": [name]}, output, lambda: print(f"deleted {name}"))


def _checked_each(addresses: str) -> str:
    return ",".join(_checked(address.strip()) for address in addresses.split(","))


def _checked(address: str) -> str:
    _split(address)
    return address


def _beside(address: str | None, usual: str) -> str:
    """The usual port on the host of the other address, or of the first of several."""
    assert address is not None
    return f"{_split(address.partition(',')[0].strip())[0]}:{usual.rpartition(':')[2]}"


def _split(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not host or "/" in host or not (port.isascii() and port.isdecimal()) or not 0 < int(port) < 65536:
        raise Refused(f"{address!r} is not an address", hint="write it as HOST:PORT, such as 127.0.0.1:7171")
    return host, int(port)
