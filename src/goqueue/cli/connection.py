"""Which broker a command talks to: what its options say, else the environment, else a context, else this machine."""

from functools import partial
from typing import Annotated, Any

import typer
from typer.main import get_command

from goqueue.cli.environment import variable
from goqueue.cli.failures import Refused

__all__ = [
    "DEFAULT_HTTP",
    "DEFAULT_SERVER",
    "SERVER_HELP",
    "ContextOption",
    "GlobalHttpOption",
    "GlobalServerOption",
    "HttpOption",
    "RegistryOption",
    "ServerOption",
    "add_connection_options",
    "http_of",
    "is_address",
    "server_of",
]

DEFAULT_SERVER = "127.0.0.1:7171"
DEFAULT_HTTP = "127.0.0.1:8080"
SERVER_HELP = "The broker's native address; of several the first that answers."

_CONTEXT, _SERVER, _HTTP = "goqueue.context", "goqueue.server", "goqueue.http"
_SERVER_VARIABLE, _HTTP_VARIABLE, _REGISTRY_VARIABLE = "GOQUEUE_SERVER", "GOQUEUE_HTTP", "GOQUEUE_REGISTRY"
_DEFAULTS = {"server": DEFAULT_SERVER, "http": DEFAULT_HTTP}
_VARIABLES = {"server": _SERVER_VARIABLE, "http": _HTTP_VARIABLE}
_KINDS = {"server": "native", "http": "HTTP"}


def _note_context(context: typer.Context, value: str | None) -> str | None:
    """The word closest to the verb wins; one that was typed is stronger than the environment."""
    if value is not None:
        typed = _came_from(context, "context") == "COMMANDLINE"
        if typed or _CONTEXT not in context.meta:
            context.meta[_CONTEXT] = (value, typed)
    return value


def _choose_server(context: typer.Context, value: str) -> str:
    _note_typed(context, "server", value)
    context.meta[_SERVER] = choice = partial(_choose, context, "server", value, "server")
    return choice()


def _choose_http(context: typer.Context, value: str) -> str:
    _note_typed(context, "http", value)
    context.meta[_HTTP] = choice = partial(_choose, context, "http", value, "http")
    return choice()


def _choose_registry(context: typer.Context, value: str) -> str:
    context.meta[_HTTP] = choice = partial(_choose, context, "registry", value, "http")
    return choice()


def _note_address(context: typer.Context, parameter: Any, value: str) -> str:
    """Of an address that the command does not need itself: it is looked up when a shell asks for names."""
    context.meta[f"goqueue.{parameter.name}"] = partial(_choose, context, parameter.name, value, parameter.name)
    _note_typed(context, parameter.name, value)
    return value


def _note_typed(context: typer.Context, field: str, value: str) -> None:
    if _came_from(context, field) == "COMMANDLINE":
        context.meta[f"goqueue.typed.{field}"] = value


def _note_global(context: typer.Context, parameter: Any, value: str | None) -> str | None:
    """An address in front of the command holds for whatever command follows."""
    if value is not None:
        context.meta[f"goqueue.global.{parameter.name}"] = value
    return value


def _choose(context: typer.Context, parameter: str, value: str, field: str) -> str:
    source = _came_from(context, parameter)
    if source == "COMMANDLINE":
        return value
    in_front = context.meta.get(f"goqueue.global.{field}")
    if in_front is not None:
        return str(in_front)
    name, typed = context.meta.get(_CONTEXT, (None, False))
    if source == "ENVIRONMENT" and not typed:
        return value
    # What is read from a file is read by commands that need it only.
    from goqueue.cli.contexts import load_contexts

    book = load_contexts()
    name = name or book.current
    if name is not None:
        return str(getattr(book.named(name), field))
    return _beside_the_other(context, field) or value


def _beside_the_other(context: typer.Context, field: str) -> str | None:
    """The address of a broker of which only the other address was given, so that no command asks another broker."""
    other = "http" if field == "server" else "server"
    given = (
        context.meta.get(f"goqueue.typed.{other}")
        or context.meta.get(f"goqueue.global.{other}")
        or variable(_VARIABLES[other])
    )
    if not given:
        return None
    hosts, ports = zip(*(address.rpartition(":")[::2] for address in str(given).split(",")), strict=True)
    port = _DEFAULTS[other].rpartition(":")[2]
    if set(ports) == {port} and len(set(hosts)) == 1:
        return f"{hosts[0]}:{_DEFAULTS[field].rpartition(':')[2]}"
    needs_both = any(parameter.expose_value and parameter.name == other for parameter in context.command.params)
    if needs_both or context.resilient_parsing:
        return None
    raise Refused(
        f"this command needs the {_KINDS[field]} address of the broker, got only its {_KINDS[other]} address {given}",
        hint=f"add --{field} HOST:PORT, or set {_VARIABLES[field]}, or use a context",
    )


def _came_from(context: typer.Context, parameter: str) -> str:
    source = context.get_parameter_source(parameter)
    return "DEFAULT" if source is None else source.name


def server_of(context: typer.Context) -> str:
    """For completions: what is known when a shell asks."""
    choice = context.meta.get(_SERVER)
    return DEFAULT_SERVER if choice is None else str(choice())


def http_of(context: typer.Context) -> str:
    choice = context.meta.get(_HTTP)
    return DEFAULT_HTTP if choice is None else str(choice())


def _complete_contexts(incomplete: str) -> list[str]:
    from goqueue.cli.contexts import complete_contexts

    return complete_contexts(incomplete)


ServerOption = Annotated[
    str,
    typer.Option(
        "--server",
        "-s",
        envvar=_SERVER_VARIABLE,
        metavar="HOST:PORT[,…]",
        help=SERVER_HELP,
        callback=_choose_server,
    ),
]
HttpOption = Annotated[
    str,
    typer.Option(
        "--http",
        envvar=_HTTP_VARIABLE,
        metavar="HOST:PORT",
        help="The broker's HTTP address.",
        callback=_choose_http,
    ),
]
RegistryOption = Annotated[
    str,
    typer.Option(
        "--http",
        "--registry",
        "-r",
        envvar=[_REGISTRY_VARIABLE, _HTTP_VARIABLE],
        metavar="HOST:PORT|URL",
        help="The broker's HTTP address, or the URL of a registry.",
        callback=_choose_registry,
    ),
]
ContextOption = Annotated[
    str | None,
    typer.Option(
        "--context",
        envvar="GOQUEUE_CONTEXT",
        metavar="NAME",
        help="The broker that has this name in `goqueue config get-contexts`.",
        show_default=False,
        is_eager=True,
        callback=_note_context,
        autocompletion=_complete_contexts,
    ),
]
GlobalServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        "-s",
        metavar="HOST:PORT[,…]",
        help="The broker's native address, for any command; of several the first that answers.",
        show_default=False,
        is_eager=True,
        callback=_note_global,
    ),
]
GlobalHttpOption = Annotated[
    str | None,
    typer.Option(
        "--http",
        metavar="HOST:PORT",
        help="The broker's HTTP address, for any command.",
        show_default=False,
        is_eager=True,
        callback=_note_global,
    ),
]


def add_connection_options(command: Any) -> None:
    """Let each command that talks to a broker take all of --server, --http and --context, whatever it needs of them."""
    below = getattr(command, "commands", None)
    if below:
        for sub in below.values():
            add_connection_options(sub)
        return
    if not any(is_address(parameter) for parameter in command.params):
        return
    taken = {flag for parameter in command.params for flag in parameter.opts}
    for option in _options():
        if option.opts[0] not in taken:
            option.opts = [flag for flag in option.opts if flag not in taken]
            option.expose_value = False
            if option.name != "context":
                option.callback = _note_address
            command.params.append(option)


def is_address(parameter: Any) -> bool:
    """Whether an option says where a broker is, as opposed to where one shall listen."""
    variables = parameter.envvar if isinstance(parameter.envvar, list) else [parameter.envvar]
    return bool({_SERVER_VARIABLE, _HTTP_VARIABLE} & set(variables))


def _options() -> list[Any]:
    def connection(
        server: ServerOption = DEFAULT_SERVER, http: HttpOption = DEFAULT_HTTP, context: ContextOption = None
    ) -> None:
        """Options without a command of their own."""

    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command()(connection)
    found: list[Any] = get_command(single).params
    return found
